"""Writes the diagrams of docs/state-machines.md from the declarations in isotherm/store/transitions.

    python tools/state_machines.py

A test fails where the page is not up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.transitions.machine import Machine, Part, State, Transition

PAGE = Path(__file__).resolve().parents[1] / "docs" / "state-machines.md"
MACHINES = {"nodes": nodes.MACHINE, "operations": operations.MACHINE, "versions": versions.MACHINE}


def render(page: str) -> str:
    """Return the page with the diagrams and tables as they should be."""
    for name, machine in MACHINES.items():
        begin, end = f"<!-- {name}: written by tools/state_machines.py -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{''.join(_sections(machine))}{end}{after}"
    return page


def _sections(machine: Machine) -> Iterator[str]:
    for part in Part:
        chosen = [one for one in machine.transitions.values() if one.part is part]
        if chosen:
            yield f"\n### {part.value}: {machine.table}\n\n"
            yield _diagram(chosen)
            yield _table(chosen)


def _diagram(chosen: list[Transition]) -> str:
    """Draw one arrow for each pair of states, with the names of the functions that lead along it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for one in chosen:
        for before in one.from_:
            for after in one.to:
                if before != after or len(one.from_) == len(one.to) == 1:
                    arrows.setdefault((_name(before), _name(after)), []).append(one.name)
    lines = [f"    {before} --> {after}: {', '.join(names)}\n" for (before, after), names in arrows.items()]
    return "```mermaid\nstateDiagram-v2\n" + "".join(lines) + "```\n\n" if lines else ""


def _table(chosen: list[Transition]) -> str:
    rows = "".join(f"| `{one.name}` | {_names(one.from_)} | {_names(one.to)} | {', '.join(one.keeps)} | {one.summary} |\n"
                   for one in chosen)
    return f"| function | from | to | keeps | |\n|---|---|---|---|---|\n{rows}"


def _names(states: tuple[State, ...]) -> str:
    return ", ".join({"[*]": "no row"}.get(_name(state), _name(state)) for state in states) or "same"


def _name(state: State) -> str:
    return state if isinstance(state, str) else state.name


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
