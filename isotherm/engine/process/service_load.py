"""The state of the service for operators: work, processes, leases, and stacks at work. The page shows it."""

from __future__ import annotations

from typing import Any

from isotherm.engine.process import service_list
from isotherm.engine.process.home import Folder
from isotherm.engine.process.service_list import ServiceStatus
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.reads import gauges, overview

# Leases and stacks that are listed.
_MOST = 100


async def read(folder: Folder) -> dict[str, Any]:
    """Return the state of the service."""
    now = folder.clock.now()

    def unit(connection: Connection) -> dict[str, Any]:
        found = gauges.read(connection, now)
        return {
            "nodes": {state.name: count for state, count in sorted(found.nodes.items())}, "queue": found.queue,
            "oldest_s": found.oldest_s, "locked": found.locked,
            "stacks": {f"{action.name}_{status.name}": count for (action, status), count in sorted(found.stacks.items())},
            "leases": [_lease(row) for row in overview.leases(connection, _MOST)],
            "at_work": [_stack(row) for row in overview.at_work(connection, _MOST)],
        }

    found = await folder.store.read(unit)
    return {"now": now, **found, "services": [_service(one) for one in await service_list.list_all(folder)]}


def _service(one: ServiceStatus) -> dict[str, Any]:
    row = one.service
    return {"id": row.id, "kind": row.kind.name, "name": row.name, "host": row.host, "pid": row.pid,
            "started": row.started_at, "seen": row.seen_at, "load": row.load, "leases": row.leases, "version": row.version,
            "up": one.alive}


def _lease(row: Any) -> dict[str, Any]:
    return {"resource": row["name"], "stack": {"id": row["stack_id"], "name": row["stack_name"]}, "worker": row["worker"],
            "fence": row["fence"], "until": row["lease_until"]}


def _stack(row: Any) -> dict[str, Any]:
    return {"id": row["id"], "name": row["name"], "project": row["project"], "updated": row["moved_at"],
            "stack_status": f"{Action(row['action']).name}_{Status(row['status']).name}"}
