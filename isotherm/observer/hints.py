"""Takes notifications about reality from the bus, and makes the stacks and resources that they name due.

A hint only asks for an observation: a wrong hint costs a call, a lost one delays an observation. Hints are trusted because
they come over the operator's broker. Any program may send them, from a script to a cloud's own notifications:

    {"stack": "web"}                          the whole stack, by its name or id ("project": of this project)
    {"stack": "web", "resource": "server"}    one resource, or several: "resources": [...]
    {"physical_id": "..."}                    the resource with this physical id; with "stack": of that stack

Any other message, such as a notification of a cloud, is searched for physical ids: {"payload": {"instance_id": "..."}}.
A message without any of these is dropped silently.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.resources import contract
from isotherm.store.database.writer import Store
from isotherm.store.watch import reality_hints
from isotherm.store.watch.reality_hints import Hint

log = logging.getLogger(__name__)

# Hints that arrive within this time are written together. Hints over the maximum are dropped.
_TOGETHER_S = 0.2
_MOST = 5000
# The number of texts of a notification that are tried as ids, and their greatest length.
_MOST_TEXTS = 200
_LONGEST = 1000
_ENVELOPE = "oslo.message"


def read(message: Mapping[str, Any]) -> Hint | None:
    """Return the hint in a message, or None if there is none. Never raises."""
    named = [one for one in ("stack", "resource", "resources", "physical_id") if message.get(one)]
    if not named:
        texts = tuple(_texts(message))
        return Hint(objects=texts) if texts else None
    many = message.get("resources")
    names = [message.get("resource"), *(many if isinstance(many, list) else ())]
    resources = tuple(filter(None, map(_text, names)))[:_MOST_TEXTS]
    objects = tuple(filter(None, [_text(message.get("physical_id"))]))
    hint = Hint(_text(message.get("stack")), _text(message.get("project")), resources, objects)
    # Names mean nothing without a stack.
    return hint if hint.stack or hint.objects else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _LONGEST else ""


def _texts(message: Any) -> list[str]:
    """Return all texts in a notification that may be ids, each once."""
    found: dict[str, None] = {}
    todo = [message]
    while todo and len(found) < _MOST_TEXTS:
        one = todo.pop()
        if isinstance(one, Mapping):
            todo += [_opened(one[key]) if key == _ENVELOPE else one[key] for key in one]
        elif isinstance(one, list):
            todo += one
        elif _text(one):
            found[one] = None
    return list(found)


def _opened(envelope: Any) -> Any:
    """Decode the payload of an oslo.messaging notification, which is JSON inside JSON."""
    try:
        return msgspec.json.decode(envelope) if isinstance(envelope, str) else envelope
    except (ValueError, RecursionError):
        return None


class HintCollector:
    """Collects hints and writes them together. Calls `wake` with the stacks that have become due."""

    def __init__(self, store: Store, clock: contract.Clock, wake: Callable[..., None]) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._waiting: dict[Hint, None] = {}
        self._task: asyncio.Task[None] | None = None

    def take(self, message: Mapping[str, Any]) -> None:
        """Keep the hint in a message, to be written soon. Called on the loop; neither blocks nor raises."""
        hint = read(message)
        if hint is None or len(self._waiting) >= _MOST:
            return
        self._waiting[hint] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="hints")

    async def close(self) -> None:
        """Write the hints that are left."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(_TOGETHER_S)
            hints, self._waiting = list(self._waiting), {}
            try:
                due = await self._store.write(
                    lambda connection, hints=hints: reality_hints.take(connection, hints, self._clock.now()))  # type: ignore[misc]
            except errors.Unavailable:
                log.warning("hints are lost: the database does not answer")
            except Exception:
                log.exception("hints are lost")
            else:
                if due:
                    self._wake(*due)
