"""All rows of a Heat's database as one JSON text, for tests that run without a Heat."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from tools.real_heat import Heat

# Tables that an import does not read.
_LEFT_OUT = {"user_creds", "service", "event", "sync_point"}


def text(heat: Heat, stacks: dict[str, Any]) -> str:
    """Return the rows by table, Heat's description of its stacks, and its key."""
    metadata = sa.MetaData()
    engine = sa.create_engine(heat.database, poolclass=sa.NullPool)
    metadata.reflect(engine)
    with engine.connect() as connection:
        tables = {table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
                  for table in metadata.sorted_tables if table.name not in _LEFT_OUT}
    return json.dumps({"key": heat.key, "told": stacks, "tables": tables}, default=str, indent=0) + "\n"
