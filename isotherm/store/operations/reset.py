"""Unit of work: fail the current operation of a stack on an operator's order.

Operations resume after a crash by themselves. A reset is for those that can never end: a cloud that is gone, a plug-in
that waits for ever. The next update or delete finds the objects of unfinished actions by their tokens.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.states import UNFINISHED, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import finish
from isotherm.store.transitions import nodes, operations, versions


def reset(connection: sa.Connection, stack_id: str, reason: str, now: float) -> bool:
    """Fail the operation in progress; return whether there was one."""
    stack = t.stacks.c
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    if operation is None or operation.state not in UNFINISHED:
        # No operation is in progress, whatever the status of the stack says.
        return bool(connection.execute(
            sa.update(t.stacks).where(stack.id == stack_id, stack.status == Status.IN_PROGRESS)
            .values(status=Status.FAILED, reason=reason)
        ).rowcount)
    versions.abort_all(connection, stack_id, reason)
    nodes.reset(connection, stack_id)
    operations.record_failure(connection, operation.id, reason)
    failed = rows.operation(connection, operation.id)
    if failed is not None:
        finish.close(connection, failed, now)
    return True
