"""Stacks in the form of Heat's API."""

from __future__ import annotations

from typing import Any

from isotherm.api.http.links import link
from isotherm.api.request.call import Call

NO_DESCRIPTION = "No description"
MINUTE = 60


def summary(call: Call, stack: dict[str, Any], *, with_project: bool = False) -> dict[str, Any]:
    """Return a stack as a list shows it."""
    href = call.links.stack(stack["project"], stack["stack_name"], stack["id"])
    return {
        "id": stack["id"], "links": [link(href)], "stack_name": stack["stack_name"], "description": "",
        **{key: stack[key] for key in ("stack_status", "stack_status_reason", "creation_time", "updated_time",
                                       "deletion_time")},
        "stack_owner": stack["stack_owner"], "parent": stack["parent"], "stack_user_project_id": None,
        "tags": stack["tags"] or None, **({"project": stack["project"]} if with_project else {}),
    }


async def detail(call: Call, stack: dict[str, Any]) -> dict[str, Any]:
    """Return a stack with all fields."""
    resolve = call.flag("resolve_outputs", True) and not stack["deletion_time"]
    outputs = await call.orchestrator.outputs.list(stack["id"]) if resolve else None
    return {
        **summary(call, stack), **description_fields(stack["description"]),
        "parameters": await call.orchestrator.inputs.parameters(stack["id"]),
        **({} if outputs is None else {"outputs": outputs}), "disable_rollback": stack["disable_rollback"],
        "timeout_mins": minutes(stack["timeout_s"]), "tags": stack["tags"], "capabilities": [], "notification_topics": [],
    }


def description_fields(description: str) -> dict[str, str]:
    text = description or NO_DESCRIPTION
    return {"description": text, "template_description": text}


def minutes(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds // MINUTE)
