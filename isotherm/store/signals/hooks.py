"""Units of work for hooks: a node pauses at a hook until a user clears it.

A pause belongs to one operation (lesson F9): its row has the operation's id, and newer operations ignore it. Only the row
says that a hook was cleared, so a crash of the worker loses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store import missing, rows
from isotherm.store import tables as t
from isotherm.store.records import Event, Operation, Report
from isotherm.store.transitions import nodes

_HOOK, _NODE, _VERSION, _STACK = t.hooks.c, t.nodes.c, t.resources.c, t.stacks.c

_ROWS = sa.select(_HOOK.node_id, _HOOK.hook, _HOOK.operation_id, _HOOK.cleared, _HOOK.changed).where(
    rows.among(_HOOK.node_id))


def pause(connection: sa.Connection, reports: Sequence[Report], now: float) -> set[int]:
    """Store pauses, each with one event. Return the nodes whose hook is already cleared."""
    pausing = [report for report in reports if report.pause is not None]
    if not pausing:
        return set()
    found = {(row[0], row[1]): row for row in connection.execute(_ROWS, rows.ids(r.claim.node_id for r in pausing))}
    cleared: set[int] = set()
    for report in pausing:
        assert report.pause is not None
        claim, hook = report.claim, report.pause.hook
        row = found.get((claim.node_id, hook))
        if row is not None and row[2] == claim.operation.id:
            if row[3]:
                cleared.add(claim.node_id)
            continue
        _begin(connection, report, now)
    return cleared


def _begin(connection: sa.Connection, report: Report, now: float) -> None:
    assert report.pause is not None
    claim, hook = report.claim, report.pause.hook
    connection.execute(sa.delete(t.hooks).where(_HOOK.node_id == claim.node_id, _HOOK.hook == hook))
    connection.execute(
        sa.insert(t.hooks).values(node_id=claim.node_id, hook=hook, stack_id=claim.stack_id,
                                  operation_id=claim.operation.id, cleared=False, changed=report.pause.changed,
                                  created_at=now)
    )
    rows.insert_events(connection, [report.pause.event], now, is_progress=False)


def cleared(connection: sa.Connection, node_ids: Collection[int]) -> dict[tuple[int, str], dict[str, bool]]:
    """Return cleared hooks by node and operation, and whether the action before each hook changed the resource."""
    found: dict[tuple[int, str], dict[str, bool]] = {}
    for node_id, hook, operation_id, is_cleared, changed in connection.execute(_ROWS, rows.ids(node_ids)):
        if is_cleared:
            found.setdefault((node_id, operation_id), {})[hook] = bool(changed)
    return found


class Pending(NamedTuple):
    """A hook at which a node waits."""

    node_id: int
    resource: str
    hook: str
    since: float
    type: str | None
    physical_id: str | None
    action: int | None
    status: int | None
    operation_id: str


def pending(connection: sa.Connection, stack_id: str) -> list[Pending]:
    """Return the hooks at which nodes of the newest operation wait."""
    query = (
        sa.select(_NODE.id, _NODE.name, _HOOK.hook, _HOOK.created_at, _VERSION.type, _VERSION.physical_id,
                  _VERSION.action, _VERSION.status, _HOOK.operation_id)
        .join(t.nodes, _NODE.id == _HOOK.node_id)
        .join(t.stacks, sa.and_(_STACK.id == _HOOK.stack_id, _STACK.operation_id == _HOOK.operation_id))
        .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
        .where(_HOOK.stack_id == stack_id, _HOOK.cleared == sa.false(), _NODE.state.in_(_PAUSED))
        .order_by(_HOOK.created_at, _NODE.id)
    )
    return [Pending(*row) for row in connection.execute(query)]


# A node whose step is running pauses as well.
_PAUSED = (NodeState.WAITING, NodeState.RUNNING)


def clear(connection: sa.Connection, stack_id: str, resource: str, hook: str, now: float) -> None:
    """Clear a hook, so that its resource continues. Raises UserError if no node waits at this hook."""
    found = next((one for one in pending(connection, stack_id) if (one.resource, one.hook) == (resource, hook)), None)
    if found is None:
        raise errors.UserError(f'The "{hook}" hook is not defined on {named(connection, stack_id, resource)}',
                               kind="InvalidBreakPointHook", hint="`isotherm hook list STACK` shows the hooks that wait.")
    connection.execute(
        sa.update(t.hooks).where(_HOOK.node_id == found.node_id, _HOOK.hook == hook).values(cleared=True)
    )
    nodes.wake(connection, [found.node_id], now)
    event = Event(stack_id, found.operation_id, resource, found.type or _type(connection, found.node_id),
                 found.physical_id, Action(found.action or Action.INIT), Status(found.status or Status.COMPLETE),
                 f"Hook {hook} is cleared")
    rows.insert_events(connection, [event], now, is_progress=False)


def _type(connection: sa.Connection, node_id: int) -> str:
    """Return the type in the event of the pause: a resource that was not created yet has no version with a type."""
    name = sa.select(_NODE.name).where(_NODE.id == node_id).scalar_subquery()
    stack_id = sa.select(_NODE.stack_id).where(_NODE.id == node_id).scalar_subquery()
    event = t.events.c
    query = sa.select(event.type).where(event.stack_id == stack_id, event.name == name).order_by(event.id.desc()).limit(1)
    return connection.execute(query).scalar() or ""


def named(connection: sa.Connection, stack_id: str, resource: str) -> str:
    """Return the resource as Heat's messages show it. Raises NotFound if there is no resource of that name."""
    row: Any = connection.execute(
        sa.select(_VERSION.type, _VERSION.physical_id, _STACK.name, _NODE.id)
        .select_from(t.nodes)
        .join(t.stacks, _STACK.id == _NODE.stack_id)
        .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
        .where(_NODE.stack_id == stack_id, _NODE.name == resource, _NODE.kind != NodeKind.BARRIER)
    ).first()
    if row is None:
        raise missing.resource(connection, stack_id, resource)
    kind = (row[0] or _type(connection, row[3]) or "Resource").rpartition("::")[2]
    physical = f" [{row[1]}]" if row[1] else ""
    return f'{kind} "{resource}"{physical} Stack "{row[2]}" [{stack_id}]'


def give_up(connection: sa.Connection, operation: Operation, now: float) -> None:
    """Stop waiting at the hooks of a stopped operation: skip nodes before their action, wake those after it."""
    waited = [one for one in pending(connection, operation.stack_id) if one.operation_id == operation.id]
    before = [one.node_id for one in waited if one.hook.startswith("pre-")]
    after = [one.node_id for one in waited if one.hook.startswith("post-")]
    if before:
        nodes.skip_paused(connection, before)
    if after:
        connection.execute(sa.update(t.hooks).where(rows.among(_HOOK.node_id)).values(cleared=True), rows.ids(after))
        nodes.wake(connection, after, now)


def forget(connection: sa.Connection, stack_id: str) -> None:
    """Delete the hooks of a stack whose operation has ended."""
    connection.execute(sa.delete(t.hooks).where(_HOOK.stack_id == stack_id))
