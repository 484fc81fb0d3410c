"""docs/history-and-partial-updates.md: its examples work, one after another."""

from __future__ import annotations

import re
from pathlib import Path

from isotherm.cli import codes
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "history-and-partial-updates.md").read_text(encoding="utf-8")


def test_the_examples_work(run: Run) -> None:
    typed = re.findall(r"^\$ isotherm (.+)$", PAGE, re.MULTILINE)
    assert len(typed) == 11
    shown = {}
    for line in typed:
        ran = run(*(str(ROOT / word) if word.startswith("examples/") else word for word in line.split()))
        assert ran.code == codes.OK, (line, ran.err)
        shown[line] = ran.out
    assert [line.split()[0] for line in shown["history web"].splitlines()[1:]] == ["3", "2", "1"]
    assert "+" in shown["diff web 1 3"] or "servers" in shown["diff web 1 3"]
    assert "To finish: isotherm retry web" in shown["show web"]
    assert run("show", "web", "--json").data["left_out"] == []
