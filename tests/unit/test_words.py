"""The glossary of docs/architecture.md is law: words of its column "not" are no part of a name in `isotherm/`."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "isotherm"
GLOSSARY = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Words\n")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in GLOSSARY.splitlines() if line.startswith("| **")]
NOT = {word: row[0].strip("*") for row in ROWS for word in re.findall(r"`(\w+)`", row[2])}
# Names that contain such a word in another sense.
OTHER_SENSE = {"in_place", "repair_rest"}
# A module that speaks REST, the style of an API.
REST = "resources/openstack/rest.py"
# A docstring begins with a verb or a noun, and its subject is a thing of the program.
FIRST_WORD = re.compile(r"(What|Who|Whom|Whoever|Whether|Where|When|How|Somebody|Nobody)\b")
PERSONS = re.compile(r"(?<!\")\b(some|any|every|no)(body|one)\b|\b(whoever|he|his|him|himself)\b", re.IGNORECASE)
PLACES = ("isotherm", "bench", "tools")
STACKS = re.compile(r"\bstacks? (inside|around)\b|\bpapers\b", re.IGNORECASE)

# Class names that still have several meanings. The simulator is left out: its twins are called as the real things are.
SHARED: set[str] = {
    "Call", "Claim", "Connection", "Filters", "Gauges", "Input", "Kind", "Member",
    "Part", "Process", "Registry", "Service", "Tuning", "Unavailable", "Version",
}


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a module defines: classes, functions, parameters, attributes, constants; no local variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _assigned(node)


def _assigned(node: ast.Module | ast.ClassDef) -> Iterator[tuple[str, int]]:
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        for target in targets:
            yield from ((part.id, part.lineno) for part in ast.walk(target) if isinstance(part, ast.Name))


def words_of(name: str) -> set[str]:
    """Split a name: `LocalSight` and `_local_sight` are made of local and sight."""
    plain = name.lower() if name.isupper() else name
    for phrase in OTHER_SENSE:
        plain = plain.replace(phrase, "")
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain)}


def uses(file: Path) -> Iterator[tuple[str, str]]:
    """Yield each word of the list "not" in the names of a file, with the place."""
    where = file.relative_to(PACKAGE).as_posix()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for name, line in [("" if where == REST else file.stem, 1), *names(tree)]:
        for word in words_of(name) & NOT.keys():
            yield word, f"{where}:{line}: {name} (say: {NOT[word]})"


def test_names_use_the_words_of_the_glossary() -> None:
    wrong = [where for file in sorted(PACKAGE.rglob("*.py")) for _, where in uses(file)]
    assert not wrong, "\n".join(wrong)


def test_the_list_is_read() -> None:
    assert {"papers", "ears", "doors", "sight", "foresight", "spare", "bury", "rest", "custody"} <= NOT.keys()
    assert len(ROWS) >= 50


def test_every_line_of_the_glossary_has_a_meaning() -> None:
    assert [row[0] for row in ROWS if len(row) != 3 or not row[1].endswith(".")] == []


@pytest.mark.parametrize(("name", "words"), [
    ("LocalSight", {"local", "sight"}), ("_FAR_EARS", {"far", "ears"}), ("in_place_of", {"of"}), ("lookup", {"lookup"})])
def test_a_name_is_split_into_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def docstrings(places: tuple[str, ...] = PLACES) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of the package, the benchmarks and the tools, each with its file."""
    for file in (file for place in places for file in sorted((ROOT / place).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield file.relative_to(ROOT).as_posix(), ast.get_docstring(node) or ""


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    """Say "Return the due nodes", not "What is due"."""
    assert [(where, text[:60]) for where, text in docstrings() if FIRST_WORD.match(text)] == []


def test_a_docstring_speaks_of_things_of_the_program() -> None:
    """The subject of a docstring is a thing of the program, such as the worker that holds the lease."""
    assert [(where, found[0]) for where, text in docstrings((*PLACES, "tests")) if (found := PERSONS.search(text))] == []


def test_comments_speak_of_things_of_the_program() -> None:
    """Comments of the package use the words of the glossary too: nested and outer stacks, export documents."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        with tokenize.open(file) as source:
            comments = [(token.start[0], token.string) for token in tokenize.generate_tokens(source.readline)
                        if token.type == tokenize.COMMENT]
        found += [f"{file.relative_to(ROOT)}:{line}: {text}" for line, text in comments
                  if PERSONS.search(text) or STACKS.search(text)]
    assert found == []


def test_pages_speak_of_things_of_the_program() -> None:
    """The glossary and the decision about words quote the words that are not used."""
    quoted = {ROOT / "docs" / "architecture.md", ROOT / "docs" / "decisions" / "0026-plain-words.md"}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changelog.d").glob("*.md")]
    found = [f"{page.relative_to(ROOT)}:{number}: {line}" for page in pages if page not in quoted
             for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
             if PERSONS.search(line) or STACKS.search(line)]
    assert found == []


def test_docstrings_say_nested_and_outer_stack() -> None:
    assert [(where, found[0]) for where, text in docstrings() if (found := STACKS.search(text))] == []


def test_a_class_name_has_one_meaning() -> None:
    modules: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        where = file.relative_to(PACKAGE).as_posix()
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not where.startswith("sim/"):
                modules.setdefault(node.name, []).append(where)
    assert {name: found for name, found in modules.items() if len(found) > 1 and name not in SHARED} == {}
