"""Looks at objects, within the budget, and says what of each is not what was made of it. Nothing is changed by it."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm.observer.rate_limit import RateLimit
from isotherm.planning import documents, resource_states
from isotherm.resources import contract, drift
from isotherm.resources import gate as gate_resources
from isotherm.states import Sight
from isotherm.store.records import Observation
from isotherm.store.watch.goals import Need
from isotherm.store.watch.resources import Target

Types = Callable[[str], type[contract.Resource]]

# So many objects are looked at side by side, where each takes a call of its own.
_ABREAST = 16
# A look that takes longer has seen nothing.
PATIENCE_S = 20.0
_SLOW = contract.Unseen("it took too long")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen of one resource."""

    target: Target
    observation: Observation
    # As it was seen the last time.
    same: bool

    @property
    def drifted(self) -> bool | None:
        """None: nobody knows."""
        return None if self.observation.sight is Sight.UNSEEN else self.observation.has_drifted

    @property
    def need(self) -> Need:
        one = self.target
        return Need(one.name, one.type, one.physical_id, one.metadata, one.external)

    def told(self) -> str:
        """What has drifted, in a few words and without values."""
        if self.observation.sight is Sight.GONE:
            return "it is gone"
        found = documents.decode(self.observation.drift, list[dict[str, Any]])
        return ", ".join(one["property"] for one in found)


@dataclass(frozen=True, slots=True)
class StackRef:
    """The stack that the objects belong to."""

    project: str
    stack_name: str


class RealityReader:
    """Looks. Counts what it looks at, and the calls that it makes for it.

    What is not seen `within_s` is not waited for: a service that hangs must not keep all others from being looked at.
    """

    def __init__(self, types: Types, context: contract.Context, budget: RateLimit, within_s: float = math.inf) -> None:
        self._within_s = within_s
        self._types = types
        self._context = context
        self._budget = budget
        self.looks = 0
        self.calls = 0

    def type_of(self, target: Target) -> type[contract.Resource] | None:
        """The type, if it is worth while to look. Stacks inside are watched as stacks."""
        try:
            found = self._types(target.implementation)
        except LookupError:
            return None
        return found if contract.is_observable(found) else None

    async def look(self, place: StackRef, targets: Sequence[Target]) -> list[Finding]:
        """At all of these that can be seen, in any order."""
        by_type: dict[type[contract.Resource], list[Target]] = {}
        for target in targets:
            type_ = self.type_of(target)
            if type_ is not None:
                by_type.setdefault(type_, []).append(target)
        found = await asyncio.gather(*(self._all(type_, place, some) for type_, some in by_type.items()))
        return [look for looks in found for look in looks]

    async def _all(self, type_: type[contract.Resource], place: StackRef, targets: Sequence[Target]) -> list[Finding]:
        if type_.observe_many.__func__ is not contract.Resource.observe_many.__func__:  # type: ignore[attr-defined]
            return await self._together(type_, place, targets)
        gate, end = asyncio.Semaphore(_ABREAST), asyncio.get_running_loop().time() + self._within_s

        async def one(target: Target) -> Finding:
            async with gate:
                at = await self._turn(type_, place)
                left_s = end - asyncio.get_running_loop().time()
                look = functools.partial(contract.observe, type_(_self(target, place), self._context))
                seen = await _patiently(look, left_s) if left_s > 0 else None
            return _compared(type_, target, seen or _SLOW, at)

        found = await asyncio.gather(*(one(target) for target in targets))
        self.looks += len(found)
        return list(found)

    async def _together(self, type_: type[contract.Resource], place: StackRef, targets: Sequence[Target]) -> list[Finding]:
        at = await self._turn(type_, place)
        many = [_self(target, place) for target in targets]
        sights = await _sights(type_, self._context, many, self._within_s)
        self.looks += len(targets)
        return [_compared(type_, target, one, at) for target, one in zip(targets, sights, strict=True)]

    async def _turn(self, type_: type[contract.Resource], place: StackRef) -> float:
        await self._budget.take(place.project, type_.TYPE)
        self.calls += 1
        return self._context.clock.now()


async def _sights(
    type_: type[contract.Resource], context: contract.Context, many: Sequence[contract.ResourceState], within_s: float
) -> Sequence[contract.LiveState]:
    """Of all of them. Whatever goes wrong with the list, nothing was seen."""
    try:
        observe = functools.partial(gate_resources.call_type, context, type_, type_.observe_many, context, many)
        seen = await _patiently(observe, within_s)
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises, it has not seen anything
        return [contract.Unseen(f"{type(error).__name__}: {error}")] * len(many)
    return [_SLOW] * len(many) if seen is None or len(seen) != len(many) else seen


async def _patiently(look: Callable[[], Awaitable[Any]], left_s: float) -> Any:
    """What is seen; None if it takes too long."""
    try:
        async with asyncio.timeout(min(PATIENCE_S, left_s)):
            return await look()
    except TimeoutError:
        return None


def _self(target: Target, place: StackRef) -> contract.ResourceState:
    return resource_states.of(target, place.stack_name)


def _compared(type_: type[contract.Resource], target: Target, seen: contract.LiveState, at: float) -> Finding:
    found = _observation(type_, target, seen, at)
    same = (found.sight, found.live, found.drift, found.digest) == (
        target.sight, target.live, target.drift, target.seen_digest) and found.sight is Sight.SEEN
    return Finding(target, found, same)


def _observation(type_: type[contract.Resource], target: Target, seen: contract.LiveState, at: float) -> Observation:
    id_, stack_id, digest = target.id, target.stack_id, target.digest
    if isinstance(seen, contract.Unseen):
        return Observation(id_, stack_id, at, Sight.UNSEEN, seen.reason, digest=digest)
    if isinstance(seen, contract.Gone):
        return Observation(id_, stack_id, at, Sight.GONE, digest=digest)
    live = documents.encode(dict(seen.properties))
    if live == target.live and target.drift is not None and target.is_compared:
        # The same as before, compared with the same: so is the answer. Most looks end here.
        return Observation(id_, stack_id, at, Sight.SEEN, "", live, target.drift, digest=digest)
    applied = documents.decode(target.properties, dict[str, Any])
    found = [{"property": one.property, "applied": one.applied, "live": one.live, "wanted": one.wanted}
             for one in drift.compare(type_, applied, seen)]
    return Observation(id_, stack_id, at, Sight.SEEN, "", live, documents.encode(found), digest=digest)
