"""Seeded bugs of the calls of types: plain methods, searches without an answer, calls that were not begun."""

from __future__ import annotations

import dataclasses
from typing import Any

from isotherm.engine.steps import act, consider_cleanup, consider_update, outcomes, search
from isotherm.planning import publish
from isotherm.resources import contract, runner
from tests.sim.seeded_bugs import Bugs, Patch, wrapped

BUGS = Bugs()
bug = BUGS.add


@bug
def a_plain_attribute_is_nothing(patch: Patch) -> None:
    """[I2] A plain method is awaited past the gate, and the TypeError that follows is taken for an unknown value."""
    original = publish.attribute

    async def attribute(resource: Any, name: str) -> object:
        return None if "Plain" in resource.TYPE else await original(resource, name)

    patch.setattr(publish, "attribute", attribute)


@bug
def a_plain_search_finds_nothing(patch: Patch) -> None:
    """[I1] A plain search is awaited past the gate, and its failure is taken for an object that is not there."""
    original = act.StepRunner.find_object

    async def find(self: Any, claim: Any, version: Any, guard: Any) -> Any:
        return contract.Absent() if "Plain" in version.type else await original(self, claim, version, guard)

    patch.setattr(act.StepRunner, "find_object", find)


@bug
def what_cannot_be_told_is_absent(patch: Patch) -> None:
    """[I1] A type cannot search, and the object is made once more."""
    original = act.StepRunner.find_object

    async def find(*arguments: Any) -> Any:
        found = await original(*arguments)
        return contract.Absent() if isinstance(found, contract.CannotTell) else found

    patch.setattr(act.StepRunner, "find_object", find)


@bug
def nobody_is_told_of_what_may_be_left(patch: Patch) -> None:
    """[I1] The row of a creation with an unknown end is removed, and the object stays without a row."""
    removed = consider_cleanup._removed
    patch.setattr(consider_cleanup, "_not_found",
                  lambda claim, version, _: removed(claim, version, "nothing had been made"))


@bug
def every_attempt_counts_as_not_begun(patch: Patch) -> None:
    """[I1] The answer to a creation was lost, and the next attempt does not search for the object."""
    original = runner.TaskRunner.step

    async def step(self: Any) -> Any:
        outcome: Any = await original(self)
        waits = isinstance(outcome, runner.Waiting) and not self.task.handled
        return dataclasses.replace(outcome, not_begun=True) if waits else outcome

    patch.setattr(runner.TaskRunner, "step", step)


@bug
def what_was_not_begun_stays_so(patch: Patch) -> None:
    """[I1] An attempt that was not begun is followed by one that is, whose intent still says the opposite."""

    def begin(original: Any, self: Any, claim: Any, wanted: Any, intent: Any) -> Any:
        before = outcomes.intent_of(claim.version)
        intent.not_begun = before is not None and before.not_begun
        return original(self, claim, wanted, intent)

    wrapped(patch, consider_update.UpdateDecider, "_begin_create", begin)


@bug
def a_repeated_create_asks_for_what_is_wanted_now(patch: Patch) -> None:
    """[I2] The object is as the first request asked for it, and counts as what the newest template says."""

    def after(original: Any, claim: Any, version: Any, intent: Any, target: Any, facts: Any) -> Any:
        search = None if facts is None else facts.search
        if isinstance(search, contract.CannotTell) and search.repeat_is_harmless:
            return claim
        return original(claim, version, intent, target, facts)

    wrapped(patch, search, "go_on", after)
