"""The examples of docs/import-and-move.md do what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "import-and-move.md").read_text(encoding="utf-8")


def files() -> dict[str, str]:
    """Return the files of the page: each begins with its name in a comment."""
    return dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))


def typed(section: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the commands of a section, each with the lines of output that the page shows."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command in block.split("$ isotherm ")[1:]:
            line, *output = command.strip().splitlines()
            yield line.split(), [one.strip() for one in output if one.strip()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


def play(run: Run, section: str, physical_id: str = "") -> int:
    count = 0
    for count, (words, output) in enumerate(typed(section), 1):  # noqa: B007 - the last number is the count
        ran = run(*(word.replace("=ID", f"={physical_id}") for word in words))
        assert ran.code == codes.OK, (words, ran.err)
        shown = [line.strip() for line in ran.out.splitlines()]
        for line in (one.replace("ID", physical_id or "ID") for one in output):
            assert any(one.startswith(line) for one in shown), (line, ran.out)
    return count


def test_a_resource_is_renamed(run: Run) -> None:
    assert play(run, "Rename a resource") == 4
    assert [one["resource_name"] for one in run("resources", "site", "--json").data] == ["home", "shop"]


def test_a_resource_moves_to_another_stack(run: Run) -> None:
    run("deploy", "site", "-t", "after.yaml")
    before = {one["resource_name"]: one["physical_resource_id"] for one in run("resources", "site", "--json").data}
    assert play(run, "Move a resource to another stack") == 4
    after = {one["resource_name"]: one["physical_resource_id"] for one in run("resources", "archive", "--json").data}
    assert after["branch"] == before["shop"]


def test_an_object_is_imported(run: Run) -> None:
    run("deploy", "old", "-t", "before.yaml")
    before = {one["resource_name"]: one["physical_resource_id"] for one in run("resources", "old", "--json").data}
    assert run("abandon", "old", "--yes").code == codes.OK
    assert play(run, "Import existing objects", before["index"]) == 4
