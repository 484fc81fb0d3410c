"""Units of work about ownership of objects: a stack takes them over, or leaves them behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import DeletionPolicy, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import snapshots
from isotherm.store.records import Version
from isotherm.store.transitions import nodes
from isotherm.store.transitions import versions as version_transitions


def take_over(
    connection: sa.Connection, versions: Sequence[Version], requires: Mapping[str, Collection[str]], now: float
) -> None:
    """Insert versions for existing objects under nodes that were just planned. Raises Conflict if one has an owner.

    Each version carries the intent to adopt: its step first checks that the object exists. Its requirements are stored at
    once (I9), because a delete may come before that step.
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


def drop_unmade(connection: sa.Connection, version_ids: Collection[int]) -> None:
    """Delete versions for which nothing was made, so that their nodes can stand for existing objects."""
    found = rows.versions(connection, version_ids)
    version_transitions.delete(connection, list(found))
    nodes.detach(connection, ((one.stack_id, one.name, one.id) for one in found.values()))


def _recognise(connection: sa.Connection, project: str, versions: Sequence[Version]) -> None:
    """Find the ids of objects whose creation was in progress when their stack was abandoned.

    Raises Conflict if a creation is still in progress, or if the object has been given for another resource (I1).
    """
    unknown = {v.token: v for v in versions if v.physical_id is None}
    if not unknown:
        return
    resource, kept, stack = t.resources.c, t.retained.c, t.stacks.c
    busy = sa.select(resource.token, stack.name, stack.project).join(t.stacks, stack.id == resource.stack_id)
    for token, owner, of in connection.execute(busy.where(rows.among(resource.token)), rows.ids(unknown)):
        where = f"stack {owner}" if of == project else "another stack"
        raise errors.Conflict(f"resources.{unknown[token].name}: {where} is still creating it, or owns it.",
                              hint="Wait until the stack that created it is deleted.")
    found = sa.select(kept.token, kept.physical_id).join(t.stacks, stack.id == kept.stack_id)
    mine = found.where(rows.among(kept.token), stack.project == project, kept.physical_id.is_not(None))
    owners = {(v.implementation, v.physical_id): v.name for v in versions}
    for token, physical_id in connection.execute(mine, rows.ids(unknown)):
        version = unknown[token]
        if owner := owners.get((version.implementation, physical_id)):
            raise errors.Conflict(f"resources.{version.name}: {physical_id} is already resource {owner}.")
        version.physical_id = physical_id


def _refuse_owned(connection: sa.Connection, project: str, versions: Sequence[Version]) -> None:
    """Raise Conflict if another version owns one of the objects (I1)."""
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
            if of != project:  # names of another project's stacks are not shown
                raise errors.Conflict(f"resources.{mine}: {physical_id} belongs to another stack.")
            raise errors.Conflict(
                f"resources.{mine}: {physical_id} belongs to resource {name} of stack {owner}.",
                hint=f"`isotherm abandon {owner}` releases it.",
            )


def let_go(connection: sa.Connection, stack_id: str, *, adopted: bool = False) -> None:
    """Retain the objects of a stack and of its nested stacks when their resources are deleted.

    With `adopted`: only adopted objects, not those that the adoption has created.
    """
    stack = t.stacks.c
    version_transitions.abandon(connection, stack_id, adopted=adopted)
    snapshots.let_go(connection, stack_id)
    inside = list(connection.execute(sa.select(stack.id).where(stack.owner_id == stack_id, stack.tomb == "")).scalars())
    # An update that supersedes the abandon must visit every resource again, also in the nested stacks.
    nodes.revisit_done(connection, stack_id)
    version_transitions.distrust(connection, stack_id, inside)
    for one in inside:
        let_go(connection, one, adopted=adopted)


def forget(connection: sa.Connection, stack_id: str, name: str) -> list[str]:
    """Retain the objects of one resource when its versions are deleted; return the nested stacks among them.

    A nested stack is abandoned: it is deleted, and its objects stay. Raises Conflict if one has an operation in progress.
    """
    stack, version = t.stacks.c, t.resources.c
    nested = connection.execute(
        sa.select(stack.id, stack.status).join(t.resources, version.physical_id == stack.id)
        .where(stack.owner_id == stack_id, stack.tomb == "", version.stack_id == stack_id, version.name == name)
    ).all()
    for id_, status in nested:
        if status == Status.IN_PROGRESS:
            raise errors.Conflict(f"The nested stack of resource {name} has an operation in progress.",
                                  kind="ActionInProgress", hint="Ask again when it has ended.")
        let_go(connection, id_)
    inside = [id_ for id_, _ in nested]
    policy = DeletionPolicy.ABANDON if nested else DeletionPolicy.RETAIN
    version_transitions.set_policy(connection, stack_id, [name], policy)
    version_transitions.distrust(connection, stack_id, inside)
    return inside
