"""Takes notifications about reality, as the bus brings them, and makes due what they are about.

A hint says nothing but 'look': whoever sends a wrong one costs a call, and whoever loses one a little time. It is trusted
because it is on the operator's broker, and it is told by anything from a script to a cloud's own notifications:

    {"stack": "web"}                          the whole stack, by its name or id ("project": of this project)
    {"stack": "web", "resource": "server"}    one resource, or several: "resources": [...]
    {"physical_id": "..."}                    whichever resource that object is; with "stack": of that one

Anything else, such as a notification of a cloud, is searched for ids of objects: {"payload": {"instance_id": "..."}}.
What makes no sense is dropped without a word.
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

# Hints that come within this time are dealt with together; so many at most, and the rest are dropped.
_TOGETHER_S = 0.2
_MOST = 5000
# So many texts of a notification may be ids, and none is longer.
_MOST_TEXTS = 200
_LONGEST = 1000
_ENVELOPE = "oslo.message"


def read(what: Mapping[str, Any]) -> Hint | None:
    """What a message hints at; None if at nothing. Never raises."""
    told = [one for one in ("stack", "resource", "resources", "physical_id") if what.get(one)]
    if not told:
        texts = tuple(_texts(what))
        return Hint(objects=texts) if texts else None
    many = what.get("resources")
    names = [what.get("resource"), *(many if isinstance(many, list) else ())]
    hint = Hint(_text(what.get("stack")), _text(what.get("project")), tuple(filter(None, map(_text, names)))[:_MOST_TEXTS],
                tuple(filter(None, [_text(what.get("physical_id"))])))
    # Names mean nothing without a stack.
    return hint if hint.stack or hint.objects else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _LONGEST else ""


def _texts(what: Any) -> list[str]:
    """All texts in a notification that may be ids, each once."""
    found: dict[str, None] = {}
    todo = [what]
    while todo and len(found) < _MOST_TEXTS:
        one = todo.pop()
        if isinstance(one, Mapping):
            todo += [_opened(one[key]) if key == _ENVELOPE else one[key] for key in one]
        elif isinstance(one, list):
            todo += one
        elif _text(one):
            found[one] = None
    return list(found)


def _opened(told: Any) -> Any:
    """OpenStack's own notifications are JSON in JSON."""
    try:
        return msgspec.json.decode(told) if isinstance(told, str) else told
    except (ValueError, RecursionError):
        return None


class HintCollector:
    """Collects hints, and writes them down. `wake` is told the stacks that are due."""

    def __init__(self, store: Store, clock: contract.Clock, wake: Callable[..., None]) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._waiting: dict[Hint, None] = {}
        self._task: asyncio.Task[None] | None = None

    def take(self, what: Mapping[str, Any]) -> None:
        """Called in the loop. Neither waits nor raises."""
        hint = read(what)
        if hint is None or len(self._waiting) >= _MOST:
            return
        self._waiting[hint] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="hints")

    async def close(self) -> None:
        """What came last is written down, too."""
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
