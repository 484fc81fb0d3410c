"""Sessions of browsers, and the one-time codes that begin them."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Text, Time, metadata

page_sessions = sa.Table(
    "page_sessions",
    metadata,
    # The hash of the cookie, or of the code: a copy of the table gives no access.
    sa.Column("id", sa.String(64), primary_key=True),
    # A code that begins a session, and is not one itself.
    sa.Column("is_code", sa.Boolean, nullable=False),
    sa.Column("project", sa.String(64), nullable=False),
    # The token that the session stands for, sealed; empty without Keystone.
    sa.Column("token", Text, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("until", Time, nullable=False),
    sa.Index("ix_page_sessions_until", "until"),
)
