"""Lists of stacks, as somebody wants to see them: filtered, ordered and cut into pages by the database.

A page begins after its marker, wherever that one stands in the order: nothing is skipped or told twice because something
else came or went in between.
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

# What has never been changed comes before what has.
_ORDERS: dict[str, sa.ColumnElement[Any]] = {
    "stack_name": _STACK.name,
    # By the word, not by our number for it.
    "stack_status": sa.case({Status.COMPLETE: 0, Status.FAILED: 1, Status.IN_PROGRESS: 2}, value=_STACK.status),
    "creation_time": _STACK.created_at,
    "updated_time": sa.func.coalesce(_STACK.updated_at, -1.0),
}
ORDERS = tuple(_ORDERS)
TAG_CHARS = 80


class Filters(msgspec.Struct, frozen=True):
    """What stacks have to be like. None: it does not matter; several values: one of them."""

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


class Wish(msgspec.Struct, frozen=True):
    """Which stacks, in which order, and how many of them."""

    filters: Filters = Filters()
    deleted: bool = False
    nested: bool = False
    # Stacks with one of these tags are left out.
    hidden_tags: Sequence[str] = ()
    orders: Sequence[str] = ()
    # None: as is usual for the order.
    descending: bool | None = None
    limit: int | None = None
    # The id of the stack after which the page begins; one that is not there is passed over.
    marker: str | None = None


def page(connection: sa.Connection, project: str | None, wish: Wish) -> Sequence[Row]:
    """A page of the list. No `project`: of all projects."""
    query = _chosen(sa.select(t.stacks), project, wish)
    keys = [_ORDERS[one] for one in dict.fromkeys(wish.orders)]
    descending = (not keys) if wish.descending is None else wish.descending
    order = [*(keys or [_STACK.created_at]), _STACK.id]
    if wish.marker is not None:
        place = connection.execute(sa.select(*order).where(_STACK.id == wish.marker)).one_or_none()
        query = query if place is None else query.where(_beyond(order, tuple(place), descending))
    query = query.order_by(*(key.desc() if descending else key for key in order))
    return connection.execute(query.limit(wish.limit)).mappings().all()


def count(connection: sa.Connection, project: str | None, wish: Wish) -> int:
    """How many there are on all pages."""
    query = _chosen(sa.select(sa.func.count()).select_from(t.stacks), project, wish)
    return int(connection.execute(query).scalar_one())


def write_tags(connection: sa.Connection, stack_id: str, tags: str) -> None:
    """`tags` is the text that the stack's row has of them."""
    if tags != "[]":
        rows = [{"stack_id": stack_id, "tag": tag} for tag in sorted(set(msgspec.json.decode(tags, type=list[str])))]
        if any(len(row["tag"]) > TAG_CHARS for row in rows):
            raise errors.UserError(f"A tag may have at most {TAG_CHARS} characters.")
        connection.execute(sa.insert(t.stack_tags), rows)


def forget_tags(connection: sa.Connection, stack_id: str) -> None:
    connection.execute(sa.delete(t.stack_tags).where(_TAG.stack_id == stack_id))


def _chosen(query: sa.Select[Any], project: str | None, wish: Wish) -> sa.Select[Any]:
    wanted: list[sa.ColumnElement[bool]] = [] if project is None else [_STACK.project == project]
    if not wish.deleted:
        wanted.append(_STACK.tomb == "")
    if not wish.nested:
        wanted.append(_STACK.owner_id.is_(None))
    if wish.hidden_tags:
        wanted.append(~_tagged(wish.hidden_tags))
    return query.where(*wanted, *_plain(wish.filters), *_by_tags(wish.filters))


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
    """It has one of these."""
    return sa.exists().where(_TAG.stack_id == _STACK.id, _TAG.tag.in_(tags))


def _beyond(order: Sequence[sa.ColumnElement[Any]], place: Sequence[Any], descending: bool) -> sa.ColumnElement[bool]:
    """Further on in the order than this place: by the first key, or by the next where the first is the same, and so on."""
    choices = []
    for index, (key, value) in enumerate(zip(order, place, strict=True)):
        same = [one == other for one, other in zip(order[:index], place, strict=False)]
        choices.append(sa.and_(*same, key < value if descending else key > value))
    return sa.or_(*choices)
