"""Units of work for stack credentials: stored sealed, bound to one stack, revoked when they are of no use."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.store import stack_clouds
from isotherm.store import tables as t
from isotherm.store.database import sealing

_OF, _STACK = t.credentials.c, t.stacks.c


class StackCredential(NamedTuple):
    """One credential, opened. The secret is empty until Keystone has answered the request for it."""

    id: str
    user_id: str
    secret: str


def keep(connection: sa.Connection, project: str, credential: StackCredential, now: float) -> None:
    """Store a credential before its stack exists. If the process dies now, the sweep revokes it."""
    connection.execute(sa.insert(t.credentials).values(
        id=credential.id, project=project, user_id=credential.user_id, created_at=now, later=0.0, replaced=False,
        secret=sealing.of(connection).seal(credential.secret, "secret", credential.id, project)))


def fill(connection: sa.Connection, project: str, credential: StackCredential) -> None:
    """Add the secret to a credential that was stored without one."""
    sealed = sealing.of(connection).seal(credential.secret, "secret", credential.id, project)
    connection.execute(sa.update(t.credentials).where(_OF.id == credential.id).values(secret=sealed))


def bind(connection: sa.Connection, id_: str, stack_id: str) -> None:
    """Bind a credential to a stack, in place of any other. Part of the transaction that accepts an operation."""
    connection.execute(sa.update(t.credentials).where(_OF.stack_id == stack_id, _OF.id != id_).values(replaced=True))
    hit = connection.execute(sa.update(t.credentials).where(_OF.id == id_).values(stack_id=stack_id))
    if not hit.rowcount:
        raise errors.Conflict("The request took so long that the credential of its user was revoked.",
                              hint="Repeat the request.")


def is_bound(connection: sa.Connection, id_: str) -> bool:
    return connection.execute(sa.select(_OF.stack_id).where(_OF.id == id_)).scalar() is not None


def of_stack(connection: sa.Connection, stack_id: str) -> StackCredential | None:
    """Return the credential of a stack: its own, or that of the nearest stack from which it comes."""
    for one in stack_clouds.origins(connection, stack_id):
        query = sa.select(t.credentials).where(_OF.stack_id == one, sa.not_(_OF.replaced))
        found = connection.execute(query).first()
        if found is not None:
            return _opened(connection, found)
    return None


def useless(connection: sa.Connection, now: float, unbound_since: float, limit: int = 100) -> list[StackCredential]:
    """Return credentials to revoke: replaced, of a deleted stack, or of a request that opened no operation."""
    alive = sa.exists().where(_STACK.id == _OF.stack_id, _STACK.tomb == "")
    over = sa.or_(_OF.replaced, sa.and_(_OF.stack_id.is_not(None), sa.not_(alive)),
                  sa.and_(_OF.stack_id.is_(None), _OF.created_at < unbound_since))
    query = sa.select(t.credentials).where(over, _OF.later <= now).order_by(_OF.created_at).limit(limit)
    return [_opened(connection, one) for one in connection.execute(query)]


def postpone(connection: sa.Connection, id_: str, until: float) -> None:
    connection.execute(sa.update(t.credentials).where(_OF.id == id_).values(later=until))


def forget(connection: sa.Connection, id_: str) -> None:
    connection.execute(sa.delete(t.credentials).where(_OF.id == id_))


def _opened(connection: sa.Connection, row: sa.Row[tuple[object, ...]]) -> StackCredential:
    found = row._mapping
    return StackCredential(found["id"], found["user_id"],
                sealing.of(connection).open(found["secret"], "secret", found["id"], found["project"]))
