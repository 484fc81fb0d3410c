"""The checks after an import, shared by the tests with a recorded and a real database of Heat."""

import asyncio
from typing import Any

import sqlalchemy as sa

from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.home_files import JOURNAL
from isotherm.importing import heat_rows, run
from isotherm.resources.reality.journal import JournalReality
from isotherm.store import tables as t
from tools.real_heat import sample_stacks

MASK = "******"


def wish(key: str, **options: Any) -> run.ImportRequest:
    return run.ImportRequest(**{"key": key, "project": "default", **options})


async def bring(engine: Embedded, url: str, one: run.ImportRequest) -> list[run.TreeReport]:
    with heat_rows.opened(url) as heat:
        return await run.import_stacks(engine, heat, one)


def request(name: str, **more: Any) -> Request:
    """What the stack is already, handed in by its user once more."""
    given = sample_stacks.wanted(name.partition("-")[0])
    return Request(given["template"], given["files"], {**given["environment"], **more})


async def rows(engine: Embedded, *tables: sa.Table) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that these tables hold."""
    def unit(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
        return {table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=str) for table in tables}

    return await engine.store.read(unit)


def things(engine: Embedded) -> dict[str, Any]:
    reality = JournalReality(engine.path / JOURNAL)
    try:
        return {id_: one["properties"] for id_, one in reality.objects.items()}
    finally:
        reality.close()


async def end(engine: Embedded, stack_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (stack := await engine.orchestrator.stacks.show(stack_id))["status"] == "IN_PROGRESS":
            await asyncio.sleep(0.01)
    return stack


async def is_as_heat_told(engine: Embedded, told: dict[str, Any]) -> None:
    """Every stack is what Heat said of it: state, tags, outputs, physical ids of the whole tree."""
    for name, heat in told.items():
        stack = await engine.orchestrator.stacks.show(name)
        assert (stack["id"], stack["stack_status"], stack["tags"]) == (heat["id"], heat["status"], heat["tags"] or [])
        assert stack["disable_rollback"] == heat["disable_rollback"]
        outputs = {one["output_key"]: one["output_value"] for one in await engine.orchestrator.outputs.list(name)}
        assert outputs == {key: MASK if sample_stacks.PASSWORD in str(value) else value
                           for key, value in heat["outputs"].items()}
    expected = sorted((name, id_, status) for one in told.values() for _, name, _, id_, status in one["resources"] if id_)
    found = await rows(engine, t.resources)
    columns = [column.name for column in t.resources.columns]
    present = [dict(zip(columns, row, strict=True)) for row in found["resources"]]
    assert sorted((one["name"], one["physical_id"]) for one in present if one["physical_id"] and not one["superseded"]) == [
        (name, id_) for name, id_, _ in expected]


async def no_op_changes_nothing(engine: Embedded, names: list[str]) -> None:
    """No resource is visited: no row and no object changes, and no operation is opened on a nested stack."""
    before, there = await rows(engine, t.resources, t.nodes, t.edges, t.signals, t.software_configs), things(engine)
    operations = len((await rows(engine, t.operations))["operations"])
    async with engine.driving():
        for name in names:
            preview = await engine.orchestrator.preview.changes(name, request(name))
            assert set(preview.counts) <= {"no change"}, (name, preview.items)
            accepted = await engine.orchestrator.stacks.update(name, request(name))
            assert (await end(engine, accepted.stack_id))["stack_status"] == "UPDATE_COMPLETE"
    assert await rows(engine, t.resources, t.nodes, t.edges, t.signals, t.software_configs) == before
    assert things(engine) == there
    # One for each stack that was updated, in place of the one it came with; none inside.
    assert len((await rows(engine, t.operations))["operations"]) <= operations + len(names)


async def delete_removes_all(engine: Embedded, names: list[str]) -> None:
    async with engine.driving():
        for name in names:
            accepted = await engine.orchestrator.stacks.delete(name)
            assert (await end(engine, accepted.stack_id))["stack_status"] == "DELETE_COMPLETE"
    left = await rows(engine, t.resources, t.nodes, t.edges, t.signals, t.software_configs, t.blobs, t.uses)
    assert left == {name: [] for name in left}
