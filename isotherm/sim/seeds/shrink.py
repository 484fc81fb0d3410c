"""Shrinks a history that breaks an invariant as long as the smaller one breaks the same invariant.

Requests are left out first, then kinds of faults, single faults, resources and options of resources. Every attempt is a
full run with the same dice. A smaller history takes another course, so an attempt without a violation proves nothing.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator

from isotherm.sim import run
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import History, Watched
from isotherm.sim.run import Outcome

PLAIN = shapes.Part()


@dataclasses.dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest history that was found, and its outcome."""

    history: History
    outcome: Outcome
    attempts: int


def shrink(
    history: History, outcome: Outcome, *, seconds: float = 30.0, on_attempt: Callable[[int], None] = lambda count: None
) -> Shrunk:
    """Leave out what is not needed to break the same invariant. `outcome` is that of the whole history."""
    end = time.monotonic() + seconds
    best, attempts = Shrunk(history, outcome, 0), 0
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in _smaller(best.history, best.outcome):
            if time.monotonic() > end:
                break
            attempts += 1
            on_attempt(attempts)
            tried = run.play(candidate)
            if kind(tried) == kind(outcome):
                best = Shrunk(candidate, tried, attempts)
                progress = True
                break
    return dataclasses.replace(best, attempts=attempts)


def kind(outcome: Outcome) -> str:
    """Return the id of the invariant that was broken first."""
    return outcome.violations[0].partition(":")[0] if outcome.violations else ""


def _smaller(history: History, outcome: Outcome) -> Iterator[History]:
    for index in range(len(history.requests)):
        rest = history.requests[:index] + history.requests[index + 1:]
        if {one.stack for one in rest} <= {one.stack for one in rest if one.shape or one.verb.value == "create"}:
            yield dataclasses.replace(history, requests=rest)
    for count in range(1, history.workers):
        yield dataclasses.replace(history, workers=count)
    for watched in _fewer_observers(history.watched):
        yield dataclasses.replace(history, watched=watched)
    for fault in history.rates:
        if any(name == fault for name, _ in outcome.hit):
            yield dataclasses.replace(history, rates={name: rate for name, rate in history.rates.items() if name != fault})
    yield from _fewer_faults(history, outcome)
    for name in sorted({name for request in history.requests for name in request.shape}):
        yield _reshaped(history, lambda shape, name=name: shapes.drop(shape, [name]))  # type: ignore[misc]
    for option in ("secret", "off", "retain", "fail", "seen", "after", "link", "uses", "base", "fixed", "drift", "alias"):
        if any(getattr(part, option) for request in history.requests for part in request.shape.values()):
            yield _reshaped(history, lambda shape, option=option: _without(shape, option))  # type: ignore[misc]
    if history.ends_with_delete:
        yield dataclasses.replace(history, ends_with_delete=False)


def _fewer_observers(watched: Watched) -> Iterator[Watched]:
    for count in range(watched.observers):
        yield dataclasses.replace(watched, observers=count)
    if watched.fight is not None:
        yield dataclasses.replace(watched, fight=None)


def _fewer_faults(history: History, outcome: Outcome) -> Iterator[History]:
    numbers = [number for number in range(1, outcome.struck + 1) if number not in history.muted]
    size = len(numbers) // 2
    while size:
        for start in range(0, len(numbers), size):
            yield dataclasses.replace(history, muted=history.muted | frozenset(numbers[start:start + size]))
        size //= 2


def _reshaped(history: History, change: Callable[[shapes.Shape], shapes.Shape]) -> History:
    requests = tuple(dataclasses.replace(request, shape=change(request.shape)) for request in history.requests)
    return dataclasses.replace(history, requests=requests)


def _without(shape: shapes.Shape, option: str) -> shapes.Shape:
    plain = getattr(PLAIN, option)
    return {name: dataclasses.replace(part, **{option: plain}) for name, part in shape.items()}
