"""Sizes as a habit: small packages, small classes, and a docstring that says what each package is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "isotherm"
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))
MOST_MODULES = 15
MOST_METHODS = 20
# Classes with more public methods than that, each with the reason (decision 24). The list only gets shorter.
LARGE = {
    "resources/nested/nested_stack.py::StackResource": "takes over the switches of stacks in stacks from the contract",
    "resources/contract.py::Resource": "its methods are the contract of a type: an author overrides what a type needs",
}


def name(folder: Path) -> str:
    return str(folder.relative_to(PACKAGE.parent))


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield f"{file.relative_to(PACKAGE).as_posix()}::{node.name}", node


def public_methods(node: ast.ClassDef) -> list[str]:
    methods = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return [one.name for one in methods if not one.name.startswith("_")]


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_package_is_small_and_says_what_it_is_for(folder: Path) -> None:
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES, modules
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert docstring, f"{name(folder)}/__init__.py has no docstring"
    assert docstring.partition("\n\n")[0].endswith((".", ":")), "its first paragraph is a sentence"


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    migrations = PACKAGE / "store" / "database" / "migrations"  # loaded by alembic, never imported
    assert {folder for folder in folders - set(FOLDERS) if not folder.is_relative_to(migrations)} == set()


def test_no_class_has_too_many_public_methods() -> None:
    large = {where: len(public_methods(node)) for where, node in classes()}
    assert {where: count for where, count in large.items() if count > MOST_METHODS and where not in LARGE} == {}
