"""What is shipped for systemd and for containers: it is well formed, and names only what there is."""

from __future__ import annotations

import configparser
import contextlib
import importlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from isotherm.cli import main
from isotherm.config import files
from tools import release_check

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "packaging" / "systemd").glob("*.service"))
COMPOSE = yaml.safe_load((ROOT / "packaging" / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: one for name, one in COMPOSE["services"].items() if one.get("image") == "isotherm"}
DOCKERFILE = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8")


def check(arguments: list[str], tmp_path: Path) -> None:
    """That `isotherm` understands this; files that it names exist on the machine that it is for."""
    file = tmp_path / "isotherm.conf"
    file.touch()
    own = [str(file) if part.startswith("/etc/isotherm/") else part for part in arguments]
    module, _, attribute = main.COMMANDS[own[0]][0].partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    command.make_context(own[0], own[1:])


def section(unit: Path, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(unit)
    return dict(parser[name])


def test_one_version_is_named_everywhere() -> None:
    """Fragments of news may wait for the next release; `make release-check` wants them in the changelog."""
    assert [one for one in release_check.problems_of_text() if "fragments" not in one] == []


def test_a_tree_that_cannot_be_released_says_why(tmp_path: Path) -> None:
    for folder in ("isotherm", "changelog.d"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "9.0.0"\n')
    (tmp_path / "isotherm" / "__init__.py").write_text('__version__ = "8.0.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    (tmp_path / "changelog.d" / "a.fixed.md").touch()
    found = release_check.problems_of_text(tmp_path)
    assert [one.split()[0] for one in found] == ["isotherm/__init__.py", "the", "changelog.d"]


@pytest.mark.parametrize(("files", "missing"), [
    ([], "index.html"), (["index.html"], "/ui/assets/app-1A2B3C4D.js"), (["index.html", "assets/app-1A2B3C4D.js"], ""),
])
def test_a_wheel_without_the_page_is_no_release(tmp_path: Path, files: list[str], missing: str) -> None:
    wheel = tmp_path / "isotherm.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in files:
            archive.writestr(f"isotherm/web/static/{name}", '<script src="/ui/assets/app-1A2B3C4D.js"></script>')
    with pytest.raises(SystemExit, match=missing) if missing else contextlib.nullcontext():
        release_check.check_wheel(wheel)


def test_there_is_a_unit_for_each_service() -> None:
    assert [unit.stem for unit in UNITS] == ["isotherm-api", "isotherm-engine", "isotherm-observer"]
    assert set(OURS) == {"api", "engine", "observer"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_run_commands_that_there_are(unit: Path, tmp_path: Path) -> None:
    service = section(unit, "Service")
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "isotherm" and f"isotherm-{arguments[0]}" == unit.stem
    check(arguments, tmp_path)
    # Only a parent can be told to renew its workers: SIGHUP ends any other process.
    assert "--workers" in arguments and service["ExecReload"].endswith("-HUP $MAINPID")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_hold_before_systemd(unit: Path, tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("there is no systemd-analyze here")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/isotherm/bin/isotherm", sys.executable))
    done = subprocess.run([tool, "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


@pytest.mark.parametrize("name", OURS)
def test_containers_run_commands_that_there_are(name: str, tmp_path: Path) -> None:
    assert OURS[name]["command"][0] == name
    check(OURS[name]["command"], tmp_path)


def test_the_options_of_the_containers_are_known(tmp_path: Path) -> None:
    file = tmp_path / "isotherm.conf"
    file.write_text(re.sub(r"\$\{\w+:\?[^}]*\}", "secret", COMPOSE["configs"]["options"]["content"]))
    assert files.unknown([str(file)]) == []
    assert "secret@127.0.0.1" in files.read([file]).database_connection


def test_what_containers_refer_to_is_there() -> None:
    def sources(service: dict[str, Any]) -> set[str]:
        return {volume.partition(":")[0] for volume in service.get("volumes", [])}

    for name, service in COMPOSE["services"].items():
        assert sources(service) <= set(COMPOSE["volumes"]), name
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"]), name
        for waited in service.get("depends_on", {}):
            assert "healthcheck" in COMPOSE["services"][waited]
    built = OURS["api"]["build"]
    assert (ROOT / "packaging" / built["context"] / built["dockerfile"]).samefile(ROOT / "packaging" / "Dockerfile")


def test_the_image_is_made_of_what_there_is() -> None:
    for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / source).exists() for source in line.split())
    extras = re.search(r"/source\[([\w,]+)\]", DOCKERFILE)
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert "isotherm" in project["scripts"] and 'ENTRYPOINT ["isotherm"]' in DOCKERFILE
    (command,) = re.findall(r'^CMD \["(\w+)"\]$', DOCKERFILE, re.MULTILINE)
    assert command in main.COMMANDS
