"""Limits the steps of a type, or of a service, that run at once in this process (`max_parallel_steps`).

A step that exceeds a limit does not begin: its node waits with the limit as its reason, and is claimed again about when a
slot should be free. The pause follows from the mean time that steps hold a slot and from the number of waiting nodes of the
same stack, so that waiting nodes cost little and a small stack does not queue behind a large one.
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
# Nodes that are woken for each slot: a useless claim costs less than an unused slot.
_PER_SLOT = 2
# The mean time of a step: its first value, the weight of a new value, and the greatest value that counts.
_FIRST_S, _WEIGHT, _LONGEST_S = 0.5, 0.1, 10.0


@dataclass(slots=True)
class _Limit:
    name: str
    most: int
    held: int = 0
    mean_s: float = _FIRST_S
    # By stack: the time at which the last of its waiting nodes comes again.
    queues: dict[str, float] = field(default_factory=dict)

    def applies_to(self, type_: str) -> bool:
        return type_ == self.name or type_.startswith(f"{self.name}::")

    def learn(self, seconds: float) -> None:
        """Update the mean time of a step."""
        self.mean_s += (min(seconds, _LONGEST_S) - self.mean_s) * _WEIGHT

    def wait_s(self, stack_id: str, now: float) -> float:
        """Return the pause of one more waiting node of the stack."""
        self.queues = {stack: until for stack, until in self.queues.items() if until > now}
        # Stacks share the slots.
        pause = len({*self.queues, stack_id}) * self.mean_s / (self.most * _PER_SLOT)
        self.queues[stack_id] = min(self.queues.get(stack_id, now) + pause, now + _MOST_S)
        return max(self.queues[stack_id] - now, _LEAST_S)


class TypeThrottle:
    """The limits of one process, and the steps that count against them."""

    def __init__(self, limits: Iterable[tuple[str, int]], clock: contract.Clock, random: Random) -> None:
        self._limits = [_Limit(name, most) for name, most in limits if most > 0]
        self._clock = clock
        self._random = random
        # By claim: since when a step runs, and its limits.
        self._held: dict[tuple[int, int], tuple[float, list[_Limit]]] = {}

    @classmethod
    def of(cls, settings: Settings, context: contract.Context) -> TypeThrottle:
        return cls(map(_pair, settings.max_parallel_steps), context.clock, context.random)

    def take(self, claim: Claim, answer: outcomes.Answer) -> Report | None:
        """Take a slot for the answer if it needs one. Return the report with which the node waits if none is free."""
        if not self._limits or claim.key in self._held:
            return None
        type_ = _type(answer)
        limits = [limit for limit in self._limits if limit.applies_to(type_)]
        full = next((limit for limit in limits if limit.held >= limit.most), None)
        if full is not None:
            return self._wait(claim, full)
        if limits:
            self._held[claim.key] = self._clock.now(), limits
        for limit in limits:
            limit.held += 1
        return None

    def free(self, key: tuple[int, int]) -> None:
        """Give the slots of a step back: it has ended, or never began."""
        since, limits = self._held.pop(key, (0.0, ()))
        for limit in limits:
            limit.held -= 1
            limit.learn(self._clock.now() - since)

    def _wait(self, claim: Claim, full: _Limit) -> Report:
        seconds = full.wait_s(claim.stack_id, self._clock.now()) * self._random.uniform(0.8, 1.2)
        # A step that has not begun stays SCHEDULED, so that cancelling the operation cancels it.
        begun = claim.version is not None and claim.version.intent is not None
        state = NodeState.WAITING if begun else NodeState.SCHEDULED
        return Report(claim, state, wake_in_s=seconds, reason=choose.limit_reason(full.most, full.name))


def _type(answer: outcomes.Answer) -> str:
    """Return the type that the answer calls, or "" if it calls none."""
    if isinstance(answer, outcomes.Begin):
        return answer.beginning.version.implementation
    if isinstance(answer, outcomes.Continue | outcomes.Republish):
        return answer.version.implementation
    if isinstance(answer, outcomes.LookUp) and answer.version is not None:
        return answer.version.implementation
    return ""


def _pair(option: str) -> tuple[str, int]:
    name, _, most = option.rpartition("=")
    if not name.strip() or not most.strip().isdecimal():
        raise errors.UserError(f"max_parallel_steps: '{option}' is not TYPE=NUMBER.", kind="ValueError",
                               hint="For example: OS::Nova::Server=20, OS::Nova=50")
    return name.strip().removesuffix("::"), int(most)
