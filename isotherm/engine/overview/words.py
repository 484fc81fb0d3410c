"""Stacks, operations and nodes in the form of these queries: exact times, states by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from isotherm.planning import documents
from isotherm.states import UNFINISHED, Action, NodeKind, NodeState, OperationState, Status
from isotherm.template.model import definitions


def stack(row: Mapping[Any, Any]) -> dict[str, Any]:
    action, status = Action(row["action"]).name, Status(row["status"]).name
    return {
        "id": row["id"], "name": row["name"], "project": row["project"], "parent": row["owner_id"], "action": action,
        "status": status, "stack_status": f"{action}_{status}", "reason": row["reason"], "generation": row["generation"],
        "operation_id": row["operation_id"], "description": row["description"], "tags": documents.decode_any(row["tags"]),
        "owner": row["username"], "disable_rollback": bool(row["disable_rollback"]), "timeout_s": row["timeout_s"],
        "protected": bool(row["protected"]), "created": row["created_at"], "updated": row["updated_at"],
        "deleted": row["deleted_at"],
    }


@overload
def operation(row: Mapping[Any, Any]) -> dict[str, Any]: ...


@overload
def operation(row: None) -> None: ...


def operation(row: Mapping[Any, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    state = OperationState(row["state"])
    failure = row["failure"]
    return {
        "id": row["id"], "generation": row["generation"], "action": Action(row["action"]).name, "state": state.name,
        "running": state in UNFINISHED, "began": row["created_at"], "deadline": row["deadline"], "ended": row["ended_at"],
        "remaining": row["remaining"], "cancelled": bool(row["cancelled"]),
        "failure": None if failure is None else {
            "resource": None, "reason": failure, "at": None, "event_id": None, "line": None, "column": None},
    }


def duration(seconds: float) -> str:
    """Return a duration in at most two units: `41 s`, `2 m 18 s`, `3 h 5 m`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    larger, unit, smaller, rest = (whole // 60, "m", "s", whole % 60) if whole < 3600 else (
        whole // 3600, "h", "m", whole % 3600 // 60)
    return f"{larger} {unit} {rest} {smaller}" if rest else f"{larger} {unit}"


def counts(found: Mapping[NodeState, int]) -> dict[str, int]:
    return {state.name: count for state, count in sorted(found.items()) if count}


def type_of(row: Mapping[str, Any]) -> str:
    """Return the type of a node: that of its version, or the one in its definition."""
    if row["type"] or row["definition"] is None:
        return row["type"] or ""
    return definitions.type_of(documents.decode(row["definition"], documents.Target).definition)


def is_unwanted(row: Mapping[str, Any]) -> bool:
    return bool(row["superseded"]) or row["kind"] == NodeKind.CLEANUP


def member(
    row: Mapping[str, Any], place: Sequence[str] = (), *, since: float | None = None, drift: str | None = None
) -> dict[str, Any]:
    """Return a resource as a table shows it. `place`: the resources that lead to its stack."""
    state = NodeState(row["state"])
    return {
        "id": f"n{row['id']}", "name": row["name"], "type": type_of(row), "state": state.name, "since": since,
        "reason": reason(row), "action": Action(row["action"] or 0).name,
        "status": Status(row["status"] or Status.COMPLETE).name, "physical_id": row["physical_id"],
        "stack_id": row["child_id"], "unwanted": is_unwanted(row), "drift": drift,
        "stack": {"id": row["stack_id"], "name": row["stack_name"], "path": list(place)},
    }


def reason(row: Mapping[str, Any]) -> str:
    """Return why a node is in its state: the failure of its version, or what it waits for.

    A version that was marked unhealthy has failed, although its node is done.
    """
    state = NodeState(row["state"])
    if state is NodeState.FAILED or (state is NodeState.DONE and row["status"] == Status.FAILED):
        return row["reason"] or row["waits_for"] or ""
    return row["waits_for"] or ""
