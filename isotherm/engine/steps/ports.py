"""The ports of an engine, and the parts of a step that are built from them. Both architectures use the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isotherm.config import Settings
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps import act, consider, lookup, outcomes, reports
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.store.database.writer import Store


@dataclass(frozen=True, slots=True)
class EnginePorts:
    """The ports of a worker or of a legacy engine. Both in one process share a `throttle`."""

    store: Store
    context: contract.Context
    types: outcomes.Types
    planning: Planning
    new_id: Callable[[], str]
    settings: Settings = Settings()  # noqa: RUF009 - frozen
    inner_stacks: InnerStacksFactory | None = None
    throttle: TypeThrottle | None = None


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of a step, in the order in which a claim meets them."""

    decider: consider.Decider
    facts: lookup.FactFinder
    throttle: TypeThrottle
    runner: act.StepRunner
    masker: reports.ReportMasker


def step_parts(ports: EnginePorts) -> StepParts:
    """Build the parts of a step."""
    runner = act.StepRunner(ports.types, ports.context, ports.inner_stacks)
    masker = reports.ReportMasker(ports.planning, ports.types)
    return StepParts(
        consider.Decider(ports.types, ports.new_id, ports.context.clock.now, tolerant=ports.settings.tolerates_unseen),
        lookup.FactFinder(runner, ports.planning, masker),
        ports.throttle or TypeThrottle.of(ports.settings, ports.context),
        runner, masker,
    )
