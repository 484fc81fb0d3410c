"""The ledger page tells the truth: it is what the markers of the tests say, and no marker names an unknown line."""

from __future__ import annotations

import pytest

from tools import ledger

SECTIONS = ledger.read_lines("# words\nS1: First\nS1.1 It works.\nS1.2 It works | twice.\n")

SOURCE = """
import pytest

@pytest.mark.ledger("S1.1", "S1.2")
def test_one(): ...

class TestMore:
    @pytest.mark.slow
    @pytest.mark.ledger("S1.2")
    async def test_two(self): ...
"""


def test_the_page_is_up_to_date() -> None:
    written = ledger.PAGE.read_text(encoding="utf-8")
    assert written == ledger.current_page(), "run `make ledger` and commit docs/ledger.md"


def test_markers_are_found_on_functions_and_in_classes() -> None:
    found = [(proof.id, proof.test) for proof in ledger.proofs_in("tests/t.py", SOURCE)]
    assert found == [("S1.1", "tests/t.py::test_one"), ("S1.2", "tests/t.py::test_one"),
                     ("S1.2", "tests/t.py::TestMore::test_two")]


@pytest.mark.parametrize("value", ['pytest.mark.ledger("S1.1")', '[pytest.mark.slow, pytest.mark.ledger("S1.1")]'])
def test_a_mark_of_the_whole_module_counts_once(value: str) -> None:
    found = list(ledger.proofs_in("tests/t.py", f"import pytest\npytestmark = {value}\ndef test_one(): ...\n"))
    assert [(proof.id, proof.test) for proof in found] == [("S1.1", "tests/t.py")]


def test_the_page_names_the_tests_and_what_has_none() -> None:
    page = ledger.render(SECTIONS, [ledger.Proof("S1.2", "tests/t.py::test_one", "tests/t.py:4")])
    assert "**1 of 2** lines" in page
    assert "| S1.1 | It works. | none yet |" in page
    assert r"| S1.2 | It works \| twice. | `t.py::test_one` |" in page


def test_an_unknown_id_is_an_error_and_says_where() -> None:
    with pytest.raises(SystemExit, match=r"tests/t\.py:7: the ledger has no line S9\.9"):
        ledger.render(SECTIONS, [ledger.Proof("S9.9", "tests/t.py::test_one", "tests/t.py:7")])


def test_an_id_that_is_computed_is_an_error() -> None:
    with pytest.raises(SystemExit, match="written out"):
        list(ledger.proofs_in("tests/t.py", "import pytest\n@pytest.mark.ledger(f'S{1}')\ndef test_one(): ...\n"))
