"""Every citation resolves: invariants (I7), lessons (lesson A1), decisions (decision 10), lines of the ledger (S2.9).

So do the names of tests on pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools import ledger

ROOT = Path(__file__).resolve().parents[2]
# `test_ledger.py` makes up lines of its own; `ledger.txt` is where the lines come from.
LEFT_OUT = {"test_ledger.py", "ledger.txt"}
FOLDERS = ("isotherm", "tests", "docs", "tools", "bench", "examples")

INVARIANT = re.compile(r"\bI(\d{1,2})\b")
OTHER_FORM = re.compile(r"\bINV-\d+\b")
LESSON = re.compile(r"\b[Ll]essons? ((?:[A-HJ-M]\d{1,2}(?:, | and | to (?:lesson )?)?)+)")
DECISION = re.compile(r"\b[Dd]ecisions? (\d{1,4})\b")
LINE = re.compile(r"\bS[0-9]\.\d+\b")
# A test that a page names, and the module that the page says it is in, if it does so on the same line.
TEST = re.compile(r"`(test_\w+)`(?:[^`|\n]*`(tests/[\w/]+\.py)`)?")


def sources() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".py", ".md") and file.name not in LEFT_OUT:
                yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md"):
        yield name, (ROOT / name).read_text(encoding="utf-8")


def dangling(pattern: re.Pattern[str], known: set[str]) -> list[str]:
    """Return each citation that names nothing known, with its file."""
    return [f"{where}: {match.group()}" for where, text in sources() for match in pattern.finditer(text)
            if not set(re.findall(r"[A-Z]?\d+(?:\.\d+)?", match.group())) <= known]


def headings(page: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE))


def test_invariants() -> None:
    known = headings("invariants.md", r"^\| \*\*(I\d+)\*\* ")
    assert known == {f"I{number}" for number in range(1, 20)}
    assert dangling(INVARIANT, known) == []
    assert [f"{where}: cite it as I7" for where, text in sources() if where != "tests/unit/test_citations.py"
            and OTHER_FORM.search(text)] == []


def test_lessons() -> None:
    assert dangling(LESSON, headings("lessons.md", r"^\| \*\*([A-Z]\d+)\*\* ")) == []


def test_decisions() -> None:
    numbers = {int(file.name[:4]) for file in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    assert dangling(DECISION, {form for number in numbers for form in (str(number), f"{number:04}")}) == []


def test_lines_of_the_ledger() -> None:
    sections = ledger.read_lines(ledger.LINES.read_text(encoding="utf-8"))
    assert dangling(LINE, {id_ for section in sections for id_ in section.lines}) == []


def test_tests_that_a_page_names() -> None:
    """A renamed test is renamed on the pages, too."""
    pages = [(where, text) for where, text in sources() if where.endswith(".md")]
    named = [(where, *match.groups("")) for where, text in pages for match in TEST.finditer(text)]
    assert len(named) > 5
    texts = {where: text for where, text in sources() if where.startswith("tests/")}
    known = {where: set(re.findall(r"^def (test_\w+)", text, re.MULTILINE)) for where, text in texts.items()}
    known[""] = set().union(*known.values())
    assert [(where, test, file) for where, test, file in named if test not in known.get(file, set())] == []
