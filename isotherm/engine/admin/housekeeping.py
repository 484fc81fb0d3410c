"""Operators' commands on a service: list, clean up, reset what is stuck. `heat-manage` calls them.

They work on the stacks of all projects, beside running engines: each piece of work is a transaction of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isotherm import config, errors
from isotherm.engine.admin import migrate as migrate_admin
from isotherm.engine.process import heartbeat, liveness
from isotherm.engine.process import service_list as service_list_process
from isotherm.engine.process.heartbeat import FOLDERS
from isotherm.engine.process.home import Folder, database_url
from isotherm.engine.process.home_files import CONFIG
from isotherm.engine.queries import views
from isotherm.planning import desired, documents
from isotherm.planning.planner import input_of
from isotherm.resources.registry import Registry
from isotherm.store.admin import purge, reseal, services
from isotherm.store.database import connect, schema
from isotherm.store.database.writer import Connection
from isotherm.store.operations import migrate, reset
from isotherm.store.operations.migrate import TreeStack
from isotherm.store.reads import admin

# Rows that are sealed, or deleted stacks that are purged, in one transaction.
PAGE = 200
RESET = "Reset by the operator"


def schema_version(path: Path, files: Sequence[Path]) -> str | None:
    """Return the schema version of the database, without migrating it; None if there is no database."""
    url = database_url(path, config.load(path / CONFIG, *files))
    file = connect.file_of(url)
    if file is not None and not file.exists():
        return None
    engine = connect.connect(url, reading=True)
    try:
        return schema.revision(engine)
    finally:
        engine.dispose()


def newest_schema() -> str:
    """Return the schema version of this release."""
    return schema.HEAD


async def stacks(folder: Folder, *, nested: bool, project: str | None) -> list[dict[str, Any]]:
    """Return the existing stacks of all projects, with the architecture of each."""
    found = await folder.store.read(migrate.living)
    counts = await folder.store.read(admin.resources)
    return [{"id": one.id, "stack_name": one.name, "project": one.project, "parent": one.owner_id,
             "stack_status": one.state, "path": "convergence" if one.convergence else "legacy",
             "resources": counts.get(one.id, 0)}
            for one in found if (nested or one.owner_id is None) and project in (None, one.project)]


async def clean_services(folder: Folder) -> list[str]:
    """Release the leases of dead processes, delete the rows of all that are down, and return their names."""
    cleaned = set()
    for kind, place in FOLDERS.items():
        with liveness.dead_processes(folder.path / place) as names:
            if names:
                await folder.store.write(
                    partial(heartbeat.release_dead_services, kind=kind, dead=names, now=folder.clock.now()))
        cleaned.update(names)
    # The death of processes on other machines is not proved: their leases expire by themselves.
    down = {one.service.name for one in await service_list_process.list_all(folder) if not one.alive} | cleaned
    if down:
        gone = [heartbeat.id_of(name) for name in down]
        await folder.store.write(lambda connection: services.forget(connection, gone))
    return sorted(down)


async def purge_deleted(folder: Folder, age_s: float, project: str | None, batch: int = PAGE) -> int:
    """Purge stacks that were deleted so long ago, and return their number."""
    before, count = folder.clock.now() - age_s, 0
    while gone := await folder.store.write(lambda connection: purge.forget(connection, before, project, batch)):
        count += len(gone)
    return count


async def count_deleted(folder: Folder, age_s: float, project: str | None) -> int:
    """Return the number of stacks that `purge_deleted` would purge."""
    before = folder.clock.now() - age_s
    return len(await folder.store.read(lambda connection: purge.deleted(connection, before, project)))


async def resource_data(folder: Folder, called: str) -> dict[str, Any]:
    """Return the data of a resource, unsealed. It is found by the id of its row, its token, or its physical id."""
    found = await folder.store.read(lambda connection: admin.data(connection, called))
    if not found:
        raise errors.NotFound(f"The Resource ({called}) could not be found.", kind="ResourceNotFound",
                              hint="It can be found by the id of its row, by its token, or by its physical id.")
    if len(found) > 1:
        raise errors.UserError(f"Several resources are called {called}.",
                               hint="Give the id of the row: " + ", ".join(str(one.id) for one in found))
    one = found[0]
    return {"id": one.id, "resource_name": one.name, "resource_type": one.type, "stack_id": one.stack_id,
            "physical_resource_id": one.physical_id, "data": documents.decode(one.data, dict[str, Any])}


async def check_exists(folder: Folder, called: str) -> None:
    """Raise NotFound if there is no such stack."""
    migrate_admin.called(await folder.store.read(migrate.living), called)


async def reset_status(folder: Folder, called: str) -> list[dict[str, Any]]:
    """Reset the unfinished operations of a stack and its nested stacks, and return the stacks that had one."""
    root = migrate_admin.called(await folder.store.read(migrate.living), called)

    def unit(connection: Connection) -> list[TreeStack]:
        tree = migrate.tree(connection, root.id)
        # Nested stacks first: the failure reaches the resources that wait for them.
        given_up = {one.id for one in reversed(tree) if reset.reset(connection, one.id, RESET, folder.clock.now())}
        return [one for one in migrate.tree(connection, root.id) if one.id in given_up]

    found = await folder.store.write(unit)
    return [{"id": one.id, "stack_name": one.name, "stack_status": one.state} for one in found]


@dataclass(slots=True)
class Resealed:
    """The number of texts that were sealed with the newest key, and of texts that no key unseals."""

    sealed: int = 0
    unreadable: int = 0
    # Stacks on which something is under way: their requests stay as they are until the next time.
    busy: int = 0

    def add(self, one: reseal.Page) -> None:
        self.sealed += one.sealed
        self.unreadable += one.unreadable


async def reseal_all(folder: Folder, types: Registry) -> Resealed:
    """Seal all texts with the newest key."""
    counts = Resealed()
    await _renew_digests(folder, types)
    for columns in reseal.SEALED:
        await _seal_rows(folder, columns, counts)
    addresses = await folder.store.read(reseal.addresses)
    for start in range(0, len(addresses), PAGE):
        counts.add(await folder.store.write(partial(reseal.move, chosen=addresses[start:start + PAGE])))
    living = await folder.store.read(migrate.living)
    counts.busy = len(await folder.store.read(
        lambda connection: migrate.busy(connection, [one.id for one in living], folder.clock.now())))
    return counts


async def _seal_rows(folder: Folder, columns: reseal.Columns, counts: Resealed) -> None:
    after: tuple[Any, ...] | None = ()
    while after is not None:
        done = await folder.store.write(partial(reseal.page, of=columns, after=after, limit=PAGE))
        counts.add(done)
        after = done.after


async def _renew_digests(folder: Folder, types: Registry) -> None:
    """Renew the digests of wanted resources, stack by stack. Stacks whose request cannot be read are left out."""
    for one in await folder.store.read(migrate.living):
        def unit(connection: Connection, one: TreeStack = one) -> None:
            operation = migrate.contents(connection, one.id).operation
            if operation is not None and operation.input:
                input_ = input_of(connection, one.id, operation.input)
                identity = desired.Identity(one.name, one.id, one.project)
                reseal.mark(connection, one.id, desired.desire(input_, identity, types, validate=False).wanted)

        with contextlib.suppress(errors.IsothermError):
            await folder.store.write(unit)


async def service_list(folder: Folder) -> list[dict[str, Any]]:
    """Return the processes of the service on all hosts, up and down."""
    return [{"engine_id": one.service.name, "binary": f"isotherm-{one.service.kind.name.lower()}",
             "host": one.service.host, "pid": one.service.pid, "status": "up" if one.alive else "down",
             "load": one.service.load, "leases": one.service.leases, "version": one.service.version,
             "since": views.time(one.service.started_at), "seen": views.time(one.service.seen_at)}
            for one in await service_list_process.list_all(folder)]
