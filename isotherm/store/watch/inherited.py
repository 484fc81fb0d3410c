"""Watch settings that a nested stack inherits from the stacks that contain it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import sqlalchemy as sa

from isotherm.states import DriftPolicy, WatchMode
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.watch import repair_records
from isotherm.store.watch.schedule import Watch

_STACK, _WATCH, _VERSION = t.stacks.c, t.watches.c, t.resources.c
# Maximum number of stacks that are read on the way to the root stack.
_DEPTH = 32
_NEXT = (
    sa.select(_STACK.id, _STACK.name, _STACK.owner_id, _WATCH.policy, _WATCH.mode, _WATCH.overrides)
    .outerjoin(t.watches, _WATCH.stack_id == _STACK.id).where(_STACK.id == sa.bindparam("stack_id"))
)


class OuterWatch(msgspec.Struct, frozen=True, gc=False):
    """The watch settings of a stack that contains another, with the name and metadata of the resource between them."""

    policy: DriftPolicy | None
    mode: WatchMode
    overrides: dict[str, int]
    name: str
    metadata: str


def stacks(connection: sa.Connection, watch: Watch) -> Iterator[OuterWatch]:
    """Yield the stacks that contain a stack, from its parent to the root stack."""
    inner_id, inner, around = watch.stack_id, watch.stack_name, watch.owner_id
    for _ in range(_DEPTH):
        found = None if around is None else connection.execute(_NEXT, {"stack_id": around}).one_or_none()
        if found is None:
            return
        name = _present_name(connection, found.id, _resource_name(found.name, inner))
        policy = None if found.policy is None else DriftPolicy(found.policy)
        yield OuterWatch(policy, WatchMode(found.mode or WatchMode.ACTIVE), msgspec.json.decode(found.overrides or "{}"),
                         name, _metadata(connection, found.id, name, inner_id))
        inner_id, inner, around = found.id, found.name, found.owner_id


def _resource_name(outer: str, inner: str) -> str:
    """Return the name of the parent resource of a nested stack: the stack is named after it."""
    return inner.removeprefix(f"{outer}-").rpartition("-")[0]


def _present_name(connection: sa.Connection, stack_id: str, name: str) -> str:
    """Return the name that a resource has now, if a move has given it another since its nested stack was named after it."""
    moved = sa.select(_VERSION.name).where(_VERSION.stack_id == stack_id, _VERSION.made_as == name)
    return connection.execute(moved).scalars().first() or name


def interrupted_parent(connection: sa.Connection, stack_id: str, owner_id: str) -> str | None:
    """Find the parent resource of a nested stack by name: an interrupted creation has not stored the stack's id."""
    names = dict(connection.execute(sa.select(_STACK.id, _STACK.name).where(_STACK.id.in_([stack_id, owner_id]))).all())
    if len(names) < 2:
        return None
    name = _present_name(connection, owner_id, _resource_name(names[owner_id], names[stack_id]))
    interrupted = sa.select(_VERSION.id).where(
        _VERSION.stack_id == owner_id, _VERSION.name == name, _VERSION.physical_id.is_(None),
        _VERSION.superseded == sa.false())
    return name if connection.execute(interrupted).first() else None


def _metadata(connection: sa.Connection, stack_id: str, name: str, physical_id: str) -> str:
    found = connection.execute(
        sa.select(_VERSION.id, _VERSION.metadata)
        .where(_VERSION.stack_id == stack_id, _VERSION.name == name, _VERSION.physical_id == physical_id)).first()
    return "" if found is None else sealing.of(connection).open(found.metadata, "metadata", found.id, stack_id) or ""


def renew(connection: sa.Connection, stack_id: str, owner_id: str | None, now: float) -> None:
    """Make a stack and its nested stacks due and reset their repair counts, after their watch settings changed.

    Leases of observers on them end, because an observer would write back the counts that it has read before. The physical
    id of a resource may be the id of any stack, so only a stack with this owner is changed.
    """
    whole = (_STACK.id == stack_id, _STACK.owner_id == owner_id, _STACK.tomb == "")
    tree = sa.select(_STACK.id).where(*whole).cte("tree", recursive=True)
    inner = t.stacks.alias()
    tree = tree.union_all(sa.select(inner.c.id).join(tree, inner.c.owner_id == tree.c.id).where(inner.c.tomb == ""))
    inside = list(connection.execute(sa.select(tree.c.id)).scalars())
    if inside:
        connection.execute(
            sa.update(t.watches).where(rows.among(_WATCH.stack_id)).values(due=now, worker=None, fence=_WATCH.fence + 1),
            rows.ids(inside))
        repair_records.reset(connection, inside)


def root(connection: sa.Connection, stack_id: str) -> tuple[str, list[str]]:
    """Return the root stack of a stack, and the stacks on the way from it to the root stack."""
    way = [stack_id]
    for _ in range(_DEPTH):
        around = connection.execute(sa.select(_STACK.owner_id).where(_STACK.id == way[-1])).scalar()
        if around is None:
            break
        way.append(around)
    return way[-1], way[:-1]
