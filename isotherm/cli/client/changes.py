"""Plans changes of a stack for `isotherm plan` and `isotherm apply`: a create, or an update.

The engine's own code decides. A change that depends on a value which does not exist yet is marked with a question mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isotherm import errors
from isotherm.cli import codes
from isotherm.cli.client import engines, inputs, plan_file, port, questions
from isotherm.cli.show import console, plan_view
from isotherm.engine.orchestrator import Patch, Request
from isotherm.engine.overview.plan_marks import PlanMark


@dataclass(frozen=True, slots=True)
class Options:
    """The fields of a request that template and environment do not give, and where its values come from."""

    # Take over the parameters and the environment of the stack where they are not given.
    existing: bool = False
    converge: bool = False
    disable_rollback: bool | None = None
    timeout_s: float | None = None
    tags: Sequence[str] | None = None
    # Resources that get another name, old name to new name.
    moved: Mapping[str, str] = field(default_factory=dict)
    # Ask for missing parameters.
    ask: bool = False
    # Change only these resources; do not change these.
    target: Sequence[str] = ()
    exclude: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change and its plan."""

    name: str
    # Empty: the stack is to be created.
    stack_id: str
    request: Request | Patch
    plan: Mapping[str, Any]

    @property
    def saved(self) -> plan_file.SavedPlan:
        is_patch = isinstance(self.request, Patch)
        return plan_file.SavedPlan(
            self.name, self.stack_id, PlanMark.of(self.plan),
            **({"patch": self.request} if is_patch else {"request": self.request}))  # type: ignore[arg-type]


async def plan(engine: port.EnginePort, name: str, read: inputs.TemplateInputs | None, options: Options) -> Change:
    """Plan the change that a template makes to a stack, or a stack without a change if there is no template."""
    plans = engine.orchestrator.plans
    if read is None:
        stack_id, kept = await request_for(engine, name, read, options)
        return Change(name, stack_id, kept, await plans.plan(stack_id, kept))
    stack_id, request = await request_for(engine, name, read, options)
    while True:
        try:
            with inputs.located(read.document):
                return Change(name, stack_id, request, await plans.plan(stack_id or name, request))
        except errors.UserError as error:
            if not options.ask:
                raise
            request = _with(request, questions.missing_values(error, read.template.parameters))


async def request_for(
    engine: port.EnginePort, name: str, read: inputs.TemplateInputs | None, options: Options
) -> tuple[str, Request | Patch]:
    """Return the id of the stack, empty if there is none, and the request that a template makes of it."""
    if read is None:
        kept = Patch(disable_rollback=options.disable_rollback, timeout_s=options.timeout_s, tags=options.tags,
                     converge=options.converge, target=options.target, exclude=options.exclude)
        return await _stack_id(engine, name), kept
    try:
        stack_id = await _stack_id(engine, name)
    except errors.NotFound:
        stack_id = ""
    return stack_id, _update(read, options) if stack_id and options.existing else _whole(read, options)


async def _stack_id(engine: port.EnginePort, name: str) -> str:
    return str((await engine.orchestrator.stacks.find(name))["id"])


def _whole(read: inputs.TemplateInputs, options: Options) -> Request:
    request = Request(read.text, read.files, read.environment.as_dict(), converge=options.converge,
                      moved=options.moved, target=options.target, exclude=options.exclude)
    if options.disable_rollback is not None:
        request = replace(request, disable_rollback=options.disable_rollback)
    if options.timeout_s is not None:
        request = replace(request, timeout_s=options.timeout_s)
    return request if options.tags is None else replace(request, tags=options.tags)


def _update(read: inputs.TemplateInputs, options: Options) -> Patch:
    return Patch(read.text, read.files, read.environment.as_dict(), disable_rollback=options.disable_rollback,
                 timeout_s=options.timeout_s, tags=options.tags, converge=options.converge, moved=options.moved,
                 target=options.target, exclude=options.exclude)


def _with(request: Request | Patch, values: Mapping[str, str]) -> Request | Patch:
    environment = dict(request.environment)
    return replace(request, environment={**environment, "parameters": {**environment.get("parameters", {}), **values}})


@dataclass(frozen=True, slots=True)
class Showing:
    """The options of `isotherm plan` for a stack."""

    fresh: bool
    # Observe reality first.
    refresh: bool
    # Save the plan in this file.
    out: str | None
    # Say by the exit code whether the plan changes something.
    detailed: bool
    # Resources that get another name, old name to new name.
    moved: Mapping[str, str] = field(default_factory=dict)
    target: Sequence[str] = ()
    exclude: Sequence[str] = ()


def show(printer: console.Printer, name: str, read: inputs.TemplateInputs | None, showing: Showing) -> int:
    """Print the plan of a change; return the exit code."""

    async def work(engine: port.EnginePort) -> Mapping[str, Any]:
        if showing.refresh:
            with printer.busy(f"observing {name}"):
                await engine.orchestrator.drift.observe(name, None)
        change = await plan(engine, name, read, Options(
            existing=not showing.fresh, moved=showing.moved, target=showing.target, exclude=showing.exclude))
        if showing.out is not None:
            plan_file.save(Path(showing.out), change.saved, engine.ring())
        return change.plan

    found = engines.use(work)
    printer.result(found, lambda: plan_view.draw(name, found))
    if showing.out is not None and not printer.as_json:
        printer.plain(f"\nSaved. To apply exactly this plan: isotherm apply {showing.out}")
    return codes.CHANGES if showing.detailed and plan_view.changes(found) else codes.OK
