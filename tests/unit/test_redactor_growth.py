"""Masking: the same result as the obvious way, at a cost that grows with the texts and not faster."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import SupportsIndex
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isotherm.secrets import finder as finding
from isotherm.secrets.finder import MIN_PART, PIECE, Finder
from isotherm.secrets.redactor import MASK, Redactor

# Few letters, so that words stand in texts, overlap, and begin with one another.
LETTERS = st.text("ab- ", max_size=12)
LONG = st.builds(lambda unit, times, end: (unit * times)[:200] + end, st.text("ab-", min_size=1, max_size=9),
                 st.integers(1, 100), st.text("ab", max_size=2))
WORDS = st.lists(LETTERS | LONG, max_size=8)


def covered(words: list[str], text: str) -> set[int]:
    """The obvious way: every word at every position."""
    found: set[int] = set()
    for word in words:
        for at in range(len(text) - len(word) + 1 if word else 0):
            around = text[at - 1 : at] + text[at + len(word) : at + len(word) + 1]
            alone = not any(one.isalnum() or one == "_" for one in around)
            if text.startswith(word, at) and (len(word) >= MIN_PART or alone):
                found.update(range(at, at + len(word)))
    return found


def positions(finder: Finder, text: str) -> set[int]:
    return {at for start, end in finder.spans(text) for at in range(start, end)}


@given(WORDS, st.data())
@example(["abababab", "abab", "aba-"], None)
def test_it_finds_what_the_obvious_way_finds(words: list[str], data: st.DataObject | None) -> None:
    parts = ["x", "abab", "aba-"] if data is None else data.draw(st.lists(LETTERS | st.sampled_from(["", *words])))
    text = "".join(parts)
    cut = [piece for word in words for piece in finding._pieces(word)]
    assert positions(Finder(words), text) == covered(cut, text)


@given(WORDS, st.lists(LETTERS | LONG, max_size=4), st.data())
def test_every_occurrence_of_a_whole_word_is_covered(words: list[str], around: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.permutations([*words, *around])))
    assert positions(Finder(words), text) >= covered(words, text)


@given(st.lists(LETTERS | LONG, min_size=1, max_size=5), LETTERS | LONG)
def test_redactors_that_were_added_mask_what_one_would(values: list[str], text: str) -> None:
    apart = sum((Redactor([one]) for one in values), Redactor(()))
    assert apart.values == Redactor(values).values
    assert apart.text(text) == Redactor(values).text(text)


@pytest.mark.parametrize("form", [str, json.dumps, repr, quote, lambda text: base64.b64encode(text.encode()).decode()])
def test_a_long_secret_gets_one_mask(form: Callable[[str], str]) -> None:
    secret = "".join(f"{number:x} " for number in range(1000))
    told = Redactor([secret]).text(f"it is {form(secret)}.")
    assert told.replace('"', "").replace("'", "") == f"it is {MASK}."


@pytest.mark.parametrize("left", [MIN_PART, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 1, 1000])
def test_a_long_secret_that_was_cut_gets_one_mask(left: int) -> None:
    secret = "".join(f"{number:x} " for number in range(1000))
    assert Redactor([secret]).text(f"it is {secret[:left]}...") == f"it is {MASK}..."


def test_secrets_that_overlap_leave_nothing() -> None:
    assert Redactor(["open-sesame", "sesame-street"]).text("open-sesame-street") == MASK


# What it costs.


class Counted(str):
    """A text that counts the characters that are read of it."""

    __slots__ = ("read",)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        found = super().__getitem__(key)
        self.read = getattr(self, "read", 0) + len(found)
        return found


def cost(words: list[str], text: str) -> tuple[int, int]:
    """The characters that are kept of the words, and those that are read of the text."""
    finder, counted = Finder(words), Counted(text)
    list(finder.spans(counted))
    kept = [*finder._marks, *finder._heads, *finder._pieces, *finder._beginnings, *finder._short]
    return sum(map(len, kept)), counted.read


@pytest.mark.parametrize(("words", "text"), [
    (lambda n: ["ab" * n], lambda n: "ab" * 3 * n),
    (lambda n: ["a" * n + "b"], lambda n: "a" * 3 * n),
    (lambda n: ["b" + "a" * n], lambda n: "a" * 3 * n),
    (lambda n: [f"{one:08}" for one in range(n // 8)], lambda n: "".join(f"{one:08}" for one in range(n // 8, n // 4))),
    (lambda n: ["a" * (one % 200) + f"{one:08}" for one in range(n // 100)], lambda n: "a" * n),
    (lambda n: ["a" * one for one in range(int(n ** 0.5))], lambda n: "a" * n),
    (lambda n: [chr(0x4E00 + one // 2) * (1 + one % 2) for one in range(n // 4)], lambda n: "1 2 3 " * (n // 6)),
], ids=["one", "one that nearly fits", "one that never begins", "many", "many with one beginning", "nested", "short"])
def test_ten_times_as_much_costs_ten_times_as_much(words: Callable[[int], list[str]], text: Callable[[int], str]) -> None:
    few = cost(words(10_000), text(10_000))
    many = cost(words(100_000), text(100_000))
    assert many[0] <= 12 * few[0]
    assert many[1] <= 12 * few[1]
    # No more than a piece for each bit of its length, at each position.
    assert many[1] <= len(text(100_000)) * (MIN_PART + 8 * PIECE + MIN_PART ** 2)


def test_adding_a_few_values_does_not_prepare_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Redactor(["x" * 100_000])
    prepared: list[str] = []

    def prepare(text: str) -> list[str]:
        prepared.append(text)
        return [text]

    monkeypatch.setattr("isotherm.secrets.redactor._forms", prepare)
    values = ["another secret", "x" * 100_000]
    more = whole + values
    assert prepared == ["another secret"]
    assert more.text("another secret " + "x" * 100_000) == f"{MASK} {MASK}"
