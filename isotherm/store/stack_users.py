"""Units of work for stack users: announced before Keystone is asked for them, and found again when nothing needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing

_USER, _PROJECT, _STACK, _VERSION = t.stack_users.c, t.stack_user_projects.c, t.stacks.c, t.resources.c
_LIMIT = 100


class StackUserRow(NamedTuple):
    """The user of one version of a resource, opened."""

    id: str
    root_id: str
    stack_id: str
    project: str
    token: str
    resource_name: str
    username: str
    # Empty until Keystone has answered.
    user_id: str
    secret: str
    has_key: bool
    asked_at: float


class StackUserProject(NamedTuple):
    """The project of the stack users of a root stack."""

    stack_id: str
    name: str
    # Empty until Keystone has answered.
    project_id: str
    asked_at: float


class Place(NamedTuple):
    """The stack of a resource: its root, its project and its name."""

    root_id: str
    project: str
    stack_name: str


class ResourceOfUser(NamedTuple):
    """The one resource that a stack user may act on."""

    project: str
    stack_id: str
    resource_name: str


def place(connection: sa.Connection, stack_id: str) -> Place | None:
    """Return where a stack is; None if it does not exist any more."""
    query = sa.select(_STACK.owner_id, _STACK.project, _STACK.name)
    own = connection.execute(query.where(_STACK.id == stack_id, _STACK.tomb == "")).first()
    if own is None:
        return None
    root, owner = stack_id, own.owner_id
    while owner:
        root = owner
        owner = connection.execute(sa.select(_STACK.owner_id).where(_STACK.id == owner)).scalar()
    return Place(root, own.project, own.name)


def announce_project(connection: sa.Connection, stack_id: str, name: str, now: float) -> StackUserProject:
    """Write the row of a project before Keystone is asked for it; return the row."""
    found = project(connection, stack_id)
    if found is None:
        connection.execute(sa.insert(t.stack_user_projects).values(
            stack_id=stack_id, name=name, project_id="", asked_at=now, later=0.0))
    elif not found.project_id:
        connection.execute(sa.update(t.stack_user_projects).where(_PROJECT.stack_id == stack_id).values(asked_at=now))
    return StackUserProject(stack_id, name, "", now) if found is None else found


def confirm_project(connection: sa.Connection, stack_id: str, project_id: str) -> None:
    connection.execute(
        sa.update(t.stack_user_projects).where(_PROJECT.stack_id == stack_id).values(project_id=project_id))


def project(connection: sa.Connection, stack_id: str) -> StackUserProject | None:
    """Return the project of the stack users of a root stack."""
    found = connection.execute(sa.select(t.stack_user_projects).where(_PROJECT.stack_id == stack_id)).first()
    return None if found is None else _project(found)


def announce(connection: sa.Connection, row: StackUserRow) -> StackUserRow:
    """Write the row of a user before Keystone is asked for it; return the row that the version has."""
    found = of_version(connection, row.token)
    if found is None:
        secret = sealing.of(connection).seal(row.secret, "secret", row.id, row.project)
        connection.execute(sa.insert(t.stack_users).values(**{**row._asdict(), "secret": secret}, later=0.0))
        return row
    if not found.user_id:
        connection.execute(sa.update(t.stack_users).where(_USER.id == found.id).values(asked_at=row.asked_at))
    return found


def confirm(connection: sa.Connection, id_: str, user_id: str, *, has_key: bool) -> None:
    connection.execute(sa.update(t.stack_users).where(_USER.id == id_).values(user_id=user_id, has_key=has_key))


def of_version(connection: sa.Connection, token: str) -> StackUserRow | None:
    """Return the user of a version of a resource."""
    found = connection.execute(sa.select(t.stack_users).where(_USER.token == token)).first()
    return None if found is None else _user(connection, found)


def resource_of(connection: sa.Connection, user_id: str) -> ResourceOfUser | None:
    """Return the resource of a user of Keystone; None for a user who is no stack user, or whose resource is gone."""
    query = (
        sa.select(_USER.project, _USER.stack_id, _USER.resource_name)
        .join(t.resources, sa.and_(_VERSION.stack_id == _USER.stack_id, _VERSION.token == _USER.token))
        .join(t.stacks, _STACK.id == _USER.stack_id)
        .where(_USER.user_id == user_id, _USER.user_id != "", _STACK.tomb == "")
    )
    found = connection.execute(query).first()
    return None if found is None else ResourceOfUser(found.project, found.stack_id, found.resource_name)


def projects_of(connection: sa.Connection, stack_ids: Sequence[str]) -> dict[str, str]:
    """Return the ids of the projects of stack users, by stack; a stack without one is left out."""
    roots = {one: one for one in stack_ids}
    while True:
        query = sa.select(_STACK.id, _STACK.owner_id).where(rows.among(_STACK.id), _STACK.owner_id.is_not(None))
        found = connection.execute(query, rows.ids(sorted(set(roots.values()))))
        above = {row.id: row.owner_id for row in found}
        if not above:
            break
        roots = {one: above.get(root, root) for one, root in roots.items()}
    query = sa.select(_PROJECT.stack_id, _PROJECT.project_id).where(rows.among(_PROJECT.stack_id))
    found = connection.execute(query, rows.ids(sorted(set(roots.values()))))
    known = {row.stack_id: row.project_id for row in found}
    return {one: known[root] for one, root in roots.items() if known.get(root)}


def roots_of_project(connection: sa.Connection, project_id: str) -> list[str]:
    """Return the root stacks whose stack users are in a project of Keystone."""
    query = sa.select(_PROJECT.stack_id).where(_PROJECT.project_id == project_id, _PROJECT.project_id != "")
    return list(connection.execute(query).scalars())


def useless(connection: sa.Connection, now: float) -> list[StackUserRow]:
    """Return users whose version of a resource does not exist any more."""
    version = sa.exists().where(_VERSION.stack_id == _USER.stack_id, _VERSION.token == _USER.token)
    query = sa.select(t.stack_users).where(~version, _USER.later <= now).limit(_LIMIT)
    return [_user(connection, one) for one in connection.execute(query)]


def useless_projects(connection: sa.Connection, now: float) -> list[StackUserProject]:
    """Return projects without users whose root stack is deleted."""
    alive = sa.exists().where(_STACK.id == _PROJECT.stack_id, _STACK.tomb == "")
    user = sa.exists().where(_USER.root_id == _PROJECT.stack_id)
    query = sa.select(t.stack_user_projects).where(~alive, ~user, _PROJECT.later <= now).limit(_LIMIT)
    return [_project(one) for one in connection.execute(query)]


def postpone(connection: sa.Connection, id_: str, until: float) -> None:
    connection.execute(sa.update(t.stack_users).where(_USER.id == id_).values(later=until))


def postpone_project(connection: sa.Connection, stack_id: str, until: float) -> None:
    connection.execute(sa.update(t.stack_user_projects).where(_PROJECT.stack_id == stack_id).values(later=until))


def forget(connection: sa.Connection, id_: str) -> None:
    connection.execute(sa.delete(t.stack_users).where(_USER.id == id_))


def forget_project(connection: sa.Connection, stack_id: str) -> None:
    connection.execute(sa.delete(t.stack_user_projects).where(_PROJECT.stack_id == stack_id))


def _user(connection: sa.Connection, row: sa.Row[tuple[object, ...]]) -> StackUserRow:
    found = {name: row._mapping[name] for name in StackUserRow._fields}
    return StackUserRow(**{**found, "secret": sealing.of(connection).open(
        found["secret"], "secret", found["id"], found["project"])})


def _project(row: sa.Row[tuple[object, ...]]) -> StackUserProject:
    return StackUserProject(*[row._mapping[name] for name in StackUserProject._fields])
