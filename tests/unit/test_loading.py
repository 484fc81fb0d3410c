"""Addresses (decision 33): each leads to something that exists, in a layer that its module may know."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from isotherm import loading
from isotherm.resources import builtin
from isotherm.resources.catalog.type_table import TypeTable
from isotherm.resources.heat.value import Value

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"isotherm(\.\w+)+(:\w+)?")


def layers() -> dict[str, int]:
    """Return the height of each package of `isotherm`, by the contract of the layers."""
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    lines = contract["importlinter:contract:layers"]["layers"].split("\n")
    return {name.strip(): -number for number, line in enumerate(lines) for name in line.split("|") if name.strip()}


def addresses() -> Iterator[tuple[str, str]]:
    """Yield the addresses in the code, each with the package that holds it."""
    for file in sorted((ROOT / "isotherm").rglob("*.py")):
        package = file.relative_to(ROOT / "isotherm").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Constant(value=str(text)) if ":" in text and ADDRESS.fullmatch(text):
                    yield package, text
                case ast.Call(func=ast.Attribute(attr="load" | "import_module"), args=[ast.Constant(value=str(text))]) if (
                        ADDRESS.fullmatch(text)):
                    yield package, text


FOUND = sorted(set(addresses()))


def test_addresses_are_found() -> None:
    assert ("engine", "isotherm.engine.operations.stacks:StackService") in FOUND
    assert ("engine", "isotherm.engine.convergence.worker") in FOUND


@pytest.mark.parametrize("address", sorted({address for _, address in FOUND}))
def test_an_address_leads_somewhere(address: str) -> None:
    assert loading.load(address) is not None


def test_an_address_is_in_a_layer_that_its_module_may_know() -> None:
    height = layers()
    too_high = [(package, address) for package, address in FOUND
                if package != address.split(".")[1] and height[address.split(".")[1].partition(":")[0]] >= height[package]]
    assert not too_high


def test_each_type_is_at_its_address() -> None:
    assert {name: one.TYPE for name, one in builtin.registry().types.items()} == {name: name for name in
                                                                                 builtin.registry().types}


def test_a_table_of_types_loads_a_class_when_it_is_asked_for() -> None:
    table = TypeTable(addresses={"A": "isotherm.resources.heat.value:Value", "B": "isotherm.there_is:None_"})
    assert "B" in table
    assert list(table) == ["A", "B"]
    assert table["A"] is table.get("A") is Value
    del table["B"]
    assert len(table) == 1
    assert table.get("B") is None


def test_a_table_with_more_types_leaves_the_first_as_it_is() -> None:
    table = TypeTable(addresses={"A": "isotherm.there_is:None_"})
    more = table.with_classes([Value])
    assert list(more) == ["A", Value.TYPE]
    assert list(table) == ["A"]
