"""Unit of work: an operator gives up what is under way on a stack. It counts as failed, and what it began as unknown.

Every operation is taken up again after a crash, so this is for what can never end: a cloud that is gone, a plug-in that
waits for ever. The next update or delete finds out what there is, by the tokens of what was begun.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.states import ENDED, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish

_NODE, _VERSION = t.nodes.c, t.resources.c
_UNDER_WAY = (NodeState.RUNNING, NodeState.WAITING)


def reset(connection: sa.Connection, stack_id: str, reason: str, now: float) -> bool:
    """Whether there was anything to give up."""
    stack = t.stacks.c
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    if operation is None or operation.state not in accept.UNFINISHED:
        # Nobody is at work on it, whatever its status says.
        return bool(connection.execute(
            sa.update(t.stacks).where(stack.id == stack_id, stack.status == Status.IN_PROGRESS)
            .values(status=Status.FAILED, reason=reason)
        ).rowcount)
    connection.execute(
        sa.update(t.resources).where(_VERSION.stack_id == stack_id, _VERSION.status == Status.IN_PROGRESS)
        # How much of it was done is not known: nothing proves any more what the object is like.
        .values(status=Status.FAILED, reason=reason, intent=None, digest=None)
    )
    mine = sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.state.not_in(ENDED))
    # The lease stays with whoever has it: the next operation waits until it is given back or has run out.
    connection.execute(mine.where(_NODE.state.in_(_UNDER_WAY)).values(state=NodeState.FAILED, due=None, awaits=None))
    connection.execute(mine.values(state=NodeState.SKIPPED, due=None, awaits=None))
    failure = sa.func.coalesce(t.operations.c.failure, reason)
    connection.execute(sa.update(t.operations).where(t.operations.c.id == operation.id).values(failure=failure))
    failed = rows.operation(connection, operation.id)
    if failed is not None:
        finish.close(connection, failed, now)
    return True
