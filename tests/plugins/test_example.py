"""The package in examples/plugin is built, installed, tested with its own tests, and used by a stack."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
GUIDE = ROOT / "docs" / "plugins.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the package into a folder of its own, and return an environment that finds it."""
    source, target = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, source)
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    pip = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    subprocess.run([*pip, "--no-deps", "--target", str(target), str(source)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(target), str(ROOT))), "PYTHONDONTWRITEBYTECODE": "1"}


def test_its_own_tests_pass(installed: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), "tests"],
                          check=False, text=True, capture_output=True, cwd=tmp_path, env=installed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stack_uses_it_and_names_it_when_it_is_gone(installed: dict[str, str], tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "shop.db"
    template = tmp_path / "shop.yaml"
    template.write_text((EXAMPLE / "shop.yaml").read_text())

    def run(*arguments: object, environment: dict[str, str] = installed) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-m", "isotherm.cli.main", *map(str, arguments), "--json"], check=False,
                              text=True, capture_output=True, env={**environment, "ISOTHERM_HOME": str(home)}, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    def ask(statement: str) -> list[Any]:
        database = sqlite3.connect(file)
        try:
            with database:
                return database.execute(statement).fetchall()
        finally:
            database.close()

    listed = json.loads(run("plugin", "list")[1])["plugins"]
    assert [(one["group"], one["provides"], one["error"]) for one in listed] == [
        ("isotherm.types", ["Example::SQLite::Table"], ""), ("isotherm.constraints", ["example.sqlite_name"], ""),
        ("isotherm.functions", ["sqlite_columns"], ""), ("isotherm.stack_lifecycle", ["sqlite"], "")]
    assert "must not begin with sqlite_" in run("deploy", "sqlite_shop", "-t", template, "-p", f"file={file}")[1]
    broken = tmp_path / "broken.yaml"
    for wrong, why in (("id NUMBER", "customers.properties.columns.id: "), ("id", "takes a string such as")):
        broken.write_text(template.read_text().replace("id INTEGER", wrong))
        code, printed = run("validate", broken, "-p", f"file={file}")
        assert code != 0
        assert why in printed
    code, printed = run("deploy", "shop", "-t", template, "-p", f"file={file}")
    assert code == 0, printed
    ask("INSERT INTO customers VALUES (1, 'Ada')")
    template.write_text(template.read_text().replace("name TEXT", "name TEXT, city TEXT"))
    code, printed = run("update", "shop", "-t", template, "-p", f"file={file}")
    assert code == 0, printed
    assert ask("SELECT * FROM customers") == [(1, "Ada", None)]
    assert json.loads(run("outputs", "shop", "rows")[1])["output_value"] == 1
    code, printed = run("delete", "shop", "--yes", environment=dict(os.environ))
    assert code != 0
    assert "It came with isotherm-example-sqlite 1.0.0, which is not installed here." in printed
    code, printed = run("delete", "shop", "--yes")
    assert code == 0, printed
    assert ask("SELECT name FROM sqlite_master") == [("isotherm_tables",), ("sqlite_autoindex_isotherm_tables_1",)]


def test_the_guide_quotes_the_example() -> None:
    files = [path.read_text() for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml", ".yaml")]
    blocks = re.findall(r"^```(?:python|toml|yaml)\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 10
    for block in blocks:
        indented = textwrap.indent(block, "    ")
        assert any(block in text or indented in text for text in files), f"not in examples/plugin:\n{block}"
