"""The two ways to schedule the nodes of a stack: convergence and legacy. `of` chooses by the stack's row.

Under convergence, nodes and operations fall due, and any worker takes them from the queue. On the legacy path nothing
falls due: one engine takes the lock of the stack, and decides in memory which node is next. Nothing else differs.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, Status
from isotherm.store import locks
from isotherm.store import tables as t
from isotherm.store.transitions import nodes

_NODE = t.nodes.c


class Busy(NamedTuple):
    """A condition for nodes that a worker holds or may take, and the order in which they are shown."""

    condition: sa.ColumnElement[bool]
    order: sa.ColumnElement[Any]


class Scheduling(Protocol):
    """The scheduling of the operations and nodes of one stack."""

    #: The nodes in progress, the most important first. The conditions may name the parameter `now`.
    busy: ClassVar[tuple[Busy, ...]]
    #: Whether accepting a newer operation stops the operations that the older one has opened on nested stacks.
    stops_nested: ClassVar[bool]

    def admit(self, stack: Any, action: Action, *, preempt: bool) -> None:
        """Raise Conflict if the stack's current operation keeps the new one from being accepted."""

    def open(self, connection: sa.Connection, stack_id: str, operation_id: str, now: float) -> None:
        """Request an engine for an accepted operation."""

    def plan_due(self, now: float) -> float | None:
        """Return the time from which a worker may plan the operation; None if no worker ever does."""

    def start_phase(self, connection: sa.Connection, stack_id: str) -> None:
        """Hand the nodes of a newly planned phase to their scheduler."""

    def halt(self, connection: sa.Connection, stack_id: str) -> None:
        """Start no more nodes of the stack until a plan schedules them again (I4)."""

    def close(self, connection: sa.Connection, stack_id: str) -> None:
        """Withdraw the request of `open`: the operation has ended."""


class _Convergence:
    stops_nested: ClassVar[bool] = True
    busy: ClassVar[tuple[Busy, ...]] = (
        # RUNNING and WAITING nodes fall due in the future (lease, wake-up time), SCHEDULED ones in the past.
        Busy(_NODE.due > sa.bindparam("now"), _NODE.due),
        Busy(_NODE.due <= sa.bindparam("now"), _NODE.due),
    )

    def admit(self, stack: Any, action: Action, *, preempt: bool) -> None:
        """Accept always: a newer operation supersedes the current one."""

    def open(self, connection: sa.Connection, stack_id: str, operation_id: str, now: float) -> None:
        """Do nothing: the operation itself is due."""

    def plan_due(self, now: float) -> float | None:
        return now

    def start_phase(self, connection: sa.Connection, stack_id: str) -> None:
        """Do nothing: the SCHEDULED nodes are due."""

    def halt(self, connection: sa.Connection, stack_id: str) -> None:
        nodes.halt_due(connection, stack_id)

    def close(self, connection: sa.Connection, stack_id: str) -> None:
        """Do nothing: an ended operation is not due."""


# Operations that are accepted at any time, because they end the current one.
_PREEMPTING = frozenset({Action.DELETE, Action.ROLLBACK})


class _Legacy:
    stops_nested: ClassVar[bool] = False
    busy: ClassVar[tuple[Busy, ...]] = (Busy(_NODE.state.in_(nodes.UNDER_WAY), _NODE.id),)

    def admit(self, stack: Any, action: Action, *, preempt: bool) -> None:
        if stack.status == Status.IN_PROGRESS and not preempt and action not in _PREEMPTING:
            raise errors.Conflict(
                f"Stack {stack.name} already has an action ({Action(stack.action).name}) in progress.",
                kind="ActionInProgress", hint="Wait until it has ended, cancel it, or delete the stack.")

    def open(self, connection: sa.Connection, stack_id: str, operation_id: str, now: float) -> None:
        locks.request(connection, stack_id, operation_id, now)

    def plan_due(self, now: float) -> float | None:
        return None

    def start_phase(self, connection: sa.Connection, stack_id: str) -> None:
        nodes.halt_legacy(connection, stack_id)

    def halt(self, connection: sa.Connection, stack_id: str) -> None:
        nodes.halt_legacy(connection, stack_id)

    def close(self, connection: sa.Connection, stack_id: str) -> None:
        locks.drop(connection, stack_id)


CONVERGENCE: Scheduling = _Convergence()
LEGACY: Scheduling = _Legacy()


def of(convergence: bool) -> Scheduling:
    """Return the scheduling of a stack, from the column `convergence` of its row."""
    return CONVERGENCE if convergence else LEGACY
