"""Units of work for software configs and deployments, whose rows belong to a project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from isotherm.resources.context import software
from isotherm.states import Status
from isotherm.store import limits, rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Version
from isotherm.store.signals import signals

_CONFIG, _DEPLOYMENT = t.software_configs.c, t.software_deployments.c
# Columns that may carry secrets: inputs, and the outputs and reasons that servers report.
_SEALED = ("document", "input_values", "output_values", "status_reason")

Row = Mapping[str, Any]


def _sealed(connection: sa.Connection, project: str, row: Row) -> dict[str, Any]:
    seal = sealing.of(connection).seal
    return {key: seal(value, key, row["id"], project) if key in _SEALED else value for key, value in row.items()}


def _opened(connection: sa.Connection, row: Mapping[Any, Any]) -> dict[str, Any]:
    opened = sealing.of(connection).open
    return {key: opened(value, key, row["id"], row["project"]) if key in _SEALED else value for key, value in row.items()}


def project_of(connection: sa.Connection, stack_id: str) -> str:
    return connection.execute(sa.select(t.stacks.c.project).where(t.stacks.c.id == stack_id)).scalar() or ""


def create_config(connection: sa.Connection, project: str, config: dict[str, Any], now: float, most: int = -1) -> None:
    """Store a config with its `document`, unless it is stored already. Raises UserError beyond `most` configs."""
    known = connection.execute(sa.select(_CONFIG.id).where(_CONFIG.id == config["id"])).first()
    if known is None:
        limits.software_configs(connection, project, most)
        row = _sealed(connection, project, config)
        connection.execute(sa.insert(t.software_configs).values(project=project, created_at=now, **row))


def config(connection: sa.Connection, project: str, id_: str) -> Row | None:
    query = sa.select(t.software_configs).where(_CONFIG.id == id_, _CONFIG.project == project)
    found = connection.execute(query).mappings().one_or_none()
    return None if found is None else _opened(connection, found)


def configs(connection: sa.Connection, project: str | None, limit: int | None, marker: str | None) -> list[sa.RowMapping]:
    """Return the configs of a project (None: of all), newest first, without their documents, after the id `marker`."""
    query = sa.select(_CONFIG.id, _CONFIG.project, _CONFIG.name, _CONFIG.group, _CONFIG.created_at)
    if project is not None:
        query = query.where(_CONFIG.project == project)
    place = sa.tuple_(_CONFIG.created_at, _CONFIG.id)
    after = connection.execute(sa.select(_CONFIG.created_at, _CONFIG.id).where(_CONFIG.id == (marker or ""))).first()
    if after is not None:
        query = query.where(place < sa.tuple_(*after))
    query = query.order_by(_CONFIG.created_at.desc(), _CONFIG.id.desc()).limit(limit)
    return list(connection.execute(query).mappings())


def is_used(connection: sa.Connection, config_id: str) -> bool:
    """Return whether a deployment refers to the config."""
    return connection.execute(sa.select(_DEPLOYMENT.id).where(_DEPLOYMENT.config_id == config_id)).first() is not None


def delete_config(connection: sa.Connection, project: str, id_: str) -> None:
    connection.execute(sa.delete(t.software_configs).where(_CONFIG.id == id_, _CONFIG.project == project))


def put_deployment(connection: sa.Connection, project: str, deployment: dict[str, Any], now: float, most: int = -1) -> None:
    row = _sealed(connection, project, deployment)
    changed = connection.execute(
        sa.update(t.software_deployments)
        .where(_DEPLOYMENT.id == deployment["id"], _DEPLOYMENT.project == project)
        .values(updated_at=now, **row)
    ).rowcount
    if not changed:
        limits.software_deployments(connection, project, most)
        connection.execute(sa.insert(t.software_deployments).values(project=project, created_at=now, **row))


def deployment(connection: sa.Connection, project: str, id_: str) -> Row | None:
    query = sa.select(t.software_deployments).where(_DEPLOYMENT.id == id_, _DEPLOYMENT.project == project)
    found = connection.execute(query).mappings().one_or_none()
    return None if found is None else _opened(connection, found)


def deployments(connection: sa.Connection, project: str, server_id: str | None) -> list[Row]:
    """Return the deployments of a project (to one server), oldest first."""
    query = sa.select(t.software_deployments).where(_DEPLOYMENT.project == project)
    if server_id:
        query = query.where(_DEPLOYMENT.server_id == server_id)
    found = connection.execute(query.order_by(_DEPLOYMENT.created_at, _DEPLOYMENT.id)).mappings()
    return [_opened(connection, row) for row in found]


def wake(connection: sa.Connection, row: Row, now: float) -> None:
    """Wake the resource that created the deployment, also if it is just about to wait.

    If no version has the deployment's id yet, any resource in progress may have created it: all of them are woken.
    """
    resource = t.resources.c
    mine = sa.select(resource.id).where(resource.stack_id == row["stack_id"])
    maker = mine.where(resource.physical_id == row["id"])
    in_progress = mine.where(resource.status == Status.IN_PROGRESS, resource.intent.is_not(None))
    if row["stack_id"]:
        for (id_,) in connection.execute(maker).all() or connection.execute(in_progress).all():
            signals.wake_resource(connection, id_, now)


def give_up(connection: sa.Connection, ids: Iterable[str], reason: str, now: float) -> None:
    """Fail the deployments among these ids that wait for their servers: the resources that made them were stopped."""
    query = sa.select(_DEPLOYMENT.id, _DEPLOYMENT.project).where(
        rows.among(_DEPLOYMENT.id), _DEPLOYMENT.status == software.IN_PROGRESS)
    for id_, project in connection.execute(query, rows.ids(ids)).all():
        ended = {"id": id_, "status": software.FAILED, "status_reason": reason}
        put_deployment(connection, project, ended, now)


def delete_deployment(connection: sa.Connection, project: str, id_: str) -> None:
    connection.execute(sa.delete(t.software_deployments).where(_DEPLOYMENT.id == id_, _DEPLOYMENT.project == project))


def deployed(connection: sa.Connection, project: str, server_id: str) -> list[Row]:
    """Return the configs of the deployments to a server, in the order of their names."""
    query = (
        sa.select(t.software_configs)
        .join(t.software_deployments, _DEPLOYMENT.config_id == _CONFIG.id)
        .where(_DEPLOYMENT.server_id == server_id, _DEPLOYMENT.project == project, _CONFIG.project == project)
        .order_by(_CONFIG.name, _CONFIG.id)
    )
    return [_opened(connection, row) for row in connection.execute(query).mappings()]


def server(connection: sa.Connection, project: str, server_id: str) -> Version | None:
    """Return the newest version of a resource in the project that has this physical id."""
    resource, stack = t.resources.c, t.stacks.c
    query = (
        sa.select(sa.func.max(resource.id))
        .join(t.stacks, stack.id == resource.stack_id)
        .where(resource.physical_id == server_id, stack.project == project, resource.superseded == sa.false())
    )
    found = connection.execute(query).scalar()
    return None if found is None else rows.versions(connection, [found])[found]
