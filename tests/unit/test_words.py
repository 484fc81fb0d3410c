"""The glossary of docs/architecture.md is law: words of its column "not" are no part of a name in `isotherm/`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "isotherm"
GLOSSARY = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Words\n")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in GLOSSARY.splitlines() if line.startswith("| **")]
NOT = {word: row[0].strip("*") for row in ROWS for word in re.findall(r"`(\w+)`", row[2])}
# Names that contain such a word in another sense.
OTHER_SENSE = {"in_place"}
# Words that are still in names of a package. The list only gets shorter.
EXCEPTIONS: dict[str, set[str]] = {
    "api": {"wish"},
    "engine": {"foresight", "sight", "sights", "wish"},
}


# Docstrings that still begin with a question word, by package: at most so many. The numbers only get smaller.
FIRST_WORD = re.compile(r"(What|Who|Whom|Whoever|Whether|Where|When|How|Somebody|Nobody)\b")
QUESTIONS: dict[str, int] = {"bus": 12, "engine": 51, "observer": 1, "resources": 70, "store": 87}

# Class names that still have several meanings. The simulator is left out: its twins are called as the real things are.
SHARED: set[str] = {
    "Ahead", "Around", "Call", "Choice", "Claim", "Connection", "Credential", "Cursor", "Drift", "Filters",
    "Gauges", "Group", "Input", "Kind", "Local", "Mark", "Member", "Part", "Place", "Process", "Registry", "Seen",
    "Service", "Sight", "Signals", "Software", "Stacks", "Surroundings", "Target", "Tuning", "Unavailable",
    "Version",
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
    for name, line in [(file.stem, 1), *names(tree)]:
        for word in words_of(name) & NOT.keys():
            yield word, f"{where}:{line}: {name} (say: {NOT[word]})"


def is_exception(word: str, where: str) -> bool:
    return word in EXCEPTIONS.get(where.partition(":")[0].partition("/")[0], ())


def test_names_use_the_words_of_the_glossary() -> None:
    wrong = [where for file in sorted(PACKAGE.rglob("*.py")) for word, where in uses(file) if not is_exception(word, where)]
    assert not wrong, "\n".join(wrong)


def test_the_list_is_read() -> None:
    assert {"papers", "ears", "doors", "sight", "foresight", "spare", "bury", "custody"} <= NOT.keys()
    assert len(ROWS) >= 50


def test_every_line_of_the_glossary_has_a_meaning() -> None:
    assert [row[0] for row in ROWS if len(row) != 3 or not row[1].endswith(".")] == []


@pytest.mark.parametrize(("name", "words"), [
    ("LocalSight", {"local", "sight"}), ("_FAR_EARS", {"far", "ears"}), ("in_place_of", {"of"}), ("lookup", {"lookup"})])
def test_a_name_is_split_into_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    """Say "Return the due nodes", not "What is due"."""
    found: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        where = file.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if FIRST_WORD.match(text):
                    found.setdefault(where.partition("/")[0], []).append(f"{where}: {text[:60]}")
    wrong = [line for package, lines in found.items() if len(lines) > QUESTIONS.get(package, 0) for line in lines]
    assert not wrong, "\n".join(wrong)


def test_a_class_name_has_one_meaning() -> None:
    modules: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        where = file.relative_to(PACKAGE).as_posix()
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not where.startswith("sim/"):
                modules.setdefault(node.name, []).append(where)
    assert {name: found for name, found in modules.items() if len(found) > 1 and name not in SHARED} == {}
