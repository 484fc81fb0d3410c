"""Lists of stacks: filtered, ordered and cut into pages by the database.

A page begins after its marker, by the marker's position in the order: stacks that are created or deleted between two pages
cause neither gaps nor repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, Status
from isotherm.store import tables as t

Row = sa.RowMapping
_STACK, _TAG = t.stacks.c, t.stack_tags.c

# Stacks that were never updated come first.
_ORDERS: dict[str, sa.ColumnElement[Any]] = {
    "stack_name": _STACK.name,
    # By the name of the status, not by its number.
    "stack_status": sa.case({Status.COMPLETE: 0, Status.FAILED: 1, Status.IN_PROGRESS: 2}, value=_STACK.status),
    "creation_time": _STACK.created_at,
    "updated_time": sa.func.coalesce(_STACK.updated_at, -1.0),
}
ORDERS = tuple(_ORDERS)
TAG_CHARS = 80


class Filters(msgspec.Struct, frozen=True):
    """Conditions for stacks: one of the values; None: any."""

    id: Sequence[str] | None = None
    name: Sequence[str] | None = None
    project: Sequence[str] | None = None
    action: Sequence[str] | None = None
    # `COMPLETE`, or `CREATE_COMPLETE`.
    status: Sequence[str] | None = None
    reason: Sequence[str] | None = None
    username: Sequence[str] | None = None
    owner_id: Sequence[str] | None = None
    disable_rollback: Sequence[bool] | None = None
    timeout_mins: Sequence[int] | None = None
    # All of these; any of these; not all of these; none of these.
    tags: Sequence[str] | None = None
    tags_any: Sequence[str] | None = None
    not_tags: Sequence[str] | None = None
    not_tags_any: Sequence[str] | None = None


class StackQuery(msgspec.Struct, frozen=True):
    """A request for a page of stacks."""

    filters: Filters = Filters()
    deleted: bool = False
    nested: bool = False
    # Stacks with one of these tags are left out.
    hidden_tags: Sequence[str] = ()
    orders: Sequence[str] = ()
    # None: the default of the order.
    descending: bool | None = None
    limit: int | None = None
    # The id of the stack after which the page begins; an unknown one is ignored.
    marker: str | None = None


def page(connection: sa.Connection, project: str | None, query: StackQuery) -> Sequence[Row]:
    """Return a page of the list. Without `project`: of all projects."""
    found = chosen(sa.select(t.stacks), project, query)
    keys = [_ORDERS[one] for one in dict.fromkeys(query.orders)]
    descending = (not keys) if query.descending is None else query.descending
    order = [*(keys or [_STACK.created_at]), _STACK.id]
    if query.marker is not None:
        position = connection.execute(sa.select(*order).where(_STACK.id == query.marker)).one_or_none()
        found = found if position is None else found.where(_beyond(order, tuple(position), descending))
    found = found.order_by(*(key.desc() if descending else key for key in order))
    return connection.execute(found.limit(query.limit)).mappings().all()


def count(connection: sa.Connection, project: str | None, query: StackQuery) -> int:
    """Return how many stacks there are on all pages."""
    found = chosen(sa.select(sa.func.count()).select_from(t.stacks), project, query)
    return int(connection.execute(found).scalar_one())


def write_tags(connection: sa.Connection, stack_id: str, tags: str) -> None:
    """Write the searchable tags of a stack. `tags` is the JSON text of its row."""
    if tags != "[]":
        rows = [{"stack_id": stack_id, "tag": tag} for tag in sorted(set(msgspec.json.decode(tags, type=list[str])))]
        if any(len(row["tag"]) > TAG_CHARS for row in rows):
            raise errors.UserError(f"A tag may have at most {TAG_CHARS} characters.")
        connection.execute(sa.insert(t.stack_tags), rows)


def forget_tags(connection: sa.Connection, stack_id: str) -> None:
    connection.execute(sa.delete(t.stack_tags).where(_TAG.stack_id == stack_id))


def chosen(select: sa.Select[Any], project: str | None, query: StackQuery) -> sa.Select[Any]:
    wanted: list[sa.ColumnElement[bool]] = [] if project is None else [_STACK.project == project]
    if not query.deleted:
        wanted.append(_STACK.tomb == "")
    if not query.nested:
        wanted.append(_STACK.owner_id.is_(None))
    if query.hidden_tags:
        wanted.append(~_tagged(query.hidden_tags))
    return select.where(*wanted, *_plain(query.filters), *_by_tags(query.filters))


def _plain(filters: Filters) -> list[sa.ColumnElement[bool]]:
    columns: dict[str, sa.ColumnElement[Any]] = {
        "id": _STACK.id, "name": _STACK.name, "project": _STACK.project, "reason": _STACK.reason,
        "username": _STACK.username, "owner_id": _STACK.owner_id, "disable_rollback": _STACK.disable_rollback,
    }
    found: list[sa.ColumnElement[bool]] = [
        column.in_(given) for name, column in columns.items() if (given := getattr(filters, name)) is not None
    ]
    if filters.timeout_mins is not None:
        found.append(_STACK.timeout_s.in_([60.0 * minutes for minutes in filters.timeout_mins]))
    if filters.action is not None:
        found.append(_STACK.action.in_([Action[one] for one in filters.action if one in Action.__members__]))
    if filters.status is not None:
        found.append(sa.or_(sa.false(), *(_in_state(one) for one in filters.status)))
    return found


def _in_state(word: str) -> sa.ColumnElement[bool]:
    if word in Status.__members__:
        return _STACK.status == Status[word]
    action, _, status = word.partition("_")
    if action not in Action.__members__ or status not in Status.__members__:
        return sa.false()
    return sa.and_(_STACK.action == Action[action], _STACK.status == Status[status])


def _by_tags(filters: Filters) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if filters.tags is not None:
        found.append(_has_all(filters.tags))
    if filters.tags_any is not None:
        found.append(_tagged(filters.tags_any))
    if filters.not_tags is not None:
        found.append(~_has_all(filters.not_tags))
    if filters.not_tags_any is not None:
        found.append(~_tagged(filters.not_tags_any))
    return found


def _has_all(tags: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.and_(sa.true(), *(_tagged([tag]) for tag in dict.fromkeys(tags)))


def _tagged(tags: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a stack has one of the tags."""
    return sa.exists().where(_TAG.stack_id == _STACK.id, _TAG.tag.in_(tags))


def _beyond(order: Sequence[sa.ColumnElement[Any]], position: Sequence[Any], descending: bool) -> sa.ColumnElement[bool]:
    """Return the condition that a stack comes after a position: by the first key, or by the next if that is equal."""
    choices = []
    for index, (key, value) in enumerate(zip(order, position, strict=True)):
        same = [one == other for one, other in zip(order[:index], position, strict=False)]
        choices.append(sa.and_(*same, key < value if descending else key > value))
    return sa.or_(*choices)
