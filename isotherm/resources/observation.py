"""What can be said of an object after looking at it: it was seen, it is gone, or it could not be seen.

The last two are not the same: unknown is not gone. Whoever takes the one for the other makes things twice, or deletes
what is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors


@dataclass(frozen=True, slots=True)
class Seen:
    """It is there, and this is how: live values, by the names of the schema, as JSON data.

    A property that is left out was not looked at. `aliases` are, by property, other values that mean the same as the
    live one: the name of an image where the cloud tells its id.
    """

    properties: Mapping[str, Any]
    aliases: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gone:
    """The service answered, and it does not have it."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Nobody knows: the service did not answer, or nothing of this kind can be looked at. `reason` is for people."""

    reason: str
    # When it is worth asking again; None: whenever one would look anyway.
    retry_after_s: float | None = None


LiveState = Seen | Gone | Unseen


async def attempt(
    physical_id: str | None, observe: Callable[..., Awaitable[LiveState]], *arguments: Any
) -> LiveState:
    """Return what `observe` says of the object. Never raises, except to be cancelled or superseded."""
    if physical_id is None:
        return Unseen("nothing is known to have been made")
    try:
        found = await observe(*arguments)
    except errors.Temporary as error:
        return Unseen(str(error), error.retry_after_s)
    except errors.Superseded:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises, it has not seen anything
        return Unseen(f"{type(error).__name__}: {error}")
    return found
