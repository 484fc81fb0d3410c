"""How many there may be: counted in the transaction that adds one, so that no race can add one too many.

A limit below zero is none, and costs nothing. Whoever counts first takes the row that numbers are drawn from: on a
database where two can write at once, the other one waits until this one's has been counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import NodeKind
from isotherm.store import tables as t

_STACK, _NODE = t.stacks.c, t.nodes.c


def stacks(connection: sa.Connection, project: str, limit: int) -> None:
    """One more stack of the project, not counting those inside others."""
    roots = (_STACK.project == project, _STACK.tomb == "", _STACK.owner_id.is_(None))
    _refuse_more(connection, sa.select(sa.func.count()).select_from(t.stacks).where(*roots), limit,
                 f"You have reached the maximum stacks per tenant, {limit}. Please delete some stacks.")


def snapshots(connection: sa.Connection, stack_id: str, limit: int) -> None:
    """One more snapshot of the stack."""
    count = sa.select(sa.func.count()).select_from(t.snapshots).where(t.snapshots.c.stack_id == stack_id)
    _refuse_more(connection, count, limit,
                 f"You have reached the maximum snapshots per stack, {limit}. Please delete some snapshots.")


def software_configs(connection: sa.Connection, project: str, limit: int) -> None:
    """One more software config of the project."""
    _refuse_more_software(connection, t.software_configs, project, limit, "software configs")


def software_deployments(connection: sa.Connection, project: str, limit: int) -> None:
    """One more software deployment of the project."""
    _refuse_more_software(connection, t.software_deployments, project, limit, "software deployments")


def resources(connection: sa.Connection, stack_id: str, limit: int) -> None:
    """The stack has been given its nodes: the tree that it belongs to must not have become too big."""
    if limit < 0:
        return
    whole = _tree(_root(connection, stack_id))
    kinds = _NODE.kind.not_in([NodeKind.BARRIER, NodeKind.CLEANUP])
    count = sa.select(sa.func.count()).select_from(t.nodes).where(_NODE.stack_id.in_(sa.select(whole.c.id)), kinds)
    if connection.execute(count).scalar_one() > limit:
        raise exceeded("Maximum resources per stack exceeded.", f"with all stacks inside, at most {limit} may be")


_EVENTS = "max_events_per_stack"


def options(max_events: int) -> dict[str, object]:
    """Return the execution options of an engine whose connections keep so many events of each stack; 0 or less: all."""
    return {_EVENTS: max_events}


def events(connection: sa.Connection, stack_ids: Iterable[str]) -> None:
    """Drop the oldest events of these stacks beyond the number that the connection keeps."""
    limit = connection.get_execution_options().get(_EVENTS, -1)
    if limit <= 0:
        return
    event = t.events.c
    for stack_id in stack_ids:
        kept = sa.select(event.id).where(event.stack_id == stack_id).order_by(event.id.desc()).offset(limit).limit(1)
        oldest = connection.execute(kept).scalar()
        if oldest is not None:
            connection.execute(sa.delete(t.events).where(event.stack_id == stack_id, event.id <= oldest))


def exceeded(what: str, hint: str = "") -> errors.UserError:
    return errors.UserError(f"Request limit exceeded: {what}", kind="RequestLimitExceeded", hint=hint)


def _refuse_more_software(connection: sa.Connection, table: sa.Table, project: str, limit: int, words: str) -> None:
    count = sa.select(sa.func.count()).select_from(table).where(table.c.project == project)
    _refuse_more(connection, count, limit,
                 f"You have reached the maximum {words} per tenant, {limit}. Please delete some {words}.")


def _refuse_more(connection: sa.Connection, count: sa.Select[Any], limit: int, text: str) -> None:
    if limit < 0:
        return
    if connection.execute(count).scalar_one() >= limit:
        raise exceeded(text)


def _root(connection: sa.Connection, stack_id: str) -> str:
    above = sa.select(_STACK.id, _STACK.owner_id).where(_STACK.id == stack_id).cte("above", recursive=True)
    outer = t.stacks.alias()
    above = above.union_all(sa.select(outer.c.id, outer.c.owner_id).join(above, outer.c.id == above.c.owner_id))
    found = connection.execute(sa.select(above.c.id).where(above.c.owner_id.is_(None))).scalar()
    return str(found or stack_id)


def _tree(root: str) -> sa.CTE:
    tree = sa.select(_STACK.id).where(_STACK.id == root).cte("tree", recursive=True)
    inner = t.stacks.alias()
    return tree.union_all(sa.select(inner.c.id).join(tree, inner.c.owner_id == tree.c.id).where(inner.c.tomb == ""))
