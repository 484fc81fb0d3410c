"""Scalings of groups, which notifications describe: written with the operation that scales, deleted some time later."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t

_SCALING = t.scalings.c
# How long a scaling is kept: longer than any operation, and than a broker is away.
_KEPT_S = 30 * 24 * 3600.0


class Scaling(msgspec.Struct, frozen=True, gc=False):
    """The change that an operation on the nested stack of a group makes to its size."""

    operation_id: str
    # The stack of the group.
    stack_id: str
    group_name: str
    adjustment: float
    adjustment_type: str
    # The number of members before, and after.
    capacity: int
    new_capacity: int


def add(connection: sa.Connection, one: Scaling, now: float) -> None:
    """Store a scaling, and delete those that are old."""
    connection.execute(sa.delete(t.scalings).where(_SCALING.created_at < now - _KEPT_S))
    connection.execute(sa.insert(t.scalings).values(**msgspec.structs.asdict(one), created_at=now))


def of_operations(connection: sa.Connection, operation_ids: Collection[str]) -> dict[str, Scaling]:
    """Return the scalings among these operations."""
    columns = [_SCALING[name] for name in Scaling.__struct_fields__]
    found = connection.execute(sa.select(*columns).where(rows.among(_SCALING.operation_id)), rows.ids(operation_ids))
    return {row[0]: Scaling(*row) for row in found}
