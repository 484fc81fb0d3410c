"""A real Heat on MariaDB, RabbitMQ and Keystone makes stacks, on both of its paths; `import-heat` brings them over.

`make import-heat` runs it: about two minutes, with Heat's environment made before; making it takes two more. The
tests in tests/importing do the same with a record of Heat's database, and are part of `make test`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.engine.process.embedded import Embedded
from tests.e2e.conftest import Home
from tests.importing import story
from tools import real_heat, services
from tools.real_heat import sample_stacks

pytestmark = pytest.mark.skipif(not os.environ.get("ISOTHERM_REAL_HEAT"),
                                reason="`make import-heat` runs it: it takes minutes")
# What did not end well in Heat, or rests: there, an update is not a matter of nothing.
BADLY = ("failed", "stuck", "resting")


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Heat that has made its stacks, and has no engine any more; with what it said of them."""
    try:
        with real_heat.started(tmp_path_factory.mktemp("heat")) as running:
            yield running, sample_stacks.fill(running)
    except services.Impossible as error:
        pytest.skip(f"NO REAL HEAT, SO import-heat WAS NOT TESTED ON ONE: {error}")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def command(path: Any, running: Any, *more: Any) -> Any:
    (path.parent / "key").write_text(running.key)
    code, out = Home(path).run("import-heat", "--database-url", running.database, "--key-file", path.parent / "key",
                               "--project", "default", "--json", *more)
    assert code == 5, out  # one of them stays
    return json.loads(out)["stacks"]


def test_the_whole_story(heat: Any, path: Path) -> None:
    running, told = heat
    stays = told.pop("stuck-legacy")
    tried = command(path, running, "--dry-run")
    assert {one["stack_name"]: one["outcome"] for one in tried} == {
        **dict.fromkeys(told, "imported"), "stuck-legacy": "refused"}
    assert next(one["problems"][0] for one in tried if one["id"] == stays["id"]).startswith("an update that failed")
    assert command(path, running) == tried
    assert {one["outcome"] for one in command(path, running)} == {"already here", "refused"}
    engine = Embedded(path)
    try:
        asyncio.run(story.is_as_heat_told(engine, told))
        asyncio.run(story.no_op_changes_nothing(engine, [name for name in told if name.partition("-")[0] not in BADLY]))
        asyncio.run(story.delete_removes_all(engine, list(told)))
    finally:
        engine.close()


def test_postgresql_is_read_just_as_well(heat: Any, tmp_path: Path) -> None:
    """The same rows in PostgreSQL: every one of them is understood as before."""
    running, _ = heat
    with services.running(["postgresql"]) as found:
        copy(running.database, found["postgresql"].url)
        engine = Embedded(tmp_path)
        try:
            there, here = (asyncio.run(story.bring(engine, url, story.wish(running.key, dry_run=True)))
                           for url in (running.database, found["postgresql"].url))
        finally:
            engine.close()
    assert [one.as_dict() for one in here] == [one.as_dict() for one in there] and len(here) == 18


def copy(source: str, target: str) -> None:
    metadata, plain = sa.MetaData(), sa.MetaData()
    engine, other = (sa.create_engine(url, poolclass=sa.NullPool) for url in (source, target))
    metadata.reflect(engine)
    with engine.connect() as reading, other.begin() as writing:
        for table in metadata.sorted_tables:
            copied = sa.Table(table.name, plain, *(sa.Column(one.name, generic(one.type)) for one in table.columns))
            copied.create(writing)
            if found := [dict(row) for row in reading.execute(sa.select(table)).mappings()]:
                writing.execute(sa.insert(copied), found)


def generic(type_: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """The type by another database's name: texts lose the rules by which the first one sorts them."""
    found = type_.as_generic(allow_nulltype=True)
    return sa.Text() if isinstance(found, sa.String) else found
