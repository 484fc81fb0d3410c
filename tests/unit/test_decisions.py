"""The decisions have one form, and fit on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"
FILES = sorted(FOLDER.glob("[0-9]*.md"))
SECTIONS = ["Context", "Choice", "Measured", "Consequence", "Status"]
STATUS = ("Accepted", "Replaced", "Withdrawn")
MOST_WORDS = 500


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_decision_has_the_form(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(rf"# {file.name[:4]} \S.+\n", text), "the title is '# NNNN Title', with the number of the file"
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    for section in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert section.strip(), "no section is empty"
    assert text.partition("## Status\n\n")[2].startswith(STATUS)
    assert len(text.split()) <= MOST_WORDS, "a decision fits on a page"


def test_the_numbers_have_no_gap() -> None:
    assert [int(file.name[:4]) for file in FILES] == list(range(1, len(FILES) + 1))
