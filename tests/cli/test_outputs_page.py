"""The examples of docs/outputs.md: typed in the order of the page, with the output that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "outputs.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("engine_at")
def test_the_examples_of_the_page_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("shared.yaml", "shop.yaml"), re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL), strict=True):
        (tmp_path / name).write_text(text)
    screens = "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
    typed = re.findall(r"^\$ isotherm ([^#\n]+)(#[^\n]*)?\n((?:(?!\$ ).*\n)*)", screens, re.MULTILINE)
    assert len(typed) >= 11
    for line, comment, shown in typed:
        ran = run(*line.split())
        assert (ran.code != codes.OK) is comment.startswith("# fails"), (line, ran.out, ran.err)
        assert not shown or ran.out == shown, line
        if line.startswith("observe"):
            assert "outputs" in ran.out and "192.0.2.2" in ran.out, ran.out
        if comment.startswith("# fails"):
            assert "Outputs of the stack are read by shared of stack shop." in " ".join(ran.err.split()), ran.err
