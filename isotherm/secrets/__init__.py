"""Secrets: sealed where they are stored (`ring`), and masked where they are told (`redactor`).

What is stored is sealed by the store, column by column, with the newest key of a ring; whoever has that ring can open it,
at the place that it was sealed for and nowhere else. What is told to people goes through a redactor, which knows the
secrets of a stack. The cipher is slow to import, and a command that opens nothing should not wait for it: `ring` loads it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isotherm import errors
from isotherm.config import Settings
from isotherm.secrets.redactor import MASK, Redactor
from isotherm.secrets.sealed import SEALED, is_sealed, key_name, unreadable

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

__all__ = ["MASK", "MIN_KEY", "SEALED", "Redactor", "check", "configured", "is_sealed", "key_name", "key_ring",
           "unreadable"]

#: As in Heat: a shorter key is no key.
MIN_KEY = 32
# Keys that stand in documentation and sample files. The first is Heat's default.
_KNOWN_TO_ALL = frozenset({"notgood but just long enough i t", "notgood but just long enough i am"})


def key_ring(keys: Sequence[str]) -> KeyRing:
    """A ring of these keys, the newest first."""
    made: KeyRing = importlib.import_module("isotherm.secrets.ring").KeyRing(keys)
    return made


def configured(settings: Settings) -> list[str]:
    """The keys that the settings have, the newest first. Raises UserError if one of them is none."""
    keys = [key for key in (settings.auth_encryption_key, *settings.auth_encryption_key_ring) if key]
    for key in keys:
        _refuse_weak(key)
    return keys


def check(settings: Settings) -> None:
    """Refuse to serve others without a key of one's own; called by whatever starts beyond standalone mode."""
    if not settings.auth_encryption_key:
        raise _weak("auth_encryption_key is not set.")
    configured(settings)


def _refuse_weak(key: str) -> None:
    if key in _KNOWN_TO_ALL:
        raise _weak("auth_encryption_key is the one that everybody knows from the sample file.")
    if len(key) < MIN_KEY:
        raise _weak(f"auth_encryption_key has {len(key)} characters; it needs at least {MIN_KEY}.")
    if len(set(key)) < MIN_KEY // 4:
        raise _weak("auth_encryption_key is too simple: it has few different characters.")


def _weak(message: str) -> errors.UserError:
    return errors.UserError(message, kind="InvalidEncryptionKey", hint="`openssl rand -hex 16` gives a good one.")
