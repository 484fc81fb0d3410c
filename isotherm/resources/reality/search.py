"""The results of a search for the object of an interrupted creation: found, absent, or unknown.

Absent and CannotTell differ: after Absent the object is created; after CannotTell it may exist, and a second create
could make a second object.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """The object that carries the token, by its physical id."""

    physical_id: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The service answered, and no object carries the token."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The type has no way to search, or the service has none.

    `look_for` names the object that the user should look for; without it, the engine names the resource's `physical_name`.
    """

    look_for: str = ""
    # Whether to create it again makes no second object, as where the service takes the token for an idempotency key.
    repeat_is_harmless: bool = False


Search = Found | Absent | CannotTell


def found(physical_id: str | None) -> Found | Absent:
    """Return the answer of a search that ended: the id of the object, or None."""
    return Absent() if physical_id is None else Found(physical_id)
