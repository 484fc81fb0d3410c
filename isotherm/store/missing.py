"""The error for a resource that a stack does not have, with Heat's message."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm import errors
from isotherm.store import tables as t


def resource(connection: sa.Connection, stack_id: str, name: str) -> errors.NotFound:
    stack = connection.execute(sa.select(t.stacks.c.name).where(t.stacks.c.id == stack_id)).scalar()
    return errors.NotFound(f"The Resource ({name}) could not be found in Stack {stack}.", kind="ResourceNotFound",
                           hint="`isotherm resources STACK` shows what there is.")
