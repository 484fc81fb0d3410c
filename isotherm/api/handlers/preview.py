"""Handles previews of a create and of an update."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.handlers import stacks
from isotherm.api.http import responses
from isotherm.api.http.links import link
from isotherm.api.request import stack_views
from isotherm.api.request.call import Call

_NO_STACK_ID = "None"


async def create(call: Call) -> Response:
    asked = await stacks.instantiation(call)
    asked.check_arguments()
    name = asked.stack_name()
    with asked.as_heat_errors():
        request = await asked.request()
        found = await call.orchestrator.preview.create(name, request)
    return responses.json({"stack": {
        "id": _NO_STACK_ID, "links": [link(call.links.stack(call.project, name, _NO_STACK_ID))], "stack_name": name,
        **stack_views.description_fields(found["description"]),
        "creation_time": None, "updated_time": None, "deletion_time": None,
        "parameters": found["parameters"], "outputs": found["outputs"], "disable_rollback": request.disable_rollback,
        "timeout_mins": stack_views.minutes(request.timeout_s), "stack_owner": call.caller.user_name, "parent": None,
        "stack_user_project_id": None, "tags": list(request.tags), "capabilities": [], "notification_topics": [],
        "resources": found["resources"],
    }})


async def update(call: Call) -> Response:
    return await _changes(call, existing=False)


async def patch(call: Call) -> Response:
    return await _changes(call, existing=True)


async def _changes(call: Call, *, existing: bool) -> Response:
    asked = await stacks.instantiation(call)
    wanted = await stacks.read_patch(call, asked, existing=existing)
    nested = call.flag("show_nested")
    stack = await call.stack()
    with asked.as_heat_errors():
        found = await call.orchestrator.preview.update(stack["id"], wanted, nested=nested)
    return responses.json({"resource_changes": found})
