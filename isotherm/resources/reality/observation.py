"""The results of an observation: the object was seen, it is gone, or it could not be observed.

Unknown is not gone: treating an unseen object as gone would create it twice, or forget an object that exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors


@dataclass(frozen=True, slots=True)
class Seen:
    """The object exists, with these live values: JSON data by the names of the schema.

    A property that is left out was not observed. `aliases` are, by property, other values that mean the same as the
    live one: the name of an image where the cloud returns its id.
    """

    properties: Mapping[str, Any]
    aliases: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # The service's error state and text, if it says that the object cannot be used any more.
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """The service answered that the object does not exist."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """The object could not be observed: the service did not answer, or the type is not observable.

    `reason` is for users.
    """

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
    except Exception as error:  # noqa: BLE001 - any error of a plug-in means that the object was not observed
        return Unseen(f"{type(error).__name__}: {error}")
    return found
