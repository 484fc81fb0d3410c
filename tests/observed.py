"""The stored observations of a stack, read from the tables for tests."""

from __future__ import annotations

import sqlalchemy as sa
from msgspec.structs import fields

from isotherm.states import ObservationResult
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Observation

_SEALED = ("live", "drift")


def of_stack(connection: sa.Connection, stack_id: str) -> dict[str, Observation]:
    """Return the last observation of each resource's current version, by resource name."""
    box = sealing.of(connection)
    found = connection.execute(
        sa.select(t.resources.c.name, t.observations)
        .join(t.resources, sa.and_(t.resources.c.id == t.observations.c.resource_id,
                                   t.resources.c.superseded == sa.false()))
        .where(t.observations.c.stack_id == stack_id)
    ).mappings()
    observations = {}
    for row in found:
        values = {field.name: row[field.name] for field in fields(Observation)}
        values["result"] = ObservationResult(values["result"])
        opened = {name: box.open(values[name], name, row["resource_id"], stack_id) for name in _SEALED}
        observations[row["name"]] = Observation(**{**values, **opened})
    return observations
