"""No code of `isotherm/` exists for tests alone: every name that a module defines is used by the package itself."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "isotherm").rglob("*.py"))}
# Names that this test does not see in use, each with its user.
USED_OUTSIDE = {
    "isotherm.api.policy.rules.defaults": "an entry point of pyproject.toml, for the tools of oslo.policy",
    "isotherm.store.database.postgresql.only_reads": "called on the module of the driver (isotherm.store.database.connect)",
    "isotherm.store.database.postgresql.connect": "called on the module of the driver (isotherm.store.database.connect)",
    "isotherm.store.database.mariadb.connect": "called on the module of the driver (isotherm.store.database.connect)",
}
DOTTED = re.compile(r"isotherm(\.\w+)+")
ADDRESS = re.compile(r"(isotherm[\w.]*)[:.](\w+)")


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the functions, classes and constants of a module. A decorated function is registered somewhere."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if not node.decorator_list or isinstance(
                    node, ast.ClassDef):
                yield node.name, node.lineno
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node.lineno


def uses(tree: ast.Module, module: str) -> dict[str, set[str]]:
    """Return by module the names that this module may read of it: of its own, of imported modules, or named in a text."""
    found: dict[str, set[str]] = defaultdict(set)
    modules, names = {module}, set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                modules |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(base)):
                modules |= {f"{base}.{alias.name}" for alias in node.names}
                found[base] |= {alias.name for alias in node.names}
            case ast.Constant(value=str(text)):
                modules |= {match[0] for match in DOTTED.finditer(text)}
                for match in ADDRESS.finditer(text):
                    found[match[1]].add(match[2])
            case ast.Name(ctx=ast.Load()):
                names.add(node.id)
            case ast.Attribute():
                names.add(node.attr)
    for one in modules:
        found[one] |= names
    return found


def test_every_name_is_used_by_the_package() -> None:
    used: dict[str, set[str]] = defaultdict(set)
    for file, tree in FILES.items():
        for module, names in uses(tree, module_of(file)).items():
            used[module] |= names
    used["isotherm.cli.main"].add("run")  # an entry point of pyproject.toml, as the next one
    used["isotherm.cli.manage.commands"].add("run")
    unused = {f"{module_of(file)}.{name}": line for file, tree in FILES.items() for name, line in defined(tree)
              if name not in used[module_of(file)] and not name.startswith("__") and "migrations" not in file.parts}
    assert {name: line for name, line in unused.items() if name not in USED_OUTSIDE} == {}


def test_an_unused_name_is_found() -> None:
    tree = ast.parse("import other\nKEPT = 1\ndef lost(): ...\ndef kept(): return other.thing(KEPT)\nkept()")
    assert [name for name, _ in defined(tree) if name not in uses(tree, "here")["here"]] == ["lost"]
