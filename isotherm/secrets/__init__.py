"""Secrets: encrypted in the database (`ring`), and masked in messages (`redactor`).

The store seals (encrypts and authenticates) secret columns with the newest key of a key ring. A sealed text can be opened
only with the ring, and only for the table, column and row it was sealed for. Messages to users pass through a redactor,
which knows the secrets of a stack. The cipher is slow to import, so only `ring` imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isotherm import errors, loading
from isotherm.config import Settings
from isotherm.secrets.redactor import MASK, Redactor
from isotherm.secrets.sealed import SEALED, is_sealed, key_name, unreadable

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

__all__ = ["MASK", "MIN_KEY", "SEALED", "Redactor", "check", "configured", "is_sealed", "key_name", "key_ring",
           "unreadable"]

#: Minimum length of a key, as in Heat.
MIN_KEY = 32
# Keys from documentation and sample files. The first is Heat's default.
_KNOWN_TO_ALL = frozenset({"notgood but just long enough i t", "notgood but just long enough i am"})


def key_ring(keys: Sequence[str]) -> KeyRing:
    """Return a ring of these keys, the newest first."""
    made: KeyRing = loading.load("isotherm.secrets.ring:KeyRing")(keys)
    return made


def configured(settings: Settings) -> list[str]:
    """Return the keys of the settings, the newest first. Raise UserError if one is weak."""
    keys = [key for key in (settings.auth_encryption_key, *settings.auth_encryption_key_ring) if key]
    for key in keys:
        _refuse_weak(key)
    return keys


def check(settings: Settings) -> None:
    """Refuse to start without auth_encryption_key. Called unless auth_strategy is standalone."""
    if not settings.auth_encryption_key:
        raise _weak("auth_encryption_key is not set.")
    configured(settings)


def _refuse_weak(key: str) -> None:
    if key in _KNOWN_TO_ALL:
        raise _weak("auth_encryption_key is the public key of a sample file.")
    if len(key) < MIN_KEY:
        raise _weak(f"auth_encryption_key has {len(key)} characters; it needs at least {MIN_KEY}.")
    if len(set(key)) < MIN_KEY // 4:
        raise _weak("auth_encryption_key is too simple: it has too few different characters.")


def _weak(message: str) -> errors.UserError:
    return errors.UserError(message, kind="InvalidEncryptionKey", hint="To generate a key: openssl rand -hex 16")
