"""`isotherm apply`: creates or updates a stack as planned, after a confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import changes, embedded, engines, inputs, plan_file, port, questions
from isotherm.cli.show import console, plan_view
from isotherm.engine.orchestrator import Accepted, Patch
from isotherm.engine.overview import plan_marks
from isotherm.engine.overview.plan_marks import PlanMark


@click.command(epilog=options.example("isotherm apply web -t examples/site.yaml -p servers=one,two",
                                      "isotherm apply web -t examples/site.yaml --yes --destroy 1",
                                      "isotherm apply web -t examples/site.yaml --exclude database",
                                      "isotherm plan web -t examples/site.yaml --out web.plan && isotherm apply web.plan"))
@click.argument("what", metavar="NAME|FILE")
@click.option("-t", "--template", type=options.FILE,
              help="The template file; - reads stdin. Not given: keep the template of the stack.")
@options.environment_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether to apply the plan.")
@click.option("--destroy", metavar="N|all", help="Confirm that N resources are deleted or replaced.")
@options.move_option
@options.choice_options
@options.fresh_option
@click.option("--converge", is_flag=True,
              help="Observe reality first, and repair what was changed or deleted from outside.")
@click.option("--rollback/--no-rollback", default=None, help="If the operation fails, roll back.")
@options.timeout_option
@options.tags_option
@options.cloud_option
@options.json_option
@click.pass_obj
def apply(  # noqa: PLR0913 - one for each option
          printer: console.Printer, what: str, template: str | None, environments: tuple[str, ...],
          parameters: dict[str, str], yes: bool, destroy: str | None, moved: dict[str, str], target: tuple[str, ...],
          exclude: tuple[str, ...], fresh: bool, converge: bool, rollback: bool | None, timeout: float | None,
          tags: str | None) -> int:
    """Create or update a stack: show the plan, ask, apply it.

    Parameters that have no value are asked for at a terminal, or taken from variables ISOTHERM_VAR_name. Parameters and
    environment of an existing stack are kept unless given. A plan that deletes or replaces resources is confirmed twice.

    With a FILE that `isotherm plan --out` wrote, exactly that plan is applied, without questions. It is refused if the
    stack, its drift or the meaning of the template has changed since.
    """
    if plan_file.is_saved(Path(what)):
        if template is not None or environments or parameters or moved or target or exclude:
            raise click.UsageError("A saved plan has its own template, values and choices: give nothing beside it.")
        return _apply_saved(printer, Path(what))
    read = None
    if template is not None:
        with printer.busy(f"reading {template}"):
            read = inputs.read(printer, template, environments, parameters)
    elif environments or parameters or moved:
        raise click.UsageError("Give the template too, with -t; or change parameters with `isotherm update`.")
    wanted = changes.Options(
        existing=not fresh, converge=converge, disable_rollback=None if rollback is None else not rollback,
        timeout_s=timeout * 60 if timeout else None, tags=None if tags is None else options.split_tags(tags), ask=True,
        moved=moved, target=target, exclude=exclude)
    change = engines.use(lambda engine: changes.plan(engine, what, read, wanted))
    if not printer.as_json:
        printer.say(lambda: plan_view.draw(what, change.plan))
    questions.confirm_plan(change.plan, yes=yes, destroy=destroy)
    return embedded.operate(printer, what, lambda orchestrator: _accept(orchestrator, change, read))


def _apply_saved(printer: console.Printer, file: Path) -> int:
    async def planned(engine: port.EnginePort) -> tuple[plan_file.SavedPlan, Mapping[str, Any]]:
        saved = plan_file.load(file, engine.ring())
        try:
            if saved.stack_id:
                await engine.orchestrator.stacks.find(saved.stack_id)
            plan = await engine.orchestrator.plans.plan(saved.stack_id or saved.name, saved.change)
        except errors.NotFound:
            plan = {"id": "", "generation": 0}
        plan_marks.refuse_outdated(saved.name, saved.mark, PlanMark.of(plan))
        return saved, plan

    saved, plan = engines.use(planned)
    change = changes.Change(saved.name, saved.stack_id, saved.change, plan)
    return embedded.operate(printer, saved.name, lambda orchestrator: _accept(orchestrator, change, None))


async def _accept(
    orchestrator: port.OrchestratorPort, change: changes.Change, read: inputs.TemplateInputs | None
) -> Accepted:
    """Request the change. Conflict is raised if another operation was accepted since it was planned."""
    if not change.stack_id:
        assert not isinstance(change.request, Patch)
        return await orchestrator.stacks.create(change.name, change.request)
    return await orchestrator.stacks.update(change.stack_id, change.request, generation=change.plan["generation"])
