"""What a sealed text looks like: it begins with a word of ours, and names its key."""

from __future__ import annotations

from isotherm import errors

#: How every sealed text begins. No JSON does.
SEALED = "$iso1$"


def is_sealed(text: str | None) -> bool:
    return text is not None and text.startswith(SEALED)


def key_name(sealed: str) -> str:
    """The name of the key that a text was sealed with."""
    return sealed[len(SEALED):].partition("$")[0][:16]


def unreadable(sealed: str, what: str = "What is stored here") -> errors.Unreadable:
    """Why a sealed text is of no use to whoever has come by it."""
    return errors.Unreadable(
        f"{what} cannot be read: it was sealed with the key {key_name(sealed)}, and either that key is not in "
        "auth_encryption_key_ring, or the text was changed or belongs somewhere else.")
