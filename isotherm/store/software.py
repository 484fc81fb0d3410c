"""Units of work for software configurations and deployments: rows of their own, which belong to a project."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from isotherm.store import tables as t

_CONFIG, _DEPLOYMENT = t.software_configs.c, t.software_deployments.c


def project_of(connection: sa.Connection, stack_id: str) -> str:
    return connection.execute(sa.select(t.stacks.c.project).where(t.stacks.c.id == stack_id)).scalar() or ""


def create_config(connection: sa.Connection, project: str, config: dict[str, Any], now: float) -> None:
    """The config, with its `document`: a second time changes nothing."""
    known = connection.execute(sa.select(_CONFIG.id).where(_CONFIG.id == config["id"])).first()
    if known is None:
        connection.execute(sa.insert(t.software_configs).values(project=project, created_at=now, **config))


def config(connection: sa.Connection, project: str, id_: str) -> sa.RowMapping | None:
    query = sa.select(t.software_configs).where(_CONFIG.id == id_, _CONFIG.project == project)
    return connection.execute(query).mappings().one_or_none()


def delete_config(connection: sa.Connection, project: str, id_: str) -> None:
    connection.execute(sa.delete(t.software_configs).where(_CONFIG.id == id_, _CONFIG.project == project))


def put_deployment(connection: sa.Connection, project: str, deployment: dict[str, Any], now: float) -> None:
    changed = connection.execute(
        sa.update(t.software_deployments)
        .where(_DEPLOYMENT.id == deployment["id"], _DEPLOYMENT.project == project)
        .values(updated_at=now, **deployment)
    ).rowcount
    if not changed:
        connection.execute(sa.insert(t.software_deployments).values(project=project, created_at=now, **deployment))


def deployment(connection: sa.Connection, project: str, id_: str) -> sa.RowMapping | None:
    query = sa.select(t.software_deployments).where(_DEPLOYMENT.id == id_, _DEPLOYMENT.project == project)
    return connection.execute(query).mappings().one_or_none()


def delete_deployment(connection: sa.Connection, project: str, id_: str) -> None:
    connection.execute(sa.delete(t.software_deployments).where(_DEPLOYMENT.id == id_, _DEPLOYMENT.project == project))


def deployed(connection: sa.Connection, project: str, server_id: str) -> list[sa.RowMapping]:
    """The configs of the deployments to a server, by their names."""
    query = (
        sa.select(t.software_configs)
        .join(t.software_deployments, _DEPLOYMENT.config_id == _CONFIG.id)
        .where(_DEPLOYMENT.server_id == server_id, _DEPLOYMENT.project == project, _CONFIG.project == project)
        .order_by(_CONFIG.name, _CONFIG.id)
    )
    return list(connection.execute(query).mappings())
