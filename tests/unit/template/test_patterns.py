"""Patterns of users: the same answers as `re`, in bounded time."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isotherm.template.patterns import automaton, match

HOSTILE = [
    (r"(a+)+b", "a" * 5000),
    (r"(a|a)*b", "a" * 5000),
    (r"(a|aa)+$", "a" * 3000 + "b"),
    (r"(.*)*x", "y" * 3000),
    (r"(a?){60}a{60}", "a" * 59),
    (r"a*a*a*a*a*a*b", "a" * 3000),
    (r"([a-z]+)*\d", "z" * 3000),
    (r"(x+x+)+y", "x" * 3000),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 2000),
    (r"(\w+\s?)*!", "word " * 500),
]


@pytest.mark.parametrize(("pattern", "value"), HOSTILE)
def test_catastrophic_patterns_end_soon(pattern: str, value: str) -> None:
    began = time.process_time()
    with contextlib.suppress(match.TooComplex):
        assert not match.Pattern(pattern).fullmatch(value)
    assert time.process_time() - began < 20  # without a limit: years


def test_a_catastrophic_pattern_still_finds_what_matches() -> None:
    assert match.Pattern(r"(a?){60}a{60}").fullmatch("a" * 60)
    assert match.Pattern(r"(a+)+b").fullmatch("a" * 3000 + "b")


@pytest.mark.parametrize("pattern", [r"(a+)+\1b", r"(?=(a+)+b)a*", r"(a+)+(?<!c)b"])
def test_what_is_neither_cheap_nor_regular_is_refused(pattern: str) -> None:
    with pytest.raises(match.TooComplex):
        match.Pattern(pattern).fullmatch("a" * 5000)


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "*", "(" * 5000, "x" * 10_000, "(?P<n>a)(?P<n>b)"])
def test_bad_patterns_are_said_to_be_bad(pattern: str) -> None:
    with pytest.raises(match.BadPattern):
        match.Pattern(pattern)


@pytest.mark.parametrize(("pattern", "good", "bad"), [
    (r"[A-Za-z0-9]*", "abC1", "a-b"),
    (r"a|b", "b", "bc"),
    (r"a+", "aa", "aa\n"),
    (r"(?i)ABC", "aBc", "abd"),
    (r"\d{3}-\d{4}", "555-1234", "555-123"),
    (r"^\w+@\w+\.com$", "x@y.com", "x@y.org"),
    (r"(foo)\1", "foofoo", "foobar"),
])
def test_ordinary_patterns_match_the_whole_value(pattern: str, good: str, bad: str) -> None:
    compiled = match.Pattern(pattern)
    assert compiled.fullmatch(good)
    assert not compiled.fullmatch(bad)


_ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", r"\s", "ab", r"\b", "^", "$", "(?:)",
                          r"[^\d\s]"])
_REGULAR = st.recursive(_ATOMS, lambda inner: st.one_of(
    st.tuples(inner, inner).map("".join),
    st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
    st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])).map(
        lambda pair: f"(?:{pair[0]}){pair[1]}")), max_leaves=6)


@settings(max_examples=400, deadline=None)
@given(_REGULAR, st.text("ab1 \n", max_size=6), st.sampled_from(["", "(?i)", "(?s)", "(?m)"]))
def test_the_automaton_answers_as_re_does(pattern: str, value: str, flags: str) -> None:
    text = flags + pattern
    expected = re.fullmatch(text, value) is not None
    assert automaton.fullmatch(match._automaton(text), value) == expected
