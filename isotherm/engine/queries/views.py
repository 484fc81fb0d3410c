"""Views: rows as plain data for clients, with words instead of numbers, ISO times and decoded documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from isotherm.planning import documents
from isotherm.resources.context.software import Deployment
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store.reads.lookups import Row


def time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stack(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "project": row["project"],
        "parent": row["owner_id"],
        "stack_owner": row["username"],
        "stack_name": row["name"],
        "description": row["description"],
        "action": Action(row["action"]).name,
        "status": Status(row["status"]).name,
        "stack_status": f"{Action(row['action']).name}_{Status(row['status']).name}",
        "stack_status_reason": row["reason"],
        "generation": row["generation"],
        "operation_id": row["operation_id"],
        "disable_rollback": bool(row["disable_rollback"]),
        "timeout_s": row["timeout_s"],
        "protected": bool(row["protected"]),
        "tags": documents.decode_any(row["tags"]),
        "creation_time": time(row["created_at"]),
        "updated_time": time(row["updated_at"]),
        "deletion_time": time(row["deleted_at"]),
    }


def progress(operation: Row | None, counts: Mapping[NodeState, int]) -> dict[str, Any]:
    """Return the progress of the newest operation."""
    if operation is None:
        return {"progress": {}}
    return {
        "progress": {
            "states": {state.name: count for state, count in sorted(counts.items())},
            "remaining": operation["remaining"],
            "started": time(operation["created_at"]),
            "deadline": time(operation["deadline"]),
            "ended": time(operation["ended_at"]),
        }
    }


def resource(row: Mapping[str, Any]) -> dict[str, Any]:
    # A resource without a version has its type in its definition only.
    unmade = not row["type"] and row["definition"] is not None
    target = documents.decode(row["definition"], documents.Target) if unmade else None
    return {
        "resource_name": row["name"],
        "resource_type": row["type"] or (target.implementation if target else ""),
        "physical_resource_id": row["physical_id"],
        "resource_action": row["action"].name,
        "resource_status": f"{row['action'].name}_{row['status'].name}",
        "resource_status_reason": row["reason"] or "",
        "state": row["state"].name,
        "waits_for": row["waits_for"] or "",
        "to_be_deleted": row["kind"] is NodeKind.CLEANUP,
        "creation_time": time(row["created_at"]),
        "updated_time": time(row["updated_at"]),
    }


def event(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "operation_id": row["operation_id"],
        "event_time": time(row["created_at"]),
        "resource_name": row["name"],
        "resource_type": row["type"],
        "physical_resource_id": row["physical_id"],
        "resource_status": f"{Action(row['action']).name}_{Status(row['status']).name}",
        "resource_status_reason": row["reason"],
    }


def snapshot(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "name": row["name"], "action": Action(row["action"]).name, "status": Status(row["status"]).name,
        "status_reason": row["reason"], "creation_time": time(row["created_at"]),
    }


def software_deployment(one: Deployment) -> dict[str, Any]:
    """Return a software deployment in the form of Heat's API; `updated_time` is there after the first update."""
    changed = {} if one.updated_at is None else {"updated_time": time(one.updated_at)}
    return {
        "id": one.id, "server_id": one.server_id, "config_id": one.config_id, "input_values": one.input_values,
        "output_values": one.output_values, "action": one.action, "status": one.status, "status_reason": one.status_reason,
        "creation_time": time(one.created_at), **changed,
    }


def retained(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"resource_name": row["name"], "resource_type": row["type"], "physical_resource_id": row["physical_id"],
         "since": time(row["created_at"])}
        for row in rows
    ]
