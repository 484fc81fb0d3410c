"""Versions that were let go and are still there: a plan that wants just what they are takes them up again (S2.14).

A version may have been replaced together with what it uses, though its own definition never changed. So several versions
of a name may be as the template says, and the one to have is the one that uses the versions that stand now: requirements
are looked at first. How far an older operation came with a node says nothing about its version. Whether a version is as
wanted is asked of its row, in the same way of the version that stands and of those that were let go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import HARMLESS, Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Wanted
from isotherm.store.transitions import nodes, versions
from isotherm.store.versions.current import Slot

_NODE, _VERSION = t.nodes.c, t.resources.c


@dataclass(frozen=True, slots=True)
class Spare:
    """A version that no node stands for: to be deleted, or taken up again. The one that stands is compared with these."""

    id: int
    name: str
    digest: str | None
    sound: bool
    requires: frozenset[int]

    def fits(self, digest: str, present: Collection[int]) -> bool:
        """Whether it is as wanted, down to what it uses."""
        return self.is_wanted(digest) and self.requires.issubset(present)

    def is_wanted(self, digest: str) -> bool:
        """Whether it was brought to this definition, and nothing has happened to it for which it would be replaced."""
        return self.sound and self.digest == digest


def of(connection: sa.Connection, stack_id: str) -> dict[str, list[Spare]]:
    """The spares of a stack, by name."""
    spares: dict[str, list[Spare]] = {}
    for spare in _read(connection, sa.and_(_VERSION.stack_id == stack_id, _VERSION.superseded == sa.true())):
        spares.setdefault(spare.name, []).append(spare)
    return spares


def _read(connection: sa.Connection, which: sa.ColumnElement[bool], ids: Iterable[int] = ()) -> list[Spare]:
    found = connection.execute(
        sa.select(_VERSION.id, _VERSION.name, _VERSION.digest, _VERSION.action, _VERSION.status, _VERSION.requires)
        .where(which).order_by(_VERSION.id),
        rows.ids(ids),
    )
    return [Spare(id_, name, digest, _is_sound(action, status), frozenset(rows.required(requires)))
            for id_, name, digest, action, status, requires in found]


def _is_sound(action: int, status: int) -> bool:
    """What somebody has begun to delete is past saving, and what has failed is replaced."""
    return action != Action.DELETE and (status != Status.FAILED or action in HARMLESS)


def take_up(
    connection: sa.Connection, slots: Mapping[str, Slot], spares: Mapping[str, Sequence[Spare]], wanted: Sequence[Wanted]
) -> set[str]:
    """Where an older version is just what is wanted now, its node takes it up again and lets go of the newer one.

    Answers the names that have another version now, and those that use one of them.
    """
    if not spares:
        return set()
    digests = {want.name: want.digest for want in wanted}
    graph = DependencyTaskGraph[str]({want.name: want.requires for want in wanted})
    present = {slot.resource_id for slot in slots.values() if slot.resource_id is not None}
    rivals = [slots[name].resource_id or 0 for name in spares if name in slots]
    standing = {one.id: one for one in _read(connection, rows.among(_VERSION.id), rivals)}
    taken: set[str] = set()
    moved: set[str] = set()
    for name in graph.order():
        slot = slots.get(name)
        if slot is None:
            continue
        if not taken.isdisjoint(graph.requires(name)):
            moved.add(name)
        elif slot.proves(digests[name]):
            continue
        spare = _best(standing.get(slot.resource_id or 0), spares.get(name, ()), digests[name], present)
        if spare is not None:
            taken.add(name)
            present.discard(slot.resource_id or 0)
            present.add(spare.id)
            _swap(connection, slot, spare)
    return taken | moved


def _best(stands: Spare | None, spares: Sequence[Spare], digest: str, present: Collection[int]) -> Spare | None:
    """The spare that is to stand for the name; None: what stands for it stays."""
    if stands is not None and stands.fits(digest, present):
        return None
    fitting = next((spare for spare in spares if spare.fits(digest, present)), None)
    if fitting is not None or (stands is not None and stands.is_wanted(digest)):
        return fitting
    return next((spare for spare in spares if spare.is_wanted(digest)), None)


def _swap(connection: sa.Connection, slot: Slot, spare: Spare) -> None:
    _keep_lease(connection, slot)
    named = sa.select(_NODE.stack_id).where(_NODE.id == slot.id).scalar_subquery()
    deleters = (_NODE.stack_id == named, _NODE.name == slot.name, _NODE.resource_id == spare.id)
    _take_lease(connection, slot, deleters)
    nodes.delete_where(connection, deleters)
    nodes.attach(connection, [(spare.id, slot.id)])
    versions.supersede(connection, slot.resource_id)
    versions.reinstate(connection, spare.id, instead_of=slot.resource_id)


def _take_lease(connection: sa.Connection, slot: Slot, deleters: Sequence[sa.ColumnElement[bool]]) -> None:
    """A worker may still be doing to the spare what an older operation wanted: nobody acts on it before that lease has run
    out. The fence goes up, so that the lease cannot be given back by the worker that had the version that is let go."""
    held = connection.execute(
        sa.select(_NODE.worker, _NODE.lease_until).join(t.resources, _VERSION.id == _NODE.resource_id)
        .where(*deleters, _NODE.worker.is_not(None), _VERSION.intent.is_not(None))
    ).one_or_none()
    if held is not None:
        nodes.move_lease(connection, slot.id, held.worker, held.lease_until)


def _keep_lease(connection: sa.Connection, slot: Slot) -> None:
    """Somebody may be at work on the version that was let go: nobody deletes it before that lease has run out.

    Its object may be about to come into being. Whoever looked for it now would find nothing, and forget it.
    """
    held = connection.execute(
        sa.select(_NODE.stack_id, _NODE.generation, _NODE.worker, _NODE.fence, _NODE.lease_until).where(_NODE.id == slot.id)
    ).one()
    if held.worker is not None:
        (id_,) = rows.take_ids(connection, 1)
        nodes.insert_leased(connection, id_, slot.name, {**held._mapping, "resource_id": slot.resource_id})
