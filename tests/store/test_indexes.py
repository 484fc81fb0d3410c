"""Indexes have the options of the database that they are made on, and the tables load the dialect of none."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.store import tables as t

KEY = "CREATE INDEX ix_resources_physical_id ON resources"
DUE = "CREATE INDEX ix_nodes_due ON nodes (due)"
EXPECTED = {
    "sqlite://": (f"{KEY} (physical_id)", f"{DUE} WHERE due IS NOT NULL"),
    "postgresql+psycopg://": (f"{KEY} USING hash (physical_id)", f"{DUE} WHERE due IS NOT NULL"),
    "mysql+pymysql://": (f"{KEY} (physical_id(255))", DUE),
}


def made(url: str) -> list[str]:
    """Return the statements that make all tables on the database of a URL."""
    found: list[str] = []

    def take(statement: Any, *_: Any, **__: Any) -> None:
        found.append(str(statement.compile(dialect=engine.dialect)).strip())

    engine = sa.create_mock_engine(url, take)
    t.metadata.create_all(engine, checkfirst=False)
    return found


@pytest.mark.parametrize("url", EXPECTED)
def test_an_index_has_the_options_of_its_database(url: str) -> None:
    assert set(EXPECTED[url]) <= set(made(url))


def test_texts_are_compared_by_code_point_on_mariadb() -> None:
    tables = [text for text in made("mysql+pymysql://") if text.startswith("CREATE TABLE")]
    assert tables
    assert all("COLLATE utf8mb4_nopad_bin" in text for text in tables)
    assert any(" LONGTEXT" in text for text in tables)


def test_the_tables_load_no_dialect_of_a_server() -> None:
    code = "import sys; import isotherm.store.tables; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True).stdout.split()
    assert not {"sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql"} & set(loaded)
