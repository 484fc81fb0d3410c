"""Limits on the number of stacks, snapshots, resources, configs, deployments, events and inputs in the history.

A limit is checked in the transaction that adds a row. Write transactions hold the write lane, so no race adds one too
many. A limit below zero means no limit, and costs nothing.
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
    """Raise UserError if the project may not have one more root stack."""
    roots = (_STACK.project == project, _STACK.tomb == "", _STACK.owner_id.is_(None))
    _refuse_more(connection, sa.select(sa.func.count()).select_from(t.stacks).where(*roots), limit,
                 f"You have reached the maximum stacks per tenant, {limit}. Please delete some stacks.")


def snapshots(connection: sa.Connection, stack_id: str, limit: int) -> None:
    """Raise UserError if the stack may not have one more snapshot."""
    count = sa.select(sa.func.count()).select_from(t.snapshots).where(t.snapshots.c.stack_id == stack_id)
    _refuse_more(connection, count, limit,
                 f"You have reached the maximum snapshots per stack, {limit}. Please delete some snapshots.")


def software_configs(connection: sa.Connection, project: str, limit: int) -> None:
    """Raise UserError if the project may not have one more software config."""
    _refuse_more_software(connection, t.software_configs, project, limit, "software configs")


def software_deployments(connection: sa.Connection, project: str, limit: int) -> None:
    """Raise UserError if the project may not have one more software deployment."""
    _refuse_more_software(connection, t.software_deployments, project, limit, "software deployments")


def resources(connection: sa.Connection, stack_id: str, limit: int) -> None:
    """Raise UserError if the stack tree has too many resources, now that the stack has its nodes."""
    if limit < 0:
        return
    whole = tree(_root(connection, stack_id))
    kinds = _NODE.kind.not_in([NodeKind.BARRIER, NodeKind.CLEANUP])
    count = sa.select(sa.func.count()).select_from(t.nodes).where(_NODE.stack_id.in_(sa.select(whole.c.id)), kinds)
    if connection.execute(count).scalar_one() > limit:
        raise exceeded("Maximum resources per stack exceeded.", f"with all nested stacks, at most {limit} may be")


_EVENTS = "max_events_per_stack"


_HISTORY = "max_operation_history"
# Inputs of a stack that a connection without this option keeps.
HISTORY = 20


def options(max_events: int, max_history: int) -> dict[str, object]:
    """Return the execution options of an engine whose connections keep so many events and inputs of each stack.

    `max_events` of 0 or less keeps all events; `max_history` of 0 keeps no history.
    """
    return {_EVENTS: max_events, _HISTORY: max_history}


def most_history(connection: sa.Connection) -> int:
    """Return how many inputs of a stack the connection keeps."""
    found: int = connection.get_execution_options().get(_HISTORY, HISTORY)
    return found


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


def tree(root: str) -> sa.CTE:
    """Return the ids of a stack and of those nested in it, at any depth."""
    found = sa.select(_STACK.id).where(_STACK.id == root).cte("tree", recursive=True)
    inner = t.stacks.alias()
    return found.union_all(sa.select(inner.c.id).join(found, inner.c.owner_id == found.c.id).where(inner.c.tomb == ""))
