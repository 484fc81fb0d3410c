"""The stacks around a stack, as far as they say how it is watched: what holds for a stack holds for those inside it."""

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
# Looked for so far up.
_DEPTH = 32
_NEXT = (
    sa.select(_STACK.id, _STACK.name, _STACK.owner_id, _WATCH.policy, _WATCH.mode, _WATCH.overrides)
    .outerjoin(t.watches, _WATCH.stack_id == _STACK.id).where(_STACK.id == sa.bindparam("stack_id"))
)


class Around(msgspec.Struct, frozen=True, gc=False):
    """A stack around another, and the resource of it that the other is, with what was said of both."""

    policy: DriftPolicy | None
    mode: WatchMode
    overrides: dict[str, int]
    name: str
    metadata: str


def stacks(connection: sa.Connection, watch: Watch) -> Iterator[Around]:
    """From the inside to the outside."""
    inner_id, inner, around = watch.stack_id, watch.stack_name, watch.owner_id
    for _ in range(_DEPTH):
        found = None if around is None else connection.execute(_NEXT, {"stack_id": around}).one_or_none()
        if found is None:
            return
        name = _resource_name(found.name, inner)
        yield Around(None if found.policy is None else DriftPolicy(found.policy), WatchMode(found.mode or WatchMode.ACTIVE),
                     msgspec.json.decode(found.overrides or "{}"), name, _metadata(connection, found.id, name, inner_id))
        inner_id, inner, around = found.id, found.name, found.owner_id


def _resource_name(outer: str, inner: str) -> str:
    """Return the resource that a stack inside is made by: the stack is named after it."""
    return inner.removeprefix(f"{outer}-").rpartition("-")[0]


def name_inside(connection: sa.Connection, stack_id: str, owner_id: str) -> str | None:
    """Find the resource of a stack inside whose creation was interrupted, so that its row does not know the stack."""
    names = dict(connection.execute(sa.select(_STACK.id, _STACK.name).where(_STACK.id.in_([stack_id, owner_id]))).all())
    if len(names) < 2:
        return None
    name = _resource_name(names[owner_id], names[stack_id])
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
    """Let something new hold for this stack and for those inside it: it is their turn, and repairs begin to count anew.

    An observer that looks at one of them just now loses its lease: it would write the counts that it has read before.
    What a resource calls its object may be the id of any stack: only one that has this owner is meant.
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
    """The outermost stack around this one, and all stacks on the way there."""
    way = [stack_id]
    for _ in range(_DEPTH):
        around = connection.execute(sa.select(_STACK.owner_id).where(_STACK.id == way[-1])).scalar()
        if around is None:
            break
        way.append(around)
    return way[-1], way[:-1]
