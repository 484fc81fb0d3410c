"""The examples of docs/protect.md: typed in the order of the page, with the output that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "protect.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "alice")
    whole, small = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "pair.yaml").write_text(whole)
    (tmp_path / "web.yaml").write_text(small)
    screens = "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
    typed = re.findall(r"^\$ isotherm ([^#\n]+)(#[^\n]*)?\n((?:(?!\$ ).*\n)*)", screens, re.MULTILINE)
    assert len(typed) >= 12
    for line, comment, shown in typed:
        ran = run(*line.split())
        assert (ran.code != codes.OK) is comment.startswith("# fails"), (line, ran.out, ran.err)
        assert not shown or _plain(ran.out) == _plain(shown), line
        if line.startswith("plan"):
            assert "refused: protected from delete by its template" in " ".join(ran.out.split())
        if line.startswith("show"):
            assert "Retained" in ran.out and "db" in ran.out


def _plain(output: str) -> list[str]:
    return [" ".join(line.split()) for line in output.strip().splitlines()]
