"""Two adjacent versions share a database: the older one works with the additions of the newer one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.script.revision import Revision

from isotherm import errors
from isotherm.engine.process.home import Folder
from isotherm.engine.process.home_files import CONFIG
from isotherm.store.database import schema
from tests import databases
from tests.engine.conftest import Lab, resource


@pytest.mark.parametrize(("found", "known", "works"), [
    ("0002_0001", "0001", True), ("0003_0002", "0002_0001", True), ("0003_0001", "0001", True),
    ("0003_0002", "0001", False), ("0002", "0001", False), ("0010_0009", "0009_0008", True)])
def test_a_schema_tells_the_oldest_code_that_works_on_it(found: str, known: str, works: bool) -> None:
    assert schema.is_compatible(found, known) is works
    # Alembic refuses some characters in the name of a revision.
    assert [Revision(name, None).revision for name in (found, known)] == [found, known]


@pytest.fixture
def newer(tmp_path: Path) -> Callable[[str], None]:
    """A database that a newer version has had: a column more in each table, a table more, another number."""
    if databases.ON != "sqlite":
        # A database of its own: other tests do not have these tables.
        (tmp_path / CONFIG).write_text(f"[database]\nconnection = {databases.pool().empty()}\n")
    Folder(tmp_path).close()

    def change(version: str) -> None:
        with databases.looking(tmp_path) as connection:
            for table in sa.inspect(connection).get_table_names():
                connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN of_the_future VARCHAR(10)")
            connection.exec_driver_sql("CREATE TABLE of_the_future (id INTEGER PRIMARY KEY)")
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")

    return change


def test_the_older_one_works_on_what_was_added(newer: Callable[[str], None], lab: Callable[..., None]) -> None:
    newer(f"9999_{schema.HEAD}")

    async def story(it: Lab) -> None:
        assert (await it.create({"a": resource(), "b": resource(needs=["a"])}))["stack_status"] == "CREATE_COMPLETE"
        assert (await it.update({"a": resource("y")}))["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_one_that_is_too_old_does_not_touch_it(newer: Callable[[str], None], tmp_path: Path) -> None:
    newer("9999_9998")
    with pytest.raises(errors.UserError, match="newer version"):
        Folder(tmp_path)
