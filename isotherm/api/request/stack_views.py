"""Stacks in the form of Heat's API."""

from __future__ import annotations

from typing import Any

from isotherm.api.http.links import link
from isotherm.api.request.call import Call

NO_DESCRIPTION = "No description"
MINUTE = 60
# Fields that Heat's API does not have.
_OWN = ("generation", "operation_id", "disable_rollback", "timeout_s", "protected")


def summary(call: Call, stack: dict[str, Any], *, with_project: bool = False) -> dict[str, Any]:
    """Return a stack as a list shows it."""
    href = call.links.stack(stack["project"], stack["stack_name"], stack["id"])
    return {
        "id": stack["id"], "links": [link(href)], "stack_name": stack["stack_name"], "description": "",
        "template_description": stack["description"] or NO_DESCRIPTION,
        **{key: stack[key] for key in ("stack_status", "stack_status_reason", "creation_time", "updated_time",
                                       "deletion_time")},
        "stack_owner": stack["stack_owner"], "parent": stack["parent"],
        "stack_user_project_id": stack.get("stack_user_project_id"),
        "tags": stack["tags"] or None, **({"project": stack["project"]} if with_project else {}),
        **{key: stack[key] for key in _OWN},
    }


async def detail(call: Call, stack: dict[str, Any]) -> dict[str, Any]:
    """Return a stack with all fields."""
    resolve = call.flag("resolve_outputs", True) and not stack["deletion_time"]
    outputs = await call.orchestrator.outputs.list(stack["id"]) if resolve else None
    return {
        **summary(call, stack), "stack_user_project_id": await call.orchestrator.stacks.user_project(stack["id"]),
        **description_fields(stack["description"]),
        "parameters": await call.orchestrator.inputs.parameters(stack["id"]),
        **({} if outputs is None else {"outputs": outputs}), "disable_rollback": stack["disable_rollback"],
        "timeout_mins": minutes(stack["timeout_s"]), "tags": stack["tags"], "capabilities": [], "notification_topics": [],
        **(await _progress(call, stack) if call.flag("with_progress") else {}),
    }


async def _progress(call: Call, stack: dict[str, Any]) -> dict[str, Any]:
    """Return fields that Heat's API does not have, and whose reading costs time in large stacks."""
    shown = await call.orchestrator.stacks.show(stack["id"])
    drift = await call.orchestrator.stacks.drift_counts([stack["id"]])
    return {"progress": shown["progress"], "retained": shown["retained"], "left_out": shown["left_out"],
            "drift": drift[stack["id"]]}


def description_fields(description: str) -> dict[str, str]:
    text = description or NO_DESCRIPTION
    return {"description": text, "template_description": text}


def minutes(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds // MINUTE)
