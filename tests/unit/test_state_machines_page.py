"""docs/state-machines.md shows the state machines as the code declares them."""

from __future__ import annotations

from tools import state_machines

PAGE = state_machines.PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    assert state_machines.render(PAGE) == PAGE, "run tools/state_machines.py"


def test_every_transition_is_on_the_page() -> None:
    for machine in state_machines.MACHINES.values():
        assert all(f"| `{name}` |" in PAGE for name in machine.transitions)
        assert all(state.name in PAGE for state in machine.states)
