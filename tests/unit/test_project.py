"""The project itself: what is pinned, and what the Makefile promises."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PINS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def plain_name(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def test_the_pins_are_plain_and_name_no_registry() -> None:
    assert [pin for pin in PINS if not re.fullmatch(r"[a-z0-9.-]+==[\w.]+( ; .+)?", pin)] == []
    assert not any("://" in pin or "@" in pin for pin in PINS)


def test_everything_we_ask_for_is_pinned() -> None:
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    asked += [requirement for group in PROJECT["dependency-groups"].values() for requirement in group]
    assert {plain_name(requirement) for requirement in asked} <= {plain_name(pin) for pin in PINS}


def test_every_dependency_has_its_size_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]")[0].splitlines()
    assert len(listed) == len(PROJECT["project"]["dependencies"])
    assert [line for line in listed if not re.search(r"# \d[\d.]* MB", line)] == []


def test_entry_points_lead_to_code() -> None:
    own = {"console_scripts": PROJECT["project"]["scripts"], **PROJECT["project"]["entry-points"]}
    for group, entries in own.items():
        for name, address in entries.items():
            assert callable(EntryPoint(name, address, group).load()), f"{group}: {name}"


def test_every_command_of_the_makefile_is_explained_and_sets_itself_up() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):(.*)$", makefile, re.MULTILINE)
    for name, rest in targets:
        assert "## " in rest, f"make {name} has no line of help"
        assert name in ("help", "setup", "clean") or rest.split()[0] == "setup", f"make {name} does not set up first"
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == {name for name, _ in targets}


def test_ci_does_what_a_developer_does() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec make test")
