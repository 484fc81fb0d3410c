"""The form of a sealed text: a prefix, the name of its key, the ciphertext."""

from __future__ import annotations

from isotherm import errors

#: The prefix of every sealed text. No JSON begins with it.
SEALED = "$iso1$"


def is_sealed(text: str | None) -> bool:
    return text is not None and text.startswith(SEALED)


def key_name(sealed: str) -> str:
    """Return the name of the key that a text is sealed with."""
    return sealed[len(SEALED):].partition("$")[0][:16]


def unreadable(sealed: str, what: str = "A stored value") -> errors.Unreadable:
    """Return the error for a sealed text that cannot be opened."""
    return errors.Unreadable(
        f"{what} cannot be read: it is encrypted with the key {key_name(sealed)}, and either that key is not in "
        "auth_encryption_key_ring, or the value was changed or moved.")
