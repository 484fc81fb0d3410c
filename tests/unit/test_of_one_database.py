"""Every test module runs on each database, or a list says why not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import of_one_database
from tests.engine.conftest import PATHS
from tests.engine.differences import OF_ONE_PATH
from tools import gate

MODULES = {of_one_database.module_of(path): path for path in of_one_database.ROOT.rglob("test_*.py")}
TESTS = {line.split("(")[0].split()[-1] for path in MODULES.values() for line in path.read_text().splitlines()
         if line.lstrip().startswith(("def test_", "async def test_"))}


def item(module: str, name: str = "test_it") -> Any:
    return SimpleNamespace(path=of_one_database.ROOT / f"{module}.py", originalname=name, name=name)


def test_every_folder_runs_on_servers_or_says_why_not() -> None:
    folders = {module.split("/")[0] for module in MODULES}
    assert folders == of_one_database.ON_SERVERS.keys() | of_one_database.ON_SQLITE.keys()
    assert not of_one_database.ON_SERVERS.keys() & of_one_database.ON_SQLITE.keys()
    assert {f"tests/{folder}" for folder in of_one_database.ON_SERVERS} == set(gate.FUNCTIONAL)


def test_the_lists_name_what_there_is() -> None:
    listed = of_one_database.ONCE.keys() | of_one_database.OF_SERVERS.keys()
    assert listed <= MODULES.keys()
    assert not of_one_database.ONCE.keys() & of_one_database.OF_SERVERS.keys()
    assert {module.split("/")[0] for module in listed} <= of_one_database.ON_SERVERS.keys()
    assert of_one_database.OF_SQLITE.keys() <= TESTS


@pytest.mark.parametrize("whole", [False, True])
def test_no_module_is_left_out_everywhere(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    monkeypatch.setattr(of_one_database, "ALL", whole)
    apart = {on: {module for module in MODULES if of_one_database.is_apart(item(module), on)}
             for on in ("sqlite", *gate.SERVERS)}
    assert apart["sqlite"] == of_one_database.OF_SERVERS.keys()
    for server in gate.SERVERS:
        assert apart[server] == (set() if whole else of_one_database.ONCE.keys())


def test_what_is_about_sqlite_is_left_out_on_servers_alone() -> None:
    for name in of_one_database.OF_SQLITE:
        assert not of_one_database.is_apart(item("store/test_store", name), "sqlite")
        assert of_one_database.is_apart(item("store/test_store", name), "postgresql")


def test_both_paths_are_told_where_the_run_is_on_sqlite_or_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_one_database, "ALL", False)
    assert of_one_database.paths("sqlite", PATHS) == PATHS == ("convergence", "legacy")
    assert of_one_database.paths("mariadb", PATHS) == ("convergence",)
    monkeypatch.setattr(of_one_database, "ALL", True)
    assert of_one_database.paths("mariadb", PATHS) == PATHS


def test_modules_about_the_legacy_path_run_on_servers() -> None:
    assert {"test_legacy", "test_migrate"} <= OF_ONE_PATH.keys()
    assert not {"engine/test_legacy", "engine/test_migrate"} & of_one_database.ONCE.keys()
