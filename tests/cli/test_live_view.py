"""The live view: its content, and that it fits the window."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from isotherm.cli.client import live
from isotherm.cli.show import live_view, tree, words
from isotherm.engine.queries.follow import Frame, ResourceLine
from isotherm.states import Action, NodeState, OperationState, Status

STACK = {"stack_name": "web", "action": "CREATE", "status": "IN_PROGRESS", "stack_status": "CREATE_IN_PROGRESS",
         "operation_id": "o1", "stack_status_reason": ""}


def line(id_: int, name: str, state: NodeState, **more: Any) -> ResourceLine:
    began = None if state in (NodeState.PENDING, NodeState.SKIPPED) else 100.0
    status = {NodeState.DONE: Status.COMPLETE, NodeState.FAILED: Status.FAILED}.get(state, Status.IN_PROGRESS)
    facts: dict[str, Any] = {"began_at": began, "touched": began is not None} | more
    return ResourceLine(id_, name, "T", state, Action.CREATE, status, False, True, reason=facts.pop("reason", ""), **facts)


def frame(*lines: ResourceLine, **more: Any) -> Frame:
    counts: dict[NodeState, int] = {}
    for one in lines:
        counts[one.state] = counts.get(one.state, 0) + 1
    remaining = sum(one.state not in (NodeState.DONE, NodeState.FAILED, NodeState.SKIPPED) for one in lines)
    facts: dict[str, Any] = {"whole": True, "counts": counts, "remaining": remaining} | more
    return Frame(103.5, STACK, OperationState.UPDATING, 100.0, None, lines=lines, **facts)


def drawn(one: Frame, height: int = 24, width: int = 80, into: live_view.LiveView | None = None) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, color_system=None)
    console.print((into or live_view.LiveView()).draw(one, height))
    return [text.rstrip() for text in out.getvalue().splitlines()]


def test_a_tree_of_what_runs_waits_and_failed() -> None:
    shown = drawn(frame(
        line(1, "net", NodeState.DONE, ended_at=101.2), line(2, "db", NodeState.RUNNING, waits_for=["net"]),
        line(3, "app", NodeState.PENDING, waits_for=["net", "db"], waits_for_count=1),
        line(4, "cache", NodeState.FAILED, ended_at=101.0, reason="no such image"),
        line(5, "after", NodeState.SKIPPED, waits_for=["cache"])))
    assert shown[0].split() == ["web", "CREATE_IN_PROGRESS", "3.5", "s"]
    assert shown[1].endswith("3/5")
    assert shown[2] == "1 running · 1 waiting · 1 done · 1 failed · 1 skipped"
    assert [" ".join(text.split()) for text in shown[4:]] == [
        "✓ net created 1.2 s", "└─ ● db creating 3.5 s", "└─ · app waiting for db", "✗ cache failed 1.0 s no such image",
        "└─ - after skipped needs cache"]


def test_what_was_deleted_stays_in_the_picture() -> None:
    remembering = live_view.LiveView()
    first, second = line(1, "a", NodeState.RUNNING), line(2, "b", NodeState.PENDING, waits_for=["a"], waits_for_count=1)
    drawn(frame(first, second), into=remembering)
    shown = drawn(frame(replace(second, state=NodeState.RUNNING)), into=remembering)
    assert [" ".join(text.split())[:12] for text in shown[4:]] == ["✓ a deleted", "└─ ● b start"]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 12), (20, 8)])
def test_it_fits_the_window_and_shows_what_matters(width: int, height: int) -> None:
    lines = [line(number, f"r{number}", NodeState.DONE, ended_at=101.0) for number in range(50)]
    lines += [line(99, "the-one-that-failed", NodeState.FAILED, ended_at=101.0, reason="x" * 300)]
    shown = drawn(frame(*lines), height=height, width=width)
    assert len(shown) <= height
    assert max(map(len, shown)) <= width
    assert any("✗ the-one" in text for text in shown)


def test_a_long_name_hides_no_time_and_no_reason() -> None:
    shown = drawn(frame(line(1, "n" * 200, NodeState.DONE, ended_at=101.2),
                        line(2, "b", NodeState.FAILED, ended_at=101.0, reason="no such image")))
    assert [" ".join(text.split()) for text in shown[4:]] == [
        f"✓ {'n' * 37}… created 1.2 s", "✗ b failed 1.0 s no such image"]


def test_control_characters_of_a_name_do_not_reach_the_terminal() -> None:
    assert not any("\x1b" in text for text in drawn(frame(line(1, "evil\x1b[2J", NodeState.RUNNING))))


def test_a_bar_starts_over_with_each_phase_and_ends_full() -> None:
    bar = live_view.Bar()
    bar.take(frame(line(1, "a", NodeState.RUNNING), line(2, "b", NodeState.DONE)))
    assert (bar.done, bar.total) == (1, 2)
    bar.take(replace(frame(line(3, "a", NodeState.RUNNING)), phase=OperationState.CLEANING, remaining=4))
    assert (bar.done, bar.total) == (0, 4)
    bar.take(replace(frame(line(3, "a", NodeState.RUNNING)), phase=OperationState.CLEANING, remaining=1))
    assert (bar.done, bar.total) == (3, 4)


def test_a_graph_as_a_tree_has_each_node_once_below_its_deepest_need() -> None:
    requires = {"a": [], "b": ["a"], "c": ["b", "a"], "d": ["a"], "e": []}
    assert list(tree.arrange(requires)) == [
        ("", "a"), ("├─ ", "b"), ("│  └─ ", "c"), ("└─ ", "d"), ("", "e")]


def test_a_long_chain_stays_readable_and_a_circle_does_no_harm() -> None:
    chain = {number: [number - 1] for number in range(5000)}
    assert [node for _, node in tree.arrange(chain)] == list(range(5000))
    assert max(len(prefix) for prefix, _ in tree.arrange(chain)) <= 3 * tree.DEEPEST
    assert {node for _, node in tree.arrange({1: [2], 2: [1], 3: [2]})} == {1, 2, 3}


@pytest.mark.parametrize(("seconds", "said"), [
    (-1, "0.0 s"), (0.44, "0.4 s"), (59.9, "59.9 s"), (125, "2:05"), (3725, "1:02:05")])
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


def test_some_of_many() -> None:
    assert words.some(["a", "b"], 2) == "a, b"
    assert words.some(["a", "b", "c", "d"], 1000) == "a, b, c and 997 more"


def test_the_columns_at_the_right_stay_free_for_what_a_terminal_echoes() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, height=24, color_system=None)
    shown = live_view.LiveView().draw(frame(line(1, "a", NodeState.FAILED, ended_at=101.0, reason="x" * 300)), 24)
    lines = console.render_lines(live.narrowed(shown, console), pad=False)
    # Also without blanks: behind a full line, the echo of Ctrl-C would go to a line of its own.
    assert max(sum(one.cell_length for one in each) for each in lines) == 76


def test_resources_that_a_frame_leaves_out_are_counted() -> None:
    counts = {NodeState.RUNNING: 1, NodeState.PENDING: 999}
    shown = drawn(frame(line(1, "a", NodeState.RUNNING), whole=False, counts=counts))
    assert shown[-1] == "  and 999 others"


def test_a_deletion_that_no_frame_showed_has_no_time() -> None:
    remembering = live_view.LiveView()
    first, second = line(1, "a", NodeState.RUNNING), replace(line(2, "b", NodeState.RUNNING), action=Action.DELETE)
    drawn(frame(first, second), into=remembering)
    shown = drawn(frame(), into=remembering)
    assert [" ".join(text.split()) for text in shown[-2:]] == ["✓ a deleted", "✓ b deleted 3.5 s"]
