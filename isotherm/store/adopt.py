"""Units of work about ownership: what exists is taken over by a stack, or let go of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import DeletionPolicy
from isotherm.store import rows, snapshots
from isotherm.store import tables as t
from isotherm.store.bulk import Bulk
from isotherm.store.records import Version

_ATTACH = Bulk(
    sa.update(t.nodes)
    .where(t.nodes.c.stack_id == sa.bindparam("n_stack_id"), t.nodes.c.name == sa.bindparam("n_name"))
    .values(resource_id=sa.bindparam("n_resource_id")),
    "n_resource_id", "n_stack_id", "n_name",
)


def take_over(
    connection: sa.Connection, versions: Sequence[Version], requires: Mapping[str, Collection[str]], now: float
) -> None:
    """Make the objects those of a stack whose nodes have just been planned; raises Conflict if one has an owner.

    Each row carries the intent to adopt: whoever visits its node makes sure first that the object is there. What each
    uses, by name, is known from the first moment (INV-9): a delete may come before the visit.
    """
    _refuse_owned(connection, versions)
    for version, id_ in zip(versions, rows.take_ids(connection, len(versions)), strict=True):
        version.id = id_
    ids = {version.name: version.id for version in versions}
    for version in versions:
        used = sorted(ids[name] for name in requires[version.name] if name in ids)
        version.requires = msgspec.json.encode(used).decode()
    rows.insert_versions(connection, versions, now)
    _ATTACH(connection, ((v.id, v.stack_id, v.name) for v in versions))
    _take_in(connection, versions)


def _take_in(connection: sa.Connection, versions: Sequence[Version]) -> None:
    """Stacks whose stack around them is gone are inside of this one from now on."""
    stack, around, own = t.stacks.c, t.stacks.alias(), t.stacks.alias()
    ids = [v.physical_id for v in versions if v.physical_id is not None]
    if not ids:
        return
    found = connection.execute(
        sa.select(stack.id).join(around, around.c.id == stack.owner_id)
        .join(own, own.c.project == stack.project)
        .where(rows.among(stack.id), stack.tomb == "", around.c.tomb != "", around.c.project == stack.project,
               own.c.id == versions[0].stack_id),
        rows.ids(ids),
    )
    orphans = list(found.scalars())
    if orphans:
        owner = sa.update(t.stacks).where(rows.among(stack.id)).values(owner_id=versions[0].stack_id)
        connection.execute(owner, rows.ids(orphans))


def _refuse_owned(connection: sa.Connection, versions: Sequence[Version]) -> None:
    """INV-1: no two rows own one object. No index leads to a physical id: adopting is rare, and may look at all rows."""
    resource, stack = t.resources.c, t.stacks.c
    if not versions:
        return
    project = connection.execute(sa.select(stack.project).where(stack.id == versions[0].stack_id)).scalar_one()
    found = connection.execute(
        sa.select(resource.implementation, resource.physical_id, resource.name, stack.name, stack.project)
        .join(t.stacks, stack.id == resource.stack_id)
        .where(rows.among(resource.physical_id), resource.external == sa.false()),
        rows.ids({v.physical_id for v in versions if v.physical_id is not None}),
    )
    wanted = {(v.implementation, v.physical_id): v.name for v in versions}
    for implementation, physical_id, name, owner, of in found:
        if (implementation, physical_id) in wanted:
            mine = wanted[implementation, physical_id]
            if of != project:  # whose it is, is told to nobody outside
                raise errors.Conflict(f"resources.{mine}: {physical_id} belongs to another stack.")
            raise errors.Conflict(
                f"resources.{mine}: {physical_id} belongs to resource {name} of stack {owner}.",
                hint=f"`isotherm abandon {owner}` lets go of it.",
            )


def let_go(connection: sa.Connection, stack_id: str) -> None:
    """Whatever becomes of the stack's resources from now on, their objects stay."""
    resource = t.resources.c
    connection.execute(
        sa.update(t.resources).where(resource.stack_id == stack_id).values(deletion_policy=DeletionPolicy.RETAIN)
    )
    snapshots.let_go(connection, stack_id)
