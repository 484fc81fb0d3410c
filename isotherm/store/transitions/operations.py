"""The state machine of operations: every write of the table `operations`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from isotherm.states import UNFINISHED, OperationState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.transitions.machine import NO_ROW, Machine, Part

PLANNING, UPDATING, CLEANING, COMPLETE, FAILED, SUPERSEDED, WAKING = OperationState
_CLOSED = (COMPLETE, FAILED, SUPERSEDED)

MACHINE = Machine("operations", OperationState)
_transition = MACHINE.transition
_OP = t.operations.c


def _one(operation_id: str) -> sa.Update:
    return sa.update(t.operations).where(_OP.id == operation_id)


@_transition(from_=(NO_ROW,), to=(PLANNING,), keeps=("I3", "I10", "I13"))
def open_(connection: sa.Connection, **values: Any) -> None:
    """Insert an accepted operation. With `due`, a worker plans it; without, the engine that holds the stack's lock."""
    connection.execute(sa.insert(t.operations).values(state=PLANNING, remaining=0, fence=0, **values))


_TAKE = (
    sa.update(t.operations)
    .where(rows.among(_OP.stack_id), _OP.due <= sa.bindparam("o_now"))
    .values(due=sa.bindparam("o_until"), fence=_OP.fence + 1)
)


@_transition(keeps=("I10",))
def take_to_plan(connection: sa.Connection, stack_ids: Collection[str], until: float, now: float) -> None:
    """Take due operations of these stacks to plan them; they are due again should the planner die."""
    connection.execute(_TAKE, {**rows.ids(stack_ids), "o_now": now, "o_until": until})


@_transition(keeps=("I12",), part=Part.STOP)
def release_planning(connection: sa.Connection, now: float) -> None:
    """Make all operations due that are being planned: their planner is not recorded, and planning twice is harmless."""
    planned = sa.update(t.operations).where(_OP.state == PLANNING, _OP.due > now)
    connection.execute(planned.values(due=now))


@_transition(keeps=("I5",))
def set_engine(connection: sa.Connection, operation_id: str, fence: int) -> None:
    """Record the lock under which an engine of the legacy path walks the operation; 0: none has begun it."""
    connection.execute(_one(operation_id).values(fence=fence))


@_transition(from_=(PLANNING,), to=(UPDATING, WAKING), keeps=("I9", "I10"))
def start(connection: sa.Connection, operation_id: str, state: OperationState, remaining: int) -> None:
    """Start the first phase: the nodes are written."""
    connection.execute(_one(operation_id).values(state=state, remaining=remaining, due=None))


@_transition(from_=(WAKING,), to=(PLANNING,), keeps=("I10",))
def plan_again(connection: sa.Connection, operation_id: str, due: float | None) -> None:
    """Plan the operation after its suspended resources were resumed."""
    connection.execute(_one(operation_id).values(state=PLANNING, remaining=0, due=due))


@_transition(from_=(UPDATING,), to=(CLEANING,), keeps=("I7", "I8"))
def clean_up(connection: sa.Connection, operation_id: str, remaining: int) -> None:
    """Start the clean-up phase."""
    connection.execute(_one(operation_id).values(state=CLEANING, remaining=remaining))


@_transition(keeps=("I10", "I14"))
def count_down(connection: sa.Connection, operation_id: str, ended: int, failure: str | None) -> None:
    """Subtract ended nodes from those that remain, and keep the first failure."""
    connection.execute(_one(operation_id).values(
        remaining=_OP.remaining - ended, failure=sa.func.coalesce(_OP.failure, failure)))


@_transition(keeps=("I14",))
def record_failure(connection: sa.Connection, operation_id: str, failure: str) -> None:
    """Keep the failure, unless there is an earlier one."""
    connection.execute(_one(operation_id).values(failure=sa.func.coalesce(_OP.failure, failure)))


@_transition(keeps=("I13",), part=Part.STOP)
def cancel(connection: sa.Connection, operation_id: str, remaining: int) -> None:
    """Start nothing more for the operation; `remaining` steps may still finish."""
    connection.execute(_one(operation_id).values(remaining=remaining, due=None, cancelled=True))


@_transition(from_=UNFINISHED, to=(SUPERSEDED,), keeps=("I3", "I4"), part=Part.STOP)
def supersede(connection: sa.Connection, operation_id: str, now: float) -> None:
    """End an operation in favour of a newer one."""
    connection.execute(_one(operation_id).values(state=SUPERSEDED, due=None, deadline=None, ended_at=now))


@_transition(from_=(SUPERSEDED,), to=(FAILED,), keeps=("I4", "I14"), part=Part.STOP)
def stop_nested(connection: sa.Connection, operation_id: str, failure: str) -> None:
    """Fail an operation on a nested stack that a newer operation on the outer stack has halted."""
    connection.execute(_one(operation_id).values(state=FAILED, failure=failure))


@_transition(from_=UNFINISHED, to=(COMPLETE, FAILED), keeps=("I11", "I13", "I14"))
def close(connection: sa.Connection, operation_id: str, now: float, *, failed: bool) -> None:
    """Close an operation whose nodes have all ended, or which was stopped."""
    connection.execute(_one(operation_id).values(
        state=FAILED if failed else COMPLETE, ended_at=now, deadline=None, due=None))


@_transition(from_=(PLANNING, WAKING, UPDATING), to=(FAILED,), keeps=("I11", "I14", "I15"), part=Part.STOP)
def give_way(connection: sa.Connection, operation_id: str, failure: str, now: float) -> None:
    """Fail an operation in favour of its rollback."""
    connection.execute(_one(operation_id).values(state=FAILED, failure=failure, ended_at=now, deadline=None, due=None))


@_transition(from_=(UPDATING, COMPLETE), to=(COMPLETE, FAILED), keeps=("I14",), part=Part.ADMIN)
def end_imported(connection: sa.Connection, operation_id: str, failure: str | None, now: float) -> None:
    """End the operation of an imported stack."""
    connection.execute(_one(operation_id).values(
        state=COMPLETE if failure is None else FAILED, remaining=0, due=None, deadline=None, ended_at=now,
        failure=failure))


@_transition(from_=(NO_ROW,), to=(COMPLETE,), keeps=("I15", "I18"), part=Part.ADMIN)
def insert_migrated(connection: sa.Connection, **values: Any) -> None:
    """Insert the operation that a migrated stack rolls back to."""
    connection.execute(sa.insert(t.operations).values(state=COMPLETE, remaining=0, fence=0, **values))


@_transition(from_=_CLOSED, to=(NO_ROW,), keeps=("I15", "I16"))
def delete(connection: sa.Connection, operation_ids: Collection[str], *, but: str) -> None:
    """Delete operations, except one."""
    connection.execute(sa.delete(t.operations).where(rows.among(_OP.id), _OP.id != but), rows.ids(operation_ids))


@_transition(from_=_CLOSED, to=(NO_ROW,), keeps=("I16", "I18"), part=Part.ADMIN)
def delete_all(connection: sa.Connection, stack_id: str) -> None:
    """Delete all operations of a stack that is migrated."""
    connection.execute(sa.delete(t.operations).where(_OP.stack_id == stack_id))
