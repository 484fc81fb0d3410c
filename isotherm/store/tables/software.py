"""Software configs and deployments."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Json, LongName, Name, Text, Time, Uuid, index, metadata

software_configs = sa.Table(
    "software_configs",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("name", LongName),
    sa.Column("group", LongName),
    # The config itself, its inputs, outputs and options.
    sa.Column("document", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_software_configs_project", "project", "created_at", "id"),
)

software_deployments = sa.Table(
    "software_deployments",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    # The stack of the resource that created it; NULL for one created through the API.
    sa.Column("stack_id", Uuid),
    sa.Column("server_id", LongName),
    sa.Column("config_id", Uuid, nullable=False),
    sa.Column("action", Name),
    sa.Column("status", Name),
    sa.Column("status_reason", Text, nullable=False),
    sa.Column("input_values", Json, nullable=False),
    sa.Column("output_values", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    index("ix_software_deployments_server_id", "server_id", mysql_length=255),
    sa.Index("ix_software_deployments_config_id", "config_id"),
    sa.Index("ix_software_deployments_project", "project", "created_at", "id"),
)
