"""A recorded Heat: all rows of a real one's database, and what it said of its stacks. Loaded into SQLite, to be read.

`python -m tools.real_heat --record tests/importing/heat.json` makes the record.
"""

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("heat.json")


@cache
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text())
    return found


def load(path: Path, *changes: tuple[str, tuple[Any, ...]]) -> str:
    """The record as a database, after these statements; answers its URL."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, found in record()["tables"].items():
            names = list(found[0]) if found else ["id", "stack_id", "name", "tenant", "group", "config", "created_at"]
            columns = ", ".join(f'"{name}"' for name in names)
            connection.execute(f'create table "{table}" ({columns})')
            connection.executemany(f'insert into "{table}" values ({", ".join("?" * len(names))})',
                                   [[_flat(row[name]) for name in names] for row in found])
        for statement, values in changes:
            connection.execute(statement, values)
    return f"sqlite:///{path}"


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
