"""Every function of every version has a description, and every description a function."""

from __future__ import annotations

from isotherm.template import versions
from isotherm.template.functions.descriptions import DESCRIPTIONS


def test_every_function_is_described() -> None:
    known: set[str] = set()
    for dialect in versions.VERSIONS.values():
        known |= {*dialect.functions, *dialect.condition_functions}
    assert set(DESCRIPTIONS) == known


def test_heats_own_tests_compare_this_one() -> None:
    assert DESCRIPTIONS["get_file"] == "A function for including a file inline."
