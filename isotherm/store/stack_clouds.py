"""Units of work for the clouds of stacks: the cloud in which the objects of a stack are."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from isotherm import errors
from isotherm.store import tables as t
from isotherm.store.records import BoundCloud

_OF, _STACK = t.stack_clouds.c, t.stacks.c
# The type whose resource makes a root stack.
_MAKER = "OS::Heat::Stack"


def bind(connection: sa.Connection, stack_id: str, cloud: BoundCloud) -> None:
    """Record the cloud of a stack, in the transaction that accepts an operation. Raises Conflict if it has another."""
    values = {"name": cloud.name, "auth_url": cloud.auth_url, "project_id": cloud.project_id}
    found = own(connection, stack_id)
    if found is None:
        connection.execute(sa.insert(t.stack_clouds).values(stack_id=stack_id, **values))
    elif not found.is_same(cloud):
        raise errors.Conflict("Another operation has bound the stack to another cloud at the same moment.")
    elif found.name != cloud.name:
        connection.execute(sa.update(t.stack_clouds).where(_OF.stack_id == stack_id).values(name=cloud.name))


def own(connection: sa.Connection, stack_id: str) -> BoundCloud | None:
    """Return the cloud of a root stack."""
    found = connection.execute(sa.select(_OF.name, _OF.auth_url, _OF.project_id).where(_OF.stack_id == stack_id)).first()
    return None if found is None else BoundCloud(found.name, found.auth_url, found.project_id)


def of_stack(connection: sa.Connection, stack_id: str) -> BoundCloud | None:
    """Return the cloud of a stack: its own, or that of the nearest stack from which it comes."""
    clouds = (own(connection, one) for one in origins(connection, stack_id))
    return next((one for one in clouds if one is not None), None)


def origins(connection: sa.Connection, stack_id: str) -> Iterator[str]:
    """Yield a stack, the stack that contains it or whose resource has made it, and so on."""
    seen: set[str] = set()
    at: str | None = stack_id
    # Stacks that were adopted may name one another.
    while at is not None and at not in seen:
        yield at
        seen.add(at)
        at = _origin(connection, at)


def _origin(connection: sa.Connection, stack_id: str) -> str | None:
    row = connection.execute(sa.select(_STACK.owner_id, _STACK.project).where(_STACK.id == stack_id)).first()
    if row is None or row.owner_id:
        return None if row is None else row.owner_id
    resource = t.resources.c
    # Of the same project: another project cannot lend a credential by naming a stack.
    maker = sa.select(resource.stack_id).join(t.stacks, _STACK.id == resource.stack_id).where(
        resource.physical_id == stack_id, resource.implementation == _MAKER, _STACK.project == row.project,
        _STACK.tomb == "")
    return connection.execute(maker.order_by(resource.id.desc()).limit(1)).scalar()
