"""Tables on narrow terminals: a long name hides no other column."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from isotherm.cli.show import console


def drawn(width: int, columns: Sequence[str], rows: Sequence[Sequence[object]], keep: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with screen.capture() as captured:
        screen.print(console.table(columns, rows, keep=keep))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [72, 80, 100])
def test_a_long_name_is_cut_before_other_columns(width: int) -> None:
    rows = [("2026-11-19T20:41:03Z", "CREATE_FAILED", "n" * 200, "there is no such network")]
    lines = drawn(width, ["time", "status", "resource", "reason"], rows, 3)
    assert max(map(len, lines)) <= width
    text = " ".join(lines)
    assert "2026-11-19T20:41:03Z" in text and "CREATE_FAILED" in text and "…" in text
    assert all(word in text for word in ("there", "no", "such", "network"))


def test_names_are_whole_where_there_is_space() -> None:
    assert drawn(100, ["name", "reason"], [("n" * 60, "short")], 1)[1] == f"{'n' * 60}  short"
