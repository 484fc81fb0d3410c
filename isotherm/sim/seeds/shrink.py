"""Makes a history that breaks something smaller, as long as it breaks the same thing: what is left is the story.

Requests go first, then whole kinds of faults, single faults, resources and the frills of resources. Every attempt is a
full run with the same dice; since a smaller history takes other turns, an attempt that comes out well proves nothing, and
the next one is tried.
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
    """The smallest history that was found, and what came of it."""

    history: History
    outcome: Outcome
    attempts: int


def shrink(
    history: History, outcome: Outcome, *, seconds: float = 30.0, on_attempt: Callable[[int], None] = lambda count: None
) -> Shrunk:
    """Take away what is not needed to break the same invariant. `outcome` is what the history led to."""
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
    """What was broken: the invariant, without the details."""
    return outcome.violations[0].partition(":")[0] if outcome.violations else ""


def _smaller(history: History, outcome: Outcome) -> Iterator[History]:
    for index in range(len(history.requests)):
        rest = history.requests[:index] + history.requests[index + 1:]
        if {one.stack for one in rest} <= {one.stack for one in rest if one.shape or one.verb.value == "create"}:
            yield dataclasses.replace(history, requests=rest)
    for count in range(1, history.workers):
        yield dataclasses.replace(history, workers=count)
    for watched in _fewer_eyes(history.watched):
        yield dataclasses.replace(history, watched=watched)
    for fault in history.rates:
        if any(name == fault for name, _ in outcome.hit):
            yield dataclasses.replace(history, rates={name: rate for name, rate in history.rates.items() if name != fault})
    yield from _fewer_faults(history, outcome)
    for name in sorted({name for request in history.requests for name in request.shape}):
        yield _reshaped(history, lambda shape, name=name: shapes.drop(shape, [name]))  # type: ignore[misc]
    for frill in ("secret", "off", "retain", "fail", "seen", "after", "link", "uses", "base", "fixed", "drift", "alias"):
        if any(getattr(part, frill) for request in history.requests for part in request.shape.values()):
            yield _reshaped(history, lambda shape, frill=frill: _without(shape, frill))  # type: ignore[misc]
    if history.ends_with_delete:
        yield dataclasses.replace(history, ends_with_delete=False)


def _fewer_eyes(watched: Watched) -> Iterator[Watched]:
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


def _without(shape: shapes.Shape, frill: str) -> shapes.Shape:
    plain = getattr(PLAIN, frill)
    return {name: dataclasses.replace(part, **{frill: plain}) for name, part in shape.items()}
