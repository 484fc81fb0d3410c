"""Versions that were let go and are still there: a plan that wants just what they are takes them up again (S2.14).

What used such a version was perhaps replaced with it, though its own definition never changed. So requirements are looked
at first: where one of them is another version now, what uses it is as little proven as if it had changed itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Wanted
from isotherm.store.slots import Slot

_NODE, _VERSION = t.nodes.c, t.resources.c


@dataclass(frozen=True, slots=True)
class Spare:
    """A version that no node stands for: to be deleted, or taken up again."""

    id: int
    digest: str | None
    usable: bool
    requires: frozenset[int]


def of(connection: sa.Connection, stack_id: str) -> dict[str, list[Spare]]:
    """The spares of a stack, by name."""
    # One that somebody is deleting, or has begun to, is past saving.
    leased = sa.exists().where(rows.stands_for(), _NODE.worker.is_not(None))
    found = connection.execute(
        sa.select(_VERSION.id, _VERSION.name, _VERSION.digest, _VERSION.status, _VERSION.intent, _VERSION.requires, leased)
        .where(_VERSION.stack_id == stack_id, _VERSION.superseded == sa.true())
        .order_by(_VERSION.id)
    )
    spares: dict[str, list[Spare]] = {}
    for id_, name, digest, status, intent, requires, busy in found:
        usable = status == Status.COMPLETE and intent is None and not busy
        used = frozenset(rows.required(requires))
        spares.setdefault(name, []).append(Spare(id_, digest, usable, used))
    return spares


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
    present = {slot.resource_id for slot in slots.values()}
    taken: set[str] = set()
    moved: set[str] = set()
    for name in graph.order():
        slot = slots.get(name)
        if slot is None:
            continue
        proven = slot.proves(digests[name])
        if not taken.isdisjoint(graph.requires(name)):
            moved.add(name)
        elif proven:
            continue
        usable = (spare for spare in spares.get(name, ()) if spare.usable and spare.digest == digests[name])
        # What is as wanted but for what it uses gives way only to one that uses just what there is now.
        spare = next((spare for spare in usable if not proven or spare.requires <= present), None)
        if spare is not None:
            taken.add(name)
            present.discard(slot.resource_id)
            present.add(spare.id)
            _swap(connection, slot, spare)
    return taken | moved


def _swap(connection: sa.Connection, slot: Slot, spare: Spare) -> None:
    named = sa.select(_NODE.stack_id).where(_NODE.id == slot.id).scalar_subquery()
    deleters = (_NODE.stack_id == named, _NODE.name == slot.name, _NODE.resource_id == spare.id)
    connection.execute(sa.delete(t.nodes).where(*deleters))
    connection.execute(sa.update(t.nodes).where(_NODE.id == slot.id).values(resource_id=spare.id))
    connection.execute(sa.update(t.resources).where(_VERSION.id == slot.resource_id).values(superseded=True))
    connection.execute(
        sa.update(t.resources).where(_VERSION.id == spare.id).values(superseded=False, replaced_by=None)
    )
    _keep_lease(connection, slot)


def _keep_lease(connection: sa.Connection, slot: Slot) -> None:
    """Somebody may be at work on the version that was let go: nobody deletes it before that lease has run out.

    Its object may be about to come into being. Whoever looked for it now would find nothing, and forget it.
    """
    held = connection.execute(
        sa.select(_NODE.stack_id, _NODE.generation, _NODE.worker, _NODE.fence, _NODE.lease_until).where(_NODE.id == slot.id)
    ).one()
    if held.worker is not None:
        (id_,) = rows.take_ids(connection, 1)
        connection.execute(
            sa.insert(t.nodes).values(
                id=id_, name=slot.name, kind=NodeKind.CLEANUP, state=NodeState.PENDING, pending=1, dirty=0,
                resource_id=slot.resource_id, **held._mapping,
            )
        )
