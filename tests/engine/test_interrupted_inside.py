"""Nested stacks whose creation was interrupted: the row of their resource does not have their ids."""

from __future__ import annotations

import json
from collections.abc import Callable

import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.database.writer import Connection
from isotherm.store.watch import goals, schedule
from tests.engine.conftest import Lab, resource

LEAF = json.dumps({"heat_template_version": "2021-04-16", "resources": {"f": resource("1")}})


def test_what_has_drifted_inside_is_repaired_through_the_resource_around_it(lab: Callable[..., None]) -> None:
    async def story(it: Lab) -> None:
        await it.create({"p": {"type": "leaf.yaml"}}, files={"leaf.yaml": LEAF})
        inner, outer = (await it.physical())["p"], (await it.api.stacks.show("s"))["id"]

        def unit(connection: Connection) -> goals.Goal | None:
            forgotten = sa.update(t.resources).where(t.resources.c.stack_id == outer).values(physical_id=None)
            connection.execute(forgotten)
            return goals.of(connection, schedule.one(connection, inner, 0.0), ["f"])

        goal = await it.engine.store.write(unit)
        assert goal is not None
        assert (goal.stack_id, goal.names) == (outer, ("p",))

    lab(story)
