"""Observes objects, within the rate limit, and compares each with what was applied. Changes nothing."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isotherm.observer import compare
from isotherm.observer.rate_limit import RateLimit
from isotherm.planning import documents, resource_states
from isotherm.resources import contract, gate
from isotherm.states import ObservationResult
from isotherm.store.records import Observation
from isotherm.store.watch.goals import Need
from isotherm.store.watch.resources import WatchedResource

Types = Callable[[str], type[contract.Resource]]

# Concurrent observations of a type that needs one call for each object.
_CONCURRENCY = 16
# The time limit of one call. After it the object counts as unseen.
CALL_LIMIT_S = 20.0
_SLOW = contract.Unseen("it took too long")


@dataclass(frozen=True, slots=True)
class Finding:
    """The observation of one resource."""

    target: WatchedResource
    observation: Observation
    # Equal to the last stored observation, except for its time.
    same: bool

    @property
    def drifted(self) -> bool | None:
        """Return whether the resource has drifted or is gone; None if it could not be observed."""
        return None if self.observation.result is ObservationResult.UNSEEN else self.observation.has_drifted

    @property
    def need(self) -> Need:
        one = self.target
        gone = self.observation.result is ObservationResult.GONE
        return Need(one.name, one.type, one.physical_id, one.metadata, one.external, gone)

    def describe(self) -> str:
        """Return the names of the drifted properties, without values."""
        if self.observation.result is ObservationResult.GONE:
            return "it is gone"
        found = documents.decode(self.observation.drift, list[dict[str, Any]])
        return ", ".join(one["property"] for one in found)


@dataclass(frozen=True, slots=True)
class StackRef:
    """The stack that the observed objects belong to."""

    project: str
    stack_name: str


class _BulkCall:
    """One call of `observe_many`, for the resources of any number of stacks."""

    def __init__(self) -> None:
        self.states: list[contract.ResourceState] = []
        self.task: asyncio.Future[tuple[float, Sequence[contract.LiveState]]]


class RealityReader:
    """Observes resources. Counts the resources it observed and the calls it made.

    An object that does not answer `within_s` is unseen: a service that hangs must not block observations of the others.
    """

    def __init__(self, types: Types, context: contract.Context, limit: RateLimit, within_s: float = math.inf) -> None:
        self._within_s = within_s
        self._types = types
        self._context = context
        self._limit = limit
        # Calls of `observe_many` that have not been sent yet, by credential and type: other stacks join them.
        self._open: dict[tuple[str, type[contract.Resource]], _BulkCall] = {}
        self.observations = 0
        self.calls = 0

    async def observe(self, stack: StackRef, targets: Sequence[WatchedResource]) -> list[Finding]:
        """Observe all targets whose type is observable. The order of the findings is arbitrary."""
        by_type: dict[type[contract.Resource], list[WatchedResource]] = {}
        for target in targets:
            type_ = self.type_of(target)
            if type_ is not None:
                by_type.setdefault(type_, []).append(target)
        found = await asyncio.gather(*(self._observe_type(type_, stack, some) for type_, some in by_type.items()))
        return [finding for findings in found for finding in findings]

    def type_of(self, target: WatchedResource) -> type[contract.Resource] | None:
        """Return the type of the target if it can be observed. Nested stacks are watched as stacks of their own."""
        try:
            found = self._types(target.implementation)
        except LookupError:
            return None
        return found if contract.is_observable(found) else None

    async def _observe_type(
        self, type_: type[contract.Resource], stack: StackRef, targets: Sequence[WatchedResource]
    ) -> list[Finding]:
        if type_.observe_many.__func__ is not contract.Resource.observe_many.__func__:  # type: ignore[attr-defined]
            return await self._observe_in_bulk(type_, stack, targets)
        free, end = asyncio.Semaphore(_CONCURRENCY), asyncio.get_running_loop().time() + self._within_s

        context = self._context_of(stack, targets[0].stack_id)

        async def observe_one(target: WatchedResource) -> Finding:
            async with free:
                at = await self._next_call(type_, stack)
                left_s = end - asyncio.get_running_loop().time()
                get_reality = functools.partial(contract.observe, type_(_state(target, stack), context))
                reality = await _in_time(get_reality, left_s) if left_s > 0 else None
            return _finding(type_, target, reality or _SLOW, at)

        found = await asyncio.gather(*(observe_one(target) for target in targets))
        self.observations += len(found)
        return list(found)

    async def _observe_in_bulk(
        self, type_: type[contract.Resource], stack: StackRef, targets: Sequence[WatchedResource]
    ) -> list[Finding]:
        """Observe with one call for all stacks that are observed at the same time with the same credential."""
        context = self._context_of(stack, targets[0].stack_id)
        key = stack.project if context.credential is None else context.credential.key, type_
        call = self._open.get(key)
        if call is None:
            call = self._open[key] = _BulkCall()
            call.task = asyncio.create_task(self._send(call, key, stack, context))
        first = len(call.states)
        call.states += [_state(target, stack) for target in targets]
        # Shielded: another stack may wait for the same call.
        at, realities = await asyncio.shield(call.task)
        self.observations += len(targets)
        own = realities[first:first + len(targets)]
        return [_finding(type_, target, one, at) for target, one in zip(targets, own, strict=True)]

    async def _send(
        self, call: _BulkCall, key: tuple[str, type[contract.Resource]], stack: StackRef, context: contract.Context
    ) -> tuple[float, Sequence[contract.LiveState]]:
        type_ = key[1]
        try:
            at = await self._next_call(type_, stack)
        finally:
            del self._open[key]
        return at, await _observe_many(type_, context, call.states, self._within_s)

    def _context_of(self, stack: StackRef, stack_id: str) -> contract.Context:
        """Return the context with the credential of a stack."""
        context = self._context
        return replace(context, project=stack.project, cloud=context.cloud and context.cloud.of_stack(stack_id),
                       outputs=context.outputs and context.outputs.of(stack.project))

    async def _next_call(self, type_: type[contract.Resource], stack: StackRef) -> float:
        """Wait until the rate limit admits a call, and return the time at which it is made."""
        await self._limit.take(stack.project, type_.TYPE)
        self.calls += 1
        return self._context.clock.now()


async def _observe_many(
    type_: type[contract.Resource], context: contract.Context, many: Sequence[contract.ResourceState], within_s: float
) -> Sequence[contract.LiveState]:
    """Call `observe_many` of a type. If it fails, is late or returns a wrong number, all objects are unseen."""
    try:
        observe_many = functools.partial(gate.call_type, context, type_, type_.observe_many, context, many)
        seen = await _in_time(observe_many, within_s)
    except Exception as error:  # noqa: BLE001 - any error of a plug-in means that nothing was seen
        return [contract.Unseen(f"{type(error).__name__}: {error}")] * len(many)
    return [_SLOW] * len(many) if seen is None or len(seen) != len(many) else seen


async def _in_time(call: Callable[[], Awaitable[Any]], left_s: float) -> Any:
    """Return what the call returns, or None after the time limit."""
    try:
        async with asyncio.timeout(min(CALL_LIMIT_S, left_s)):
            return await call()
    except TimeoutError:
        return None


def _state(target: WatchedResource, stack: StackRef) -> contract.ResourceState:
    return resource_states.of(target, stack.stack_name)


def _finding(type_: type[contract.Resource], target: WatchedResource, reality: contract.LiveState, at: float) -> Finding:
    found = _observation(type_, target, reality, at)
    same = (found.result, found.live, found.drift, found.digest) == (
        target.result, target.live, target.drift, target.seen_digest) and found.result is ObservationResult.SEEN
    return Finding(target, found, same)


def _observation(
    type_: type[contract.Resource], target: WatchedResource, reality: contract.LiveState, at: float
) -> Observation:
    # Most objects are as they were at the last observation: their drift need not be computed again.
    known = target.drift is not None and target.is_compared
    earlier = compare.Comparison(target.live, target.drift or "") if known else None
    return compare.observation(type_, target, reality, at, earlier=earlier)
