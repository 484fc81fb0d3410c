"""The table of services: which processes there are, on all hosts, and how much each of them has to do.

A row is what its process last said of itself. Nothing hangs on it but what is shown: who may do what is decided by leases.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.stacks import Time, Uuid, metadata

services = sa.Table(
    "services",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    # As it stands in the rows that it holds.
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started_at", Time, nullable=False),
    sa.Column("seen_at", Time, nullable=False),
    # Steps, requests or looks that are under way; and how many rows it holds a lease of.
    sa.Column("load", sa.Integer, nullable=False),
    sa.Column("leases", sa.Integer, nullable=False),
    sa.Column("version", sa.String(64), nullable=False),
    # Somebody has proved that it is dead.
    sa.Column("lost", sa.Boolean, nullable=False),
)
