"""Units of work about ownership: what exists is taken over by a stack, or let go of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import snapshots
from isotherm.store.records import Version
from isotherm.store.transitions import nodes
from isotherm.store.transitions import versions as version_transitions


def take_over(
    connection: sa.Connection, versions: Sequence[Version], requires: Mapping[str, Collection[str]], now: float
) -> None:
    """Make the objects those of a stack whose nodes have just been planned; raises Conflict if one has an owner.

    Each row carries the intent to adopt: whoever visits its node makes sure first that the object is there. What each
    uses, by name, is known from the first moment (I9): a delete may come before the visit.
    """
    if not versions:
        return
    own = sa.select(t.stacks.c.project).where(t.stacks.c.id == versions[0].stack_id)
    project = connection.execute(own).scalar_one()
    _recognise(connection, project, versions)
    _refuse_owned(connection, project, versions)
    for version, id_ in zip(versions, rows.take_ids(connection, len(versions)), strict=True):
        version.id = id_
    ids = {version.name: version.id for version in versions}
    for version in versions:
        used = sorted(ids[name] for name in requires[version.name] if name in ids)
        version.requires = msgspec.json.encode(used).decode()
    version_transitions.create(connection, versions, now)
    nodes.attach_by_name(connection, ((v.id, v.stack_id, v.name) for v in versions))


def _recognise(connection: sa.Connection, project: str, versions: Sequence[Version]) -> None:
    """Find the objects whose creation was under way when their stack was abandoned: by now it is known what came of it.

    Raises Conflict if it is not known yet.
    """
    unknown = {v.token: v for v in versions if v.physical_id is None}
    if not unknown:
        return
    resource, kept, stack = t.resources.c, t.retained.c, t.stacks.c
    busy = sa.select(resource.token, stack.name, stack.project).join(t.stacks, stack.id == resource.stack_id)
    for token, owner, of in connection.execute(busy.where(rows.among(resource.token)), rows.ids(unknown)):
        where = f"stack {owner}" if of == project else "another stack"
        raise errors.Conflict(f"resources.{unknown[token].name}: {where} is still busy with it, or has it.",
                              hint="Wait until the stack that it was made in is gone.")
    found = sa.select(kept.token, kept.physical_id).join(t.stacks, stack.id == kept.stack_id)
    mine = found.where(rows.among(kept.token), stack.project == project, kept.physical_id.is_not(None))
    for token, physical_id in connection.execute(mine, rows.ids(unknown)):
        unknown[token].physical_id = physical_id


def _refuse_owned(connection: sa.Connection, project: str, versions: Sequence[Version]) -> None:
    """I1: no two rows own one object."""
    resource, stack = t.resources.c, t.stacks.c
    found = connection.execute(
        sa.select(resource.implementation, resource.physical_id, resource.name, stack.name, stack.project)
        .join(t.stacks, stack.id == resource.stack_id)
        .where(rows.among(resource.physical_id), version_transitions.holds_object()).order_by(resource.name, resource.id),
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


def let_go(connection: sa.Connection, stack_id: str, *, adopted: bool = False) -> None:
    """Leave the objects of the stack, and of the stacks inside, where they are, whatever becomes of its resources.

    With `adopted`: only those that it has adopted, and not what the adoption has made.
    """
    stack = t.stacks.c
    version_transitions.abandon(connection, stack_id, adopted=adopted)
    snapshots.let_go(connection, stack_id)
    inside = list(connection.execute(sa.select(stack.id).where(stack.owner_id == stack_id, stack.tomb == "")).scalars())
    # Should an update call it off, it looks at each of them again, and tells the stacks inside.
    nodes.revisit_done(connection, stack_id)
    version_transitions.distrust(connection, stack_id, inside)
    for one in inside:
        let_go(connection, one, adopted=adopted)
