"""How many steps of a type, or of a service, this process may have under way at once.

A service that is asked too much is slow for everybody. A step that finds no slot free does not begin: its node goes back to
where it was, says what it waits for, and comes again about when its turn should be. How long that takes is told by how
long steps hold their slots and by how many of its stack wait already, so that many who wait cost little, and a stack with
few is not behind one with many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.steps import outcomes
from isotherm.resources import contract
from isotherm.states import NodeState
from isotherm.store.queue import choose
from isotherm.store.records import Claim, Report

_LEAST_S, _MOST_S = 0.05, 60.0
# So many come for each slot: one that comes in vain costs less than a slot that nobody takes.
_COME = 2
# How long a step takes before any has been seen, what counts of the last one, and what is believed at most.
_FIRST_S, _WEIGHT, _BELIEVED_S = 0.5, 0.1, 10.0


@dataclass(slots=True)
class _Limit:
    name: str
    most: int
    held: int = 0
    mean_s: float = _FIRST_S
    # By stack: the time for which the last of its nodes was sent away.
    queues: dict[str, float] = field(default_factory=dict)

    def fits(self, type_: str) -> bool:
        return type_ == self.name or type_.startswith(f"{self.name}::")

    def learn(self, seconds: float) -> None:
        self.mean_s += (min(seconds, _BELIEVED_S) - self.mean_s) * _WEIGHT

    def wait_s(self, stack_id: str, now: float) -> float:
        """When one more of the stack should come again."""
        self.queues = {stack: until for stack, until in self.queues.items() if until > now}
        # Stacks share the slots.
        pause = len({*self.queues, stack_id}) * self.mean_s / (self.most * _COME)
        self.queues[stack_id] = min(self.queues.get(stack_id, now) + pause, now + _MOST_S)
        return max(self.queues[stack_id] - now, _LEAST_S)


class TypeThrottle:
    """The slots of one process."""

    def __init__(self, limits: Iterable[tuple[str, int]], clock: contract.Clock, random: Random) -> None:
        self._limits = [_Limit(name, most) for name, most in limits if most > 0]
        self._clock = clock
        self._random = random
        # By node and lease: since when, and of which limits.
        self._held: dict[tuple[int, int], tuple[float, list[_Limit]]] = {}

    @classmethod
    def of(cls, settings: Settings, context: contract.Context) -> TypeThrottle:
        return cls(map(_pair, settings.max_parallel_steps), context.clock, context.random)

    def take(self, claim: Claim, answer: outcomes.Answer) -> Report | None:
        """A slot for what was decided, if it needs one. If there is none: how the node waits for it."""
        if not self._limits or claim.key in self._held:
            return None
        type_ = _type(answer)
        limits = [limit for limit in self._limits if limit.fits(type_)]
        full = next((limit for limit in limits if limit.held >= limit.most), None)
        if full is not None:
            return self._wait(claim, full)
        if limits:
            self._held[claim.key] = self._clock.now(), limits
        for limit in limits:
            limit.held += 1
        return None

    def free(self, key: tuple[int, int]) -> None:
        """The step has ended, or never began."""
        since, limits = self._held.pop(key, (0.0, ()))
        for limit in limits:
            limit.held -= 1
            limit.learn(self._clock.now() - since)

    def _wait(self, claim: Claim, full: _Limit) -> Report:
        seconds = full.wait_s(claim.stack_id, self._clock.now()) * self._random.uniform(0.8, 1.2)
        # What has not begun is no more under way than before: whoever cancels the operation cancels it.
        begun = claim.version is not None and claim.version.intent is not None
        state = NodeState.WAITING if begun else NodeState.SCHEDULED
        return Report(claim, state, wake_in_s=seconds, reason=choose.told(full.most, full.name))


def _type(answer: outcomes.Answer) -> str:
    """The type that is asked to do something; none, if nobody is."""
    if isinstance(answer, outcomes.Begin):
        return answer.beginning.version.implementation
    if isinstance(answer, outcomes.Continue | outcomes.Republish):
        return answer.version.implementation
    if isinstance(answer, outcomes.LookUp) and answer.version is not None:
        return answer.version.implementation
    return ""


def _pair(told: str) -> tuple[str, int]:
    name, _, most = told.rpartition("=")
    if not name.strip() or not most.strip().isdecimal():
        raise errors.UserError(f"max_parallel_steps: '{told}' is not TYPE=NUMBER.", kind="ValueError",
                               hint="For example: OS::Nova::Server=20, OS::Nova=50")
    return name.strip().removesuffix("::"), int(most)
