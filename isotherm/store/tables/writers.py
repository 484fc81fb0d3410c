"""Rows that writers share: the write lane, the signature of each writer's last transaction, sequences of ids."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, metadata

# The write lane: one row, which a writer locks for the length of its transaction (see database/lane.py).
turns = sa.Table("turns", metadata, sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False))

# The last transaction of each writer: shows whether a commit whose answer was lost succeeded.
signatures = sa.Table(
    "signatures",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("mark", sa.String(32), nullable=False),
    sa.Column("number", Id, nullable=False),
)

sequences = sa.Table(
    "sequences",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("next", Id, nullable=False),
)
