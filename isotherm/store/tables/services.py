"""The processes of the service on all hosts, and their load.

A row is what its process last reported. It is only shown: leases decide which process may do what.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Time, Uuid, metadata

services = sa.Table(
    "services",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    # The name under which it holds leases.
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started_at", Time, nullable=False),
    sa.Column("seen_at", Time, nullable=False),
    # Steps, requests or observations in progress, and the number of leases that it holds.
    sa.Column("load", sa.Integer, nullable=False),
    sa.Column("leases", sa.Integer, nullable=False),
    sa.Column("version", sa.String(64), nullable=False),
    # Proved dead by another process.
    sa.Column("lost", sa.Boolean, nullable=False),
)
