"""Superseded versions that still exist: a plan that wants exactly such a version makes it current again (S2.14).

A version may have been replaced together with its requirements, although its own definition never changed. So several
versions of a name may match the template; the one to choose uses the current versions of its requirements. For that,
resources are considered after their requirements. Only the row of a version says whether it matches: the state of its
node tells how far an older operation came, not what the object is like.

An operation with the input of the last complete one also takes up *originals*: the versions of that time. Operations in
between may have applied other definitions to them, in place or without any effect on the object (I15).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import HARMLESS, Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Operation, Wanted
from isotherm.store.transitions import nodes, versions
from isotherm.store.versions.current import Slot

_NODE, _VERSION = t.nodes.c, t.resources.c


@dataclass(frozen=True, slots=True)
class SupersededVersion:
    """A version that is no longer wanted and still exists; also a current version that is compared with such versions."""

    id: int
    name: str
    digest: str | None
    # Not failed, and its deletion has not begun.
    sound: bool
    requires: frozenset[int]
    created_at: float

    def fits(self, digest: str, present: Collection[int]) -> bool:
        """Return whether the version is as wanted, and uses only current versions."""
        return self.is_wanted(digest) and self.requires.issubset(present)

    def is_wanted(self, digest: str) -> bool:
        """Return whether this definition was applied to the version, and no failure requires its replacement."""
        return self.sound and self.digest == digest


def of(connection: sa.Connection, stack_id: str) -> dict[str, list[SupersededVersion]]:
    """Return the superseded versions of a stack by name."""
    found: dict[str, list[SupersededVersion]] = {}
    for one in _read(connection, sa.and_(_VERSION.stack_id == stack_id, _VERSION.superseded == sa.true())):
        found.setdefault(one.name, []).append(one)
    return found


def _read(connection: sa.Connection, which: sa.ColumnElement[bool], ids: Iterable[int] = ()) -> list[SupersededVersion]:
    found = connection.execute(
        sa.select(_VERSION.id, _VERSION.name, _VERSION.digest, _VERSION.action, _VERSION.status, _VERSION.requires,
                  _VERSION.created_at)
        .where(which).order_by(_VERSION.id),
        rows.ids(ids),
    )
    return [SupersededVersion(id_, name, digest, _is_sound(action, status), frozenset(rows.required(requires)),
                              created_at)
            for id_, name, digest, action, status, requires, created_at in found]


def _is_sound(action: int, status: int) -> bool:
    """Return whether a version can be kept: its deletion has not begun, and no failure requires its replacement."""
    return action != Action.DELETE and (status != Status.FAILED or action in HARMLESS)


def _completion_of(connection: sa.Connection, operation: Operation) -> float | None:
    """Return when the stack was last completed, if that was with the input of this operation."""
    stack, complete = t.stacks.c, t.operations.c
    ended: float | None = connection.execute(
        sa.select(complete.ended_at).join(t.stacks, stack.complete_operation_id == complete.id)
        .where(stack.id == operation.stack_id, complete.input == operation.input)
    ).scalar()
    return ended


def take_up(
    connection: sa.Connection, slots: Mapping[str, Slot], older: Mapping[str, Sequence[SupersededVersion]],
    wanted: Sequence[Wanted], operation: Operation,
) -> set[str]:
    """Make superseded versions current again where they are what is wanted; supersede the newer ones.

    Return the names with another current version, and those that require one of them.
    """
    if not older:
        return set()
    digests = {want.name: want.digest for want in wanted}
    graph = DependencyTaskGraph[str]({want.name: want.requires for want in wanted})
    present = {slot.resource_id for slot in slots.values() if slot.resource_id is not None}
    current_ids = [slots[name].resource_id or 0 for name in older if name in slots]
    current = {one.id: one for one in _read(connection, rows.among(_VERSION.id), current_ids)}
    completed_at = _completion_of(connection, operation)
    taken: set[str] = set()
    moved: set[str] = set()
    for name in graph.order():
        slot = slots.get(name)
        if slot is None:
            continue
        stands, rest = current.get(slot.resource_id or 0), older.get(name, ())
        original = _original(stands, rest, digests[name], completed_at)
        if not taken.isdisjoint(graph.requires(name)):
            moved.add(name)
        elif slot.proves(digests[name]) and (original is None or original is stands):
            continue
        chosen = _best(stands, rest, digests[name], present, original)
        if chosen is not None:
            taken.add(name)
            present.discard(slot.resource_id or 0)
            present.add(chosen.id)
            _swap(connection, slot, chosen)
    return taken | moved


def _best(
    current: SupersededVersion | None, older: Sequence[SupersededVersion], digest: str, present: Collection[int],
    original: SupersededVersion | None,
) -> SupersededVersion | None:
    """Return the superseded version to make current; None if the current version stays."""
    if original is not None and original.requires.issubset(present):
        return None if original is current else original
    if current is not None and current.fits(digest, present):
        return None
    fitting = next((one for one in older if one.fits(digest, present)), None)
    if fitting is not None or (current is not None and current.is_wanted(digest)):
        return fitting
    return next((one for one in older if one.is_wanted(digest)), None if original is current else original)


def _original(
    current: SupersededVersion | None, older: Sequence[SupersededVersion], digest: str, completed_at: float | None
) -> SupersededVersion | None:
    """Return the version that was current at the completion, if another definition was applied to it and it is sound.

    One that still has its definition was replaced for another reason, such as drift: its digest decides, as for others.
    A completed operation leaves one version of a name. An imported stack may have more, and then none is chosen here.
    """
    if completed_at is None:
        return None
    then = [one for one in (*older, *([current] if current is not None else [])) if one.created_at <= completed_at]
    return then[0] if len(then) == 1 and then[0].sound and then[0].digest not in (None, digest) else None


def _swap(connection: sa.Connection, slot: Slot, chosen: SupersededVersion) -> None:
    """Let the node stand for the chosen version instead of its current one."""
    _keep_lease(connection, slot)
    named = sa.select(_NODE.stack_id).where(_NODE.id == slot.id).scalar_subquery()
    deleters = (_NODE.stack_id == named, _NODE.name == slot.name, _NODE.resource_id == chosen.id)
    _take_lease(connection, slot, deleters)
    nodes.delete_where(connection, deleters)
    nodes.attach(connection, [(chosen.id, slot.id)])
    versions.supersede(connection, slot.resource_id)
    versions.reinstate(connection, chosen.id, instead_of=slot.resource_id)


def _take_lease(connection: sa.Connection, slot: Slot, deleters: Sequence[sa.ColumnElement[bool]]) -> None:
    """Give the node the lease of a worker that has begun to delete the chosen version (I5).

    The raised fence keeps the worker of the version that is superseded now from releasing that lease.
    """
    held = connection.execute(
        sa.select(_NODE.worker, _NODE.lease_until).join(t.resources, _VERSION.id == _NODE.resource_id)
        .where(*deleters, _NODE.worker.is_not(None), _VERSION.intent.is_not(None))
    ).one_or_none()
    if held is not None:
        nodes.move_lease(connection, slot.id, held.worker, held.lease_until)


def _keep_lease(connection: sa.Connection, slot: Slot) -> None:
    """Move the lease on the version that is superseded now to a clean-up node, so that its deletion waits (I5).

    Its object may be being created: a deletion before the lease ends would find nothing, and forget the object (I1).
    """
    held = connection.execute(
        sa.select(_NODE.stack_id, _NODE.generation, _NODE.worker, _NODE.fence, _NODE.lease_until).where(_NODE.id == slot.id)
    ).one()
    if held.worker is not None:
        (id_,) = rows.take_ids(connection, 1)
        nodes.insert_leased(connection, id_, slot.name, {**held._mapping, "resource_id": slot.resource_id})
