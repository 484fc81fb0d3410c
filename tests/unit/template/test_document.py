"""Documents: plain data, positions, and refusals with a position."""

from __future__ import annotations

import json

import pytest
import yaml

from isotherm.errors import Mark, UserError
from isotherm.template.text import document
from isotherm.template.text.document import Limits

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::TestResource
    properties:
      list: [a, {b: c}]
"""


def test_dates_stay_text() -> None:
    assert document.load("a: 2020-01-01\nb: 2001-12-14t21:59:43.10-05:00\nc: !!timestamp 2020-01-01").data == {
        "a": "2020-01-01", "b": "2001-12-14t21:59:43.10-05:00", "c": "2020-01-01"}


@pytest.mark.parametrize("word", [
    "yes", "No", "on", "~", "null", "Null", "12", "-3", "+4", "0x1F", "014", "0b11", "1_000", "1:30", "1.5", ".5", "-.5",
    "1.", "1e3", "1.0e+3", ".inf", "-.inf", "1:30.5", "plain words", "a:b", "0o14", "''", '"1"', "!!str 1", "!!int '3'",
    "!!float 1", "!!bool 'yes'", "!!null ''", "|\n  text\n", ">-\n  folded\n  text\n",
])
def test_words_mean_what_yaml_says(word: str) -> None:
    text = f"a: {word}"
    found = document.load(text).data
    assert found == yaml.load(text, Loader=yaml.CSafeLoader)
    assert type(found["a"]) is type(yaml.load(text, Loader=yaml.CSafeLoader)["a"])


def test_json_numbers_are_json() -> None:
    data = {"a": 1e3, "b": -0.5, "c": 12345678901234567890, "d": [True, None, "1e3", "\U0001f600 \\ud83d"]}
    assert document.load(json.dumps(data)).data == data


def test_keys_are_text() -> None:
    assert document.load("{1: a, true: b, null: c, 1.5: d}").data == {"1": "a", "true": "b", "null": "c", "1.5": "d"}


def test_merge_keys() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 5}\nc: {<<: [*a, {z: 1, x: 0}]}"
    assert document.load(text).data == {
        "a": {"x": 1, "y": 2}, "b": {"x": 5, "y": 2}, "c": {"x": 1, "y": 2, "z": 1}}


def test_aliases_share_what_they_name() -> None:
    data = document.load("a: &a [1]\nb: *a").data
    assert data == {"a": [1], "b": [1]}
    assert data["a"] is data["b"]


@pytest.mark.parametrize(("path", "line", "column"), [
    ((), 1, 1), (("resources",), 2, 1), (("resources", "web", "type"), 4, 5),
    (("resources", "web", "properties", "list"), 6, 7), (("resources", "web", "properties", "list", 1), 6, 17),
    (("resources", "web", "properties", "list", 1, "b"), 6, 18),
])
def test_places(path: tuple[str | int, ...], line: int, column: int) -> None:
    assert document.load(TEMPLATE, source="t.yaml").mark(path) == Mark(line, column, "t.yaml")


def test_no_place_for_what_is_not_there() -> None:
    found = document.load(TEMPLATE)
    assert found.mark(("resources", "db")) is None
    assert found.mark(("resources", "web", "properties", "list", 7)) is None


@pytest.mark.parametrize(("text", "line", "column"), [
    ("a: 1\nb: 2\na: 3", 3, 1), ("a: [1", 2, 1), ("a: *nobody", 1, 4), ("a: !thing x", 1, 4), ("? [a]\n: b", 1, 5),
    ("a: 1\n---\nb: 2", 2, 1), ("<<: 5", 1, 5), ("a: !!int x", 1, 4), ('a: "\\0"', 1, 4),
])
def test_what_is_wrong_has_a_place(text: str, line: int, column: int) -> None:
    with pytest.raises(UserError) as caught:
        document.load(text, source="t")
    assert caught.value.kind == "ValueError"
    assert caught.value.problems[0].mark == Mark(line, column, "t")


def test_empty_text_is_no_data() -> None:
    assert document.load("").data is None
    assert document.load("# nothing\n").data is None


def test_limits_are_the_callers() -> None:
    with pytest.raises(UserError) as caught:
        document.load("a: 1", limits=Limits(max_bytes=3))
    assert caught.value.kind == "RequestLimitExceeded"
    assert "4 bytes" in str(caught.value) and "3 bytes" in str(caught.value)
    with pytest.raises(UserError, match="many values"):
        document.load("[1, 2, 3, 4]", limits=Limits(max_nodes=3))
