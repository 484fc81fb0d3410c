"""Every case of the corpus, against what the real Heat said about it (recorded: Heat need not be installed)."""

from __future__ import annotations

from functools import cache

import pytest

from tests.compat import compare, corpus, differences, isotherm_side

CASES = [(family, case) for family in corpus.families() for case in corpus.cases(family)]
recorded = cache(corpus.recorded)


@pytest.mark.parametrize(("family", "case"), CASES, ids=[f"{family}-{case}" for family, case in CASES])
def test_same_answer_as_heat(family: str, case: str) -> None:
    found = []
    for run in corpus.runs(family, case):
        heat, ours = recorded(family)[case][run.variant], isotherm_side.answer(run)
        differing = list(compare.differing(heat, ours))
        if differences.reason(run):
            assert differing, f"{run.id} is listed as different, but is not"
        else:
            found += [f"{run.variant}: {line}" for line in differing]
    assert not found, "\n".join(found)


def test_every_listed_difference_names_a_case() -> None:
    unused = [entry for entry in differences.DIFFERENCES
              if not any(differences.is_about(entry, family, case) for family, case in CASES)]
    assert not unused


@pytest.mark.parametrize("family", corpus.families())
def test_nothing_is_recorded_that_is_not_asked(family: str) -> None:
    assert sorted(recorded(family)) == sorted(corpus.cases(family))


def test_the_corpus_is_as_wide_as_promised() -> None:
    """At least 300 cases; each function in each version, aliases included."""
    assert len(CASES) >= 300
    for family, versions in (("functions_text", corpus.HOT), ("functions_collections", corpus.HOT),
                             ("functions_references", corpus.HOT), ("functions_cfn", corpus.CFN)):
        asked = {run.variant.split()[0] for run in corpus.runs(family, corpus.cases(family)[0])}
        assert asked == set(versions)
