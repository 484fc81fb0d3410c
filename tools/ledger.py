"""Writes docs/ledger.md: each line of the ledger, and the tests that prove it.

The lines come from docs/ledger.txt, the proofs from the markers `@pytest.mark.ledger("S2.1", ...)` in the test sources.
The sources are read, not imported, so that a test whose imports are missing still counts and nothing runs. An id that
the ledger does not have is an error. `tests/unit/test_ledger.py` fails when the page is stale.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "docs" / "ledger.txt"
PAGE = ROOT / "docs" / "ledger.md"
TESTS = ROOT / "tests"

HEADING = re.compile(r"(S\d+): (.+)")
LINE = re.compile(r"(S\d+\.\d+) (.+)")


class Section(NamedTuple):
    id: str
    title: str
    lines: dict[str, str]


class Proof(NamedTuple):
    """One use of the marker: the id, the test, and its location."""

    id: str
    test: str
    place: str


def read_lines(text: str) -> list[Section]:
    sections: list[Section] = []
    for line in text.splitlines():
        if heading := HEADING.fullmatch(line):
            sections.append(Section(heading[1], heading[2], {}))
        elif entry := LINE.fullmatch(line):
            sections[-1].lines[entry[1]] = entry[2]
        elif line and not line.startswith("#"):
            raise SystemExit(f"ledger: cannot read this line: {line}")
    return sections


def marker_ids(node: ast.expr) -> Iterator[tuple[str, int]]:
    """Yield the ids in `pytest.mark.ledger("S2.1", ...)`, or in a list of marks; none for any other expression."""
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from marker_ids(item)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.mark.ledger", "mark.ledger"):
        for argument in node.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise SystemExit(f"ledger: line {argument.lineno}: an id must be written out as a text")
            yield argument.value, argument.lineno


def module_marks(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets):
            yield from marker_ids(node.value)


def proofs_in(path: str, source: str) -> Iterator[Proof]:
    """Yield the proofs of one file. A mark on a class or on the module is one proof, not one for each test in it."""
    tree = ast.parse(source, path)
    for id_, line in module_marks(tree):
        yield Proof(id_, path, f"{path}:{line}")
    yield from _claims(tree, path, path)


def _claims(parent: ast.Module | ast.ClassDef, name: str, path: str) -> Iterator[Proof]:
    for node in parent.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        test = f"{name}::{node.name}"
        for decorator in node.decorator_list:
            for id_, line in marker_ids(decorator):
                yield Proof(id_, test, f"{path}:{line}")
        if isinstance(node, ast.ClassDef):
            yield from _claims(node, test, path)


def all_proofs(tests: Path = TESTS) -> list[Proof]:
    proofs: list[Proof] = []
    for file in sorted(tests.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "mark.ledger" in source:
            proofs.extend(proofs_in(f"tests/{file.relative_to(tests).as_posix()}", source))
    return proofs


def check_ids(sections: list[Section], proofs: list[Proof]) -> None:
    known = {id_ for section in sections for id_ in section.lines}
    if wrong := [f"{proof.place}: the ledger has no line {proof.id}" for proof in proofs if proof.id not in known]:
        raise SystemExit("\n".join(wrong))


def render(sections: list[Section], proofs: list[Proof]) -> str:
    check_ids(sections, proofs)
    by_id: dict[str, list[str]] = defaultdict(list)
    for proof in proofs:
        if proof.test not in by_id[proof.id]:
            by_id[proof.id].append(proof.test)
    total = sum(len(section.lines) for section in sections)
    page = ["# The ledger", "",
            "What Isotherm was asked to do, line by line, and the tests that show it working.",
            "Written by `make ledger` from the markers of the tests: do not edit.", "",
            f"**{len(by_id)} of {total}** lines have a test."]
    for section in sections:
        page += ["", f"## {section.id} {section.title}", "", "| | line | tests that prove it |", "|---|---|---|"]
        page += [f"| {id_} | {sentence.replace('|', chr(92) + '|')} | {_cell(by_id.get(id_, []))} |"
                 for id_, sentence in section.lines.items()]
    return "\n".join(page) + "\n"


def _cell(tests: list[str]) -> str:
    return "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests) or "none yet"


def current_page() -> str:
    return render(read_lines(LINES.read_text(encoding="utf-8")), all_proofs())


def main() -> int:
    page = current_page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        PAGE.write_text(page, encoding="utf-8")
        print(f"ledger: wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
