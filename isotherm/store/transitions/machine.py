"""Declares state machines: a registry of the functions that change the state of the rows of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Literal, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])
#: The end of an arrow where there is no row: before an insert, after a delete.
NO_ROW: Literal["[*]"] = "[*]"
State = IntEnum | Literal["[*]"]


class Part(Enum):
    """The part of a machine that a transition belongs to: each part is a diagram of its own."""

    WORK = "Work"
    STOP = "Stopping and recovering"
    ADMIN = "Import, migration, user marks"




@dataclass(frozen=True, slots=True)
class Transition:
    """One named change of a row. Without `to`, the row stays in its state, and only its other columns change."""

    name: str
    from_: tuple[State, ...]
    to: tuple[State, ...]
    keeps: tuple[str, ...]
    part: Part
    summary: str

    def allows(self, before: State, after: State) -> bool:
        """Return whether the function may lead a row from one state to another."""
        return before == after or (before in self.from_ and after in self.to)


class Machine:
    """The transitions of one table, by name."""

    def __init__(self, table: str, states: type[IntEnum]) -> None:
        self.table = table
        self.states = states
        self.transitions: dict[str, Transition] = {}

    def transition(
        self, *, from_: tuple[State, ...] = (), to: tuple[State, ...] = (), keeps: tuple[str, ...] = (),
        part: Part = Part.WORK,
    ) -> Callable[[Function], Function]:
        """Register a function. The function itself is returned unchanged: a declaration costs nothing at run time."""

        def register(function: Function) -> Function:
            summary = (function.__doc__ or "").partition("\n")[0]
            self.transitions[function.__name__] = Transition(function.__name__, from_, to, keeps, part, summary)
            return function

        return register
