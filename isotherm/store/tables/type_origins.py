"""The packages and files that resource types of plug-ins came from, so that a missing one can be named."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Name, Text, metadata

type_origins = sa.Table(
    "type_origins",
    metadata,
    sa.Column("type", Name, primary_key=True),
    # A package with its version, or the path of a file.
    sa.Column("origin", Text, nullable=False),
)
