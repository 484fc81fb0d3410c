"""Reads for the list of stacks and the head of a stack: groups by need of attention, hooks, first failures.

Each read is bounded, however large the stacks are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeKind, NodeState, ObservationResult, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.reads import stack_list
from isotherm.store.reads.stack_list import StackQuery

Row = sa.RowMapping
_STACK, _HOOK, _SEEN, _NODE, _EVENT, _VERSION = (
    t.stacks.c, t.hooks.c, t.observations.c, t.nodes.c, t.events.c, t.resources.c)
# Most events that are counted, and that are searched for the first failure of an operation.
MOST_EVENTS = 10_000
_SEARCHED = 20_000


class Attention(IntEnum):
    """The groups of stacks, the most urgent first."""

    FAILED = 0
    WAITS = 1
    AT_WORK = 2
    DRIFT = 3
    IN_ORDER = 4


_WAITS = sa.exists().where(
    _HOOK.stack_id == _STACK.id, _HOOK.operation_id == _STACK.operation_id, _HOOK.cleared == sa.false())
_DRIFTS = sa.exists().where(_SEEN.stack_id == _STACK.id, _SEEN.drifted_since.is_not(None))
_GROUP: sa.ColumnElement[int] = sa.case(
    (_STACK.status == Status.FAILED, int(Attention.FAILED)),
    (sa.and_(_STACK.status == Status.IN_PROGRESS, _WAITS), int(Attention.WAITS)),
    (_STACK.status == Status.IN_PROGRESS, int(Attention.AT_WORK)),
    (_DRIFTS, int(Attention.DRIFT)),
    else_=int(Attention.IN_ORDER),
)
_WHEN = sa.func.coalesce(_STACK.updated_at, _STACK.created_at)


class ListOrder(IntEnum):
    """The orders of the list."""

    ATTENTION = 0
    NAME = 1
    UPDATED = 2


class Chosen(msgspec.Struct, frozen=True):
    """The stacks of a page: filters, group, a part of a text, order, and the position after which it begins."""

    query: StackQuery
    group: Attention | None = None
    search: str = ""
    order: ListOrder = ListOrder.ATTENTION
    after: tuple[int, float, str, str] | None = None
    limit: int = 50


class Listed(msgspec.Struct, frozen=True):
    """One stack of the list, with its group and its position."""

    row: Row
    group: Attention
    position: tuple[int, float, str, str]


def page(connection: sa.Connection, project: str | None, chosen: Chosen) -> list[Listed]:
    group, when = _GROUP.label("attention"), _WHEN.label("moved_at")
    found = _matching(sa.select(t.stacks, group, when), project, chosen)
    if chosen.group is not None:
        found = found.where(_GROUP.in_([int(chosen.group)]))
    inner = found.subquery()
    keys = _keys(inner.c, chosen.order)
    query = sa.select(inner)
    if chosen.after is not None:
        query = query.where(_beyond(keys, chosen.after))
    query = query.order_by(*(key.desc() if descending else key for key, descending, _ in keys)).limit(chosen.limit)
    return [Listed(row, Attention(row["attention"]), (row["attention"], row["moved_at"], row["name"], row["id"]))
            for row in connection.execute(query).mappings()]


def counts(connection: sa.Connection, project: str | None, chosen: Chosen) -> dict[Attention, int]:
    """Count the stacks by group."""
    found = _matching(sa.select(_GROUP.label("attention")), project, chosen).subquery()
    query = sa.select(found.c.attention, sa.func.count()).group_by(found.c.attention)
    return {Attention(group): count for group, count in connection.execute(query)}


def _keys(columns: Any, order: ListOrder) -> list[tuple[Any, bool, int]]:
    """Return the keys of an order: column, whether it descends, and its place in a position."""
    by_id, by_time, by_name = (columns.id, False, 3), (columns.moved_at, True, 1), (columns.name, False, 2)
    if order is ListOrder.NAME:
        return [by_name, by_id]
    return [by_time, by_id] if order is ListOrder.UPDATED else [(columns.attention, False, 0), by_time, by_id]


def _beyond(keys: Sequence[tuple[Any, bool, int]], position: Sequence[Any]) -> sa.ColumnElement[bool]:
    choices = []
    for index, (key, descending, place) in enumerate(keys):
        same = [one == position[where] for one, _, where in keys[:index]]
        choices.append(sa.and_(*same, key < position[place] if descending else key > position[place]))
    return sa.or_(*choices)


def _matching(select: sa.Select[Any], project: str | None, chosen: Chosen) -> sa.Select[Any]:
    found = stack_list.chosen(select, project, chosen.query)
    if not chosen.search:
        return found
    text = chosen.search.lower()
    tag = t.stack_tags.c
    tagged = sa.exists().where(tag.stack_id == _STACK.id, sa.func.lower(tag.tag).contains(text, autoescape=True))
    return found.where(sa.or_(sa.func.lower(_STACK.name).contains(text, autoescape=True),
                              sa.func.lower(_STACK.username).contains(text, autoescape=True), tagged))


class Remark(msgspec.Struct, frozen=True):
    """Facts of a row of the list beside the stack itself."""

    operation: Row | None
    drifted: int = 0
    gone: int = 0
    hooks: int = 0
    # The first resource that waits at a hook, is in progress, or has drifted: name and reason.
    resource: str = ""
    reason: str = ""
    # The end of the last round of the observer.
    observed: float | None = None


def remark(connection: sa.Connection, stack: Row, group: Attention) -> Remark:
    operation = connection.execute(
        sa.select(t.operations).where(t.operations.c.id == stack["operation_id"])).mappings().one_or_none()
    drifted, gone = drift(connection, stack["id"])
    observed = connection.execute(_OBSERVED, {"stack_id": stack["id"]}).scalar()
    found = Remark(operation, drifted, gone, observed=observed)
    if group is Attention.WAITS:
        waiting = hooks_of(connection, stack)
        first = waiting[0] if waiting else None
        return found if first is None else msgspec.structs.replace(
            found, hooks=len(waiting), resource=first["name"], reason=first["hook"])
    if group is Attention.AT_WORK:
        busy = connection.execute(_BUSY, {"stack_id": stack["id"]}).first()
        return found if busy is None else msgspec.structs.replace(found, resource=busy[0], reason=busy[1] or "")
    if group is Attention.DRIFT:
        seen = connection.execute(_FIRST_DRIFTED, {"stack_id": stack["id"]}).first()
        return found if seen is None else msgspec.structs.replace(
            found, resource=seen[0], reason="gone" if seen[1] == ObservationResult.GONE else "drifted")
    return found


_BUSY = (
    sa.select(_NODE.name, _NODE.reason)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.due.is_not(None),
           _NODE.state.in_([NodeState.WAITING, NodeState.RUNNING]), _NODE.kind != NodeKind.BARRIER)
    .order_by(_NODE.due).limit(1)
)
_CURRENT = sa.and_(_VERSION.id == _SEEN.resource_id, _VERSION.superseded == sa.false())
_OBSERVED = sa.select(t.watches.c.observed_at).where(t.watches.c.stack_id == sa.bindparam("stack_id"))
_FIRST_DRIFTED = (
    sa.select(_VERSION.name, _SEEN.result).select_from(t.observations).join(t.resources, _CURRENT)
    .where(_SEEN.stack_id == sa.bindparam("stack_id"), _SEEN.drifted_since.is_not(None))
    .order_by(_SEEN.drifted_since).limit(1)
)
_DRIFT = (
    sa.select(_SEEN.result, sa.func.count()).select_from(t.observations).join(t.resources, _CURRENT)
    .where(_SEEN.stack_id == sa.bindparam("stack_id"), _SEEN.drifted_since.is_not(None)).group_by(_SEEN.result)
)
_DRIFTED = (
    sa.select(_SEEN.resource_id, _SEEN.result).select_from(t.observations).join(t.resources, _CURRENT)
    .where(_SEEN.stack_id == sa.bindparam("stack_id"), _SEEN.drifted_since.is_not(None)).limit(sa.bindparam("most"))
)


def drift(connection: sa.Connection, stack_id: str) -> tuple[int, int]:
    """Return the number of drifted resources, and of those that are gone. Resources in sync are not read."""
    found: dict[int, int] = {row[0]: row[1] for row in connection.execute(_DRIFT, {"stack_id": stack_id})}
    gone = found.pop(int(ObservationResult.GONE), 0)
    return sum(found.values()), gone


def drifted(connection: sa.Connection, stack_id: str, most: int) -> dict[int, str]:
    """Return `drifted` or `gone` by version, for at most so many of them."""
    found = connection.execute(_DRIFTED, {"stack_id": stack_id, "most": most})
    return {row[0]: "gone" if row[1] == ObservationResult.GONE else "drifted" for row in found}


_HOOKS = (
    sa.select(_NODE.id, _NODE.name, _HOOK.hook, _HOOK.created_at)
    .select_from(t.hooks).join(t.nodes, _NODE.id == _HOOK.node_id)
    .where(_HOOK.stack_id == sa.bindparam("stack_id"), _HOOK.operation_id == sa.bindparam("operation_id"),
           _HOOK.cleared == sa.false())
    .order_by(_HOOK.created_at, _NODE.id).limit(1000)
)


def hooks_of(connection: sa.Connection, stack: Row) -> Sequence[Row]:
    """Return the hooks that wait for the user, at most a thousand."""
    bound = {"stack_id": stack["id"], "operation_id": stack["operation_id"]}
    return connection.execute(_HOOKS, bound).mappings().all()


def events(connection: sa.Connection, stack_id: str) -> int:
    """Count the events of a stack; one more than MOST_EVENTS stands for more."""
    some = sa.select(_EVENT.id).where(_EVENT.stack_id == stack_id).limit(MOST_EVENTS + 1).subquery()
    return int(connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def snapshots(connection: sa.Connection, stack_id: str) -> int:
    query = sa.select(sa.func.count()).select_from(t.snapshots).where(t.snapshots.c.stack_id == stack_id)
    return int(connection.execute(query).scalar_one())


def first_failure(connection: sa.Connection, stack_id: str, operation_id: str) -> Row | None:
    """Return the event of the first resource that failed in an operation, if it is among the newest events."""
    newest = sa.select(t.events).where(_EVENT.stack_id == stack_id).order_by(_EVENT.id.desc()).limit(_SEARCHED).subquery()
    of = newest.c
    query = (sa.select(newest).where(of.operation_id == operation_id, of.status == Status.FAILED, of.name != "")
             .order_by(of.id).limit(1))
    return connection.execute(query).mappings().one_or_none()


def path(connection: sa.Connection, stack: Row) -> list[tuple[str, str, str | None]]:
    """Return the outer stacks of a stack and itself, outermost first: id, name, and the resource that it is."""
    found = []
    at: Any = (stack["id"], stack["name"], stack["owner_id"])
    while at is not None:
        owner = at[2]
        resource = None if owner is None else connection.execute(
            sa.select(_VERSION.name).where(_VERSION.stack_id == owner, _VERSION.physical_id == at[0])).scalars().first()
        found.append((at[0], at[1], resource))
        at = None if owner is None else connection.execute(
            sa.select(_STACK.id, _STACK.name, _STACK.owner_id).where(_STACK.id == owner)).one_or_none()
    return found[::-1]


_PLACE = (
    sa.select(_STACK.id, _STACK.owner_id, _VERSION.name)
    .outerjoin(t.resources, sa.and_(_VERSION.stack_id == _STACK.owner_id, _VERSION.physical_id == _STACK.id))
    .where(rows.among(_STACK.id))
)


def places(connection: sa.Connection, stack_ids: Collection[str], outer: str) -> dict[str, list[str]]:
    """Return where nested stacks are in an outer one: the resources that lead to each, outermost first."""
    known: dict[str, tuple[str | None, str]] = {}
    asked = set(stack_ids) - {outer}
    while asked:
        found = {id_: (owner, name or "") for id_, owner, name in connection.execute(_PLACE, rows.ids(asked))}
        known.update(found)
        asked = {owner for owner, _ in found.values() if owner is not None} - known.keys() - {outer}
    return {id_: _steps(id_, known) for id_ in stack_ids}


def _steps(stack_id: str, known: Mapping[str, tuple[str | None, str]]) -> list[str]:
    found: list[str] = []
    at: str | None = stack_id
    while at is not None and at in known:
        at, name = known[at]
        found.insert(0, name)
    return found


def generation(connection: sa.Connection, operation_id: str | None) -> int | None:
    """Return the generation of an operation, if there still is one."""
    query = sa.select(t.operations.c.generation).where(t.operations.c.id == operation_id)
    return connection.execute(query).scalar()


def operations(connection: sa.Connection, stack_id: str, before: int | None, limit: int) -> Sequence[Row]:
    """Return the operations of a stack before a generation, newest first."""
    of = t.operations.c
    query = sa.select(t.operations).where(of.stack_id == stack_id)
    if before is not None:
        query = query.where(of.generation < before)
    return connection.execute(query.order_by(of.generation.desc()).limit(limit)).mappings().all()


_LEASES = (
    sa.select(_NODE.name, _NODE.stack_id, _STACK.name.label("stack_name"), _NODE.worker, _NODE.fence, _NODE.lease_until)
    .join(t.stacks, _STACK.id == _NODE.stack_id)
    .where(_NODE.state == NodeState.RUNNING, _NODE.lease_until.is_not(None)).order_by(_NODE.lease_until)
    .limit(sa.bindparam("most"))
)


def leases(connection: sa.Connection, most: int) -> Sequence[Row]:
    """Return the running nodes whose leases end first."""
    return connection.execute(_LEASES, {"most": most}).mappings().all()


def at_work(connection: sa.Connection, most: int) -> Sequence[Row]:
    """Return the stacks of all projects with an operation in progress, the longest at work first."""
    query = (sa.select(t.stacks, _WHEN.label("moved_at")).where(_STACK.status == Status.IN_PROGRESS, _STACK.tomb == "")
             .order_by(_WHEN, _STACK.id).limit(most))
    return connection.execute(query).mappings().all()


