"""Stacks: made, listed, shown, changed, deleted."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from isotherm.api import answers
from isotherm.api.call import Call
from isotherm.api.instantiation import Instantiation
from isotherm.api.links import link


async def index(call: Call) -> Response:
    found = await call.orchestrator.stacks()
    return answers.json({"stacks": [summary(call, one) for one in found]})


async def create(call: Call) -> Response:
    asked = await instantiation(call)
    name = asked.stack_name()
    accepted = await call.orchestrator.create(name, asked.request())
    href = call.links.stack(call.project, name, accepted.stack_id)
    return answers.json({"stack": {"id": accepted.stack_id, "links": [link(href)]}}, 201, {"Location": href})


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return answers.json({"stack": await detail(call, stack)})


async def update(call: Call) -> Response:
    return await _update(call, existing=False)


async def patch(call: Call) -> Response:
    return await _update(call, existing=True)


async def delete(call: Call) -> Response:
    stack = await call.stack()
    await call.orchestrator.delete(stack["id"])
    return answers.no_content()


async def _update(call: Call, *, existing: bool) -> Response:
    asked = (await instantiation(call)).patch(existing=existing)
    stack = await call.stack()
    await call.orchestrator.update(stack["id"], asked)
    return answers.page(202)


async def instantiation(call: Call) -> Instantiation:
    return Instantiation(await call.body(), call.service.settings.stack_action_timeout)


def summary(call: Call, stack: dict[str, Any]) -> dict[str, Any]:
    """A stack as a list shows it."""
    href = call.links.stack(stack["project"], stack["stack_name"], stack["id"])
    return {
        "id": stack["id"], "links": [link(href)], "stack_name": stack["stack_name"], "description": "",
        **{key: stack[key] for key in ("stack_status", "stack_status_reason", "creation_time", "updated_time",
                                       "deletion_time")},
        "stack_owner": stack["stack_owner"], "parent": stack["parent"], "stack_user_project_id": None,
        "tags": stack["tags"] or None, **({"project": stack["project"]} if call.caller.is_admin else {}),
    }


async def detail(call: Call, stack: dict[str, Any]) -> dict[str, Any]:
    """A stack with all there is to say of it."""
    resolve = call.flag("resolve_outputs", True) and not stack["deletion_time"]
    outputs = await call.orchestrator.outputs(stack["id"]) if resolve else None
    description = stack["description"] or "No description"
    timeout = stack["timeout_s"]
    return {
        **summary(call, stack), "description": description, "template_description": description,
        "parameters": await call.orchestrator.parameters(stack["id"]),
        **({} if outputs is None else {"outputs": outputs}), "disable_rollback": stack["disable_rollback"],
        "timeout_mins": None if timeout is None else int(timeout // 60), "tags": stack["tags"],
        "capabilities": [], "notification_topics": [],
    }
