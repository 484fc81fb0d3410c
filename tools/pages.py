"""Writes the generated parts of the pages: packages, layers, invariants, commands and decisions.

    python tools/pages.py

A generated part stands between `<!-- NAME: written by tools/pages.py -->` and `<!-- end of NAME -->`. The sources are read
as text, never imported. `tests/unit/test_documentation.py` fails when a page is stale.
"""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "isotherm"
DECISIONS = ROOT / "docs" / "decisions"


class Room(NamedTuple):
    """A package of `isotherm`, or a module right under it, with the text of its docstring."""

    name: str
    docstring: str
    modules: list[str]


class Decision(NamedTuple):
    number: str
    title: str
    status: str
    file: str


def docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def rooms() -> list[Room]:
    """Return every package below `isotherm` and the modules at its top, in the order of their names."""
    found = [Room(file.stem, docstring(file), []) for file in PACKAGE.glob("*.py") if not file.name.startswith("__")]
    for file in PACKAGE.rglob("__init__.py"):
        folder = file.parent
        if folder != PACKAGE:
            modules = sorted(one.stem for one in folder.glob("*.py") if one.name != "__init__.py")
            found.append(Room(".".join(folder.relative_to(PACKAGE).parts), docstring(file), modules))
    return sorted(found, key=lambda room: room.name.split("."))


def packages() -> str:
    rows = "".join(f"| `{room.name}` | {first_paragraph(room.docstring)} |\n" for room in rooms())
    return f"| package | purpose |\n|---|---|\n{rows}"


def layers() -> str:
    """Draw the layers of `.importlinter`, the highest first."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter", encoding="utf-8")
    lines = contract["importlinter:contract:layers"]["layers"].split("\n")
    rows = [line.strip() for line in lines if line.strip()]
    boxes = "".join(f'    l{number}["{row}"]\n' for number, row in enumerate(rows))
    arrows = " --> ".join(f"l{number}" for number in range(len(rows)))
    return f"```mermaid\nflowchart TD\n{boxes}    {arrows}\n```\n"


def commands() -> str:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*?## (.+)$", makefile, re.M)
    rows = "".join(f"| `make {name}` | {purpose} |\n" for name, purpose in targets)
    return f"| command | purpose |\n|---|---|\n{rows}"


def decisions() -> list[Decision]:
    return [_decision(file) for file in sorted(DECISIONS.glob("[0-9]*.md"))]


def _decision(file: Path) -> Decision:
    text = file.read_text(encoding="utf-8")
    title = re.match(r"# (\d{4}):? (.+)\n", text)
    status = re.search(r"^## Status\n\n(\w+)", text, re.M)
    if not title or not status:
        raise SystemExit(f"{file.relative_to(ROOT)}: no title '# NNNN Title', or no section '## Status'")
    return Decision(title[1], title[2], status[1], file.name)


def decision_index() -> str:
    rows = "".join(f"| [{one.number}]({one.file}) | {one.title} | {one.status} |\n" for one in decisions())
    return f"| | decision | status |\n|---|---|---|\n{rows}"


def invariants() -> str:
    """Return the table of what checks each invariant: modules of the simulator, and seeded bugs of the tests."""
    names = re.findall(r"^\| \*\*(I\d+)\*\* (.+?) \|", (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8"), re.M)
    rows = "".join(f"| {id_} {title} | {_checked_in(id_)} | {_seeded_bugs(id_)} |\n" for id_, title in names)
    return f"| invariant | checked in | seeded bugs |\n|---|---|---|\n{rows}"


def _checked_in(invariant: str) -> str:
    files = [*sorted((PACKAGE / "sim").rglob("*.py")), ROOT / "tests" / "sim" / "legacy_world.py"]
    found = [file.relative_to(ROOT).as_posix() for file in files if f'"{invariant}"' in file.read_text(encoding="utf-8")]
    return ", ".join(f"`{path.removeprefix('isotherm/')}`" for path in found)


def _seeded_bugs(invariant: str) -> str:
    """Count the seeded bugs that cite the invariant, or a lesson whose line cites it."""
    lessons = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    cited = re.findall(rf"^\| \*\*([A-Z]\d+)\*\* .*\({invariant}\)", lessons, re.M)
    marks = [rf"\[{invariant}\]", *(rf"\[lesson {lesson}\]" for lesson in cited)]
    count = 0
    for file in sorted((ROOT / "tests" / "sim").glob("bugs*.py")):
        text = file.read_text(encoding="utf-8")
        is_about_it = f"({invariant})" in text.partition("\n")[0]
        count += text.count("\n@bug") if is_about_it else len(re.findall("|".join(marks), text))
    return str(count or "")


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "packages": ("docs/architecture.md", packages),
    "layers": ("docs/architecture.md", layers),
    "invariants": ("docs/invariants.md", invariants),
    "commands": ("CONTRIBUTING.md", commands),
    "decisions": ("docs/decisions/index.md", decision_index),
}


def render(text: str, name: str, part: str) -> str:
    """Return the page with one generated part replaced. Raises ValueError where the page has no place for it."""
    begin, end = f"<!-- {name}: written by tools/pages.py -->\n", f"<!-- end of {name} -->\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the page has no part '{name}', or has it twice")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{part}\n{end}{rest.partition(end)[2]}"


def current_pages() -> Iterator[tuple[Path, str]]:
    """Yield each page that has generated parts, with the text that it should have."""
    for name in dict.fromkeys(page for page, _ in PARTS.values()):
        page = ROOT / name
        text = page.read_text(encoding="utf-8")
        for part, (where, make) in PARTS.items():
            if where == name:
                text = render(text, part, make())
        yield page, text


def main() -> int:
    for page, text in current_pages():
        if page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(f"pages: wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
