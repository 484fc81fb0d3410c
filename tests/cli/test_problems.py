"""Problems are printed in the form of a compiler, without control characters."""

from __future__ import annotations

import pytest

from isotherm import errors
from isotherm.cli.show import problems
from isotherm.template.text import document, locate

TEMPLATE = """\
heat_template_version: 2018-08-31
parameters:
  size: {type: number}
resources:
  web:
    type: OS::Heat::Value
    properties:
      value: [one, {get_attr: [db, x]}]
  web.two:
    type: My::Type
    colour: red
"""


def told(problem: errors.Problem, **sources: str) -> list[str]:
    return [str(part) for part in problems.draw([problem], sources)]


def test_the_line_and_a_caret_under_the_word() -> None:
    problem = errors.Problem("is wrong", "a.b", errors.Mark(2, 3, "t"), "make it right")
    assert told(problem, t="a:\n  bee: 1\n") == [
        "t:2:3: error: a.b: is wrong",
        "    2 |   bee: 1",
        "      |   ^^^",
        "      = hint: make it right",
    ]


def test_a_tab_before_the_word_does_not_move_the_caret() -> None:
    problem = errors.Problem("is wrong", mark=errors.Mark(1, 2, "t"))
    assert told(problem, t="\tbee")[1:] == ["    1 | \tbee", "      | \t^^^"]


@pytest.mark.parametrize("line", [3, 99])
def test_a_place_past_the_end_is_told_without_a_line(line: int) -> None:
    assert len(told(errors.Problem("is wrong", mark=errors.Mark(line, 1, "t")), t="a\n")) <= 3


def test_what_a_template_says_cannot_steer_the_terminal() -> None:
    said = told(errors.Problem("bad \x1b[2Jname\u202e", mark=errors.Mark(1, 1, "t")), t="\x1b]0;evil\x07")
    assert "\x1b" not in "".join(said)
    assert "\\x1b[2J" in said[0]
    assert "\u202e" not in said[0]


@pytest.mark.parametrize(("path", "line", "column"), [
    ("resources.web.properties.value[1].get_attr", 8, 21),
    ("resources.web.properties.nothing", 7, 5),
    ("resources.web.two.type", 10, 5),
    ("resources.gone", 4, 1),
    ("parameters.size", 3, 3),
])
def test_a_path_leads_to_its_longest_part_that_exists(path: str, line: int, column: int) -> None:
    mark = locate.mark(errors.Problem("is wrong", path), document.load(TEMPLATE, source="t"))
    assert mark == errors.Mark(line, column, "t")


@pytest.mark.parametrize(("message", "line"), [
    ("Parameter 'size' is invalid: nope", 3),
    ("The Parameter (size) was not provided.", 3),
    ("Invalid key 'x' for parameter (size)", 3),
    ("The Resource Type (My::Type) could not be found.", 10),
    ("HEAT-E99001 Service nova is not available for resource type My::Type, reason: it is not.", 10),
    ("HEAT-E99001 Resource type My::Type is not available, reason: it is not.", 10),
    ('"colour" is not a valid keyword inside a resource definition', 11),
    ("Circular Dependency Found: web -> db -> web", 5),
    ('The specified reference "db" (in web) is incorrect.', 5),
    ('The specified reference "db" (in web.Properties.value) is incorrect.', 8),
    ('The specified reference "db" (in web.Properties.other) is incorrect.', 5),
    ('The specified reference "db" (in web.two.type) is incorrect.', 10),
    ('The specified reference "db" (in outer.web) is incorrect.', 5),
    ("Template format version not found.", 1),
    ("The template section is invalid: parameters", 2),
])
def test_a_message_without_a_path_is_placed_by_what_it_names(message: str, line: int) -> None:
    mark = locate.mark(errors.Problem(message), document.load(TEMPLATE, source="t"))
    assert mark is not None
    assert mark.line == line


def test_an_unknown_property_is_placed_at_its_name() -> None:
    problem = errors.Problem("Unknown Property value", "resources.web.properties")
    mark = locate.mark(problem, document.load(TEMPLATE, source="t"))
    assert mark == errors.Mark(8, 7, "t")


def test_a_message_that_names_nothing_has_no_place() -> None:
    assert locate.mark(errors.Problem("something else"), document.load(TEMPLATE)) is None


def test_problems_come_in_the_order_of_the_files_and_are_capped() -> None:
    wrong = [errors.Problem(str(number), mark=errors.Mark(number, 1, "t")) for number in range(30, 0, -1)]
    said = [str(part) for part in problems.draw([*wrong, errors.Problem("of no place")], {})]
    assert said[:3] == ["error: of no place", "t:1:1: error: 1", "t:2:1: error: 2"]
    assert len(said) == 21
    assert said[-1] == "31 errors; the first 20 are shown, --json prints all"


@pytest.mark.parametrize(("column", "line", "caret"), [
    (81, f"...{'a' * 26} bee {'c' * 23}...", f"{' ' * 30}^^^"), (1, f"{'a' * 57}...", "^" * 60)])
def test_a_long_line_is_cut_around_the_caret(column: int, line: str, caret: str) -> None:
    source = f"{'a' * 79} bee {'c' * 100}"
    problem = errors.Problem("is wrong", mark=errors.Mark(1, column, "t"))
    _, shown, below = (str(part) for part in problems.draw([problem], {"t": source}, 68))
    assert len(shown) <= 68
    assert (shown.partition(" | ")[2], below.partition(" | ")[2]) == (line, caret)
