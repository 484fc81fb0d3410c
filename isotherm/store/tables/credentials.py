"""Credentials that the service acts with for a stack."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Text, Time, Uuid, metadata

# What the service acts with for the user of a stack, after the request has ended. The secret is sealed.
credentials = sa.Table(
    "credentials",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("user_id", sa.String(64), nullable=False),
    sa.Column("secret", Text, nullable=False),
    # NULL until the stack exists.
    sa.Column("stack_id", Uuid),
    # Another credential of the stack has replaced it.
    sa.Column("replaced", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    # Revoking it failed: the earliest moment of the next attempt.
    sa.Column("later", Time, nullable=False),
    sa.Index("ix_credentials_stack_id", "stack_id"),
)
