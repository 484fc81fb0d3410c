"""What would happen: previews of stacks that are yet to be, and of updates."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.handlers import stacks
from isotherm.api.http import answers
from isotherm.api.http.links import link
from isotherm.api.request import shapes
from isotherm.api.request.call import Call

_NOBODY = "None"


async def create(call: Call) -> Response:
    asked = await stacks.instantiation(call)
    asked.check_arguments()
    name = asked.stack_name()
    with asked.judged():
        request = await asked.request()
        found = await call.orchestrator.preview_create(name, request)
    return answers.json({"stack": {
        "id": _NOBODY, "links": [link(call.links.stack(call.project, name, _NOBODY))], "stack_name": name,
        **shapes.described(found["description"]), "creation_time": None, "updated_time": None, "deletion_time": None,
        "parameters": found["parameters"], "outputs": found["outputs"], "disable_rollback": request.disable_rollback,
        "timeout_mins": shapes.minutes(request.timeout_s), "stack_owner": call.caller.user_name, "parent": None,
        "stack_user_project_id": None, "tags": list(request.tags), "capabilities": [], "notification_topics": [],
        "resources": found["resources"],
    }})


async def update(call: Call) -> Response:
    return await _changes(call, existing=False)


async def patch(call: Call) -> Response:
    return await _changes(call, existing=True)


async def _changes(call: Call, *, existing: bool) -> Response:
    asked = await stacks.instantiation(call)
    wanted = await stacks.change(call, asked, existing=existing)
    nested = call.flag("show_nested")
    stack = await call.stack()
    with asked.judged():
        found = await call.orchestrator.preview_update(stack["id"], wanted, nested=nested)
    return answers.json({"resource_changes": found})
