"""Every case of the corpus, against what the real Heat said about it (recorded: Heat need not be installed)."""

from __future__ import annotations

import pytest
from compat import compare, corpus, differences, isotherm_side

CASES = [(family, case) for family in corpus.families() for case in corpus.read(corpus.CASES / f"{family}.yaml")["cases"]]
_RUNS: dict[str, dict[str, list[corpus.Run]]] = {}
_RECORDED: dict[str, dict[str, dict[str, corpus.Answer]]] = {}


def _runs(family: str) -> dict[str, list[corpus.Run]]:
    if family not in _RUNS:
        _RUNS[family] = corpus.runs(family)
        _RECORDED[family] = corpus.recorded(family)
    return _RUNS[family]


@pytest.mark.parametrize(("family", "case"), CASES, ids=[f"{family}-{case}" for family, case in CASES])
def test_same_answer_as_heat(family: str, case: str) -> None:
    found = []
    for run in _runs(family)[str(case)]:
        heat, ours = _RECORDED[family][run.case][run.variant], isotherm_side.answer(run)
        if differences.reason(run):
            assert list(compare.differing(heat, ours)), f"{run.id} is listed as different, but is not"
        else:
            found += [f"{run.variant}: {line}" for line in compare.differing(heat, ours)]
    assert not found, "\n".join(found)


def test_every_listed_difference_names_a_run() -> None:
    ids = {differences.reason(run) for family in corpus.families() for runs in _runs(family).values() for run in runs}
    assert {entry.reason for entry in differences.DIFFERENCES} <= ids


def test_the_corpus_is_as_wide_as_promised() -> None:
    """Each function in each version; at least 300 cases."""
    assert len(CASES) >= 300
    asked = {run.variant.split()[0] for runs in _runs("functions_text").values() for run in runs}
    assert asked == set(corpus.HOT)
