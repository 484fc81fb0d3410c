"""Stacks: made, shown, changed, deleted."""

from __future__ import annotations

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import responses
from isotherm.api.http.links import link
from isotherm.api.request import stack_views
from isotherm.api.request.call import Call
from isotherm.api.request.instantiation import Instantiation
from isotherm.engine.orchestrator import Patch


async def create(call: Call) -> Response:
    asked = await instantiation(call)
    asked.check_arguments()
    name = asked.stack_name()
    document = asked.export_document()
    with asked.as_heat_errors():
        async with call.delegated() as orchestrator:
            if document is None:
                accepted = await orchestrator.stacks.create(name, await asked.request())
            else:
                accepted = await orchestrator.exports.adopt(name, document, _adoption(call, asked))
    href = call.links.stack(call.project, name, accepted.stack_id)
    return responses.json({"stack": {"id": accepted.stack_id, "links": [link(href)]}}, 201, {"Location": href})


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return responses.json({"stack": await stack_views.detail(call, stack)})


async def update(call: Call) -> Response:
    """Handle PUT: replace template, environment, parameters and files."""
    asked = await instantiation(call)
    return await _updated(call, await read_patch(call, asked, existing=False), asked)


async def patch(call: Call) -> Response:
    """Handle PATCH: change the fields that are given. An update without changes needs a weaker rule."""
    asked = await instantiation(call)
    if not asked.changes_nothing():
        call.check_policy("stacks:update_patch")
    return await _updated(call, await read_patch(call, asked, existing=True), asked)


async def delete(call: Call) -> Response:
    stack = await call.stack()
    await call.orchestrator.stacks.delete(stack["id"])
    return responses.no_content()


async def instantiation(call: Call) -> Instantiation:
    return Instantiation(await call.body(), call.service.settings)


async def read_patch(call: Call, asked: Instantiation, *, existing: bool) -> Patch:
    """Return the patch that an update, or its preview, asks for."""
    asked.check_arguments(update=True)
    with asked.as_heat_errors():
        if not existing:
            return await asked.full_update()
        stack = await call.stack()
        return await asked.partial_update(await call.orchestrator.inputs.template_text(stack["id"]))


async def _updated(call: Call, wanted: Patch, asked: Instantiation) -> Response:
    stack = await call.stack()
    with asked.as_heat_errors():
        async with call.delegated(stack["id"]) as orchestrator:
            await orchestrator.stacks.update(stack["id"], wanted)
    return responses.status_page(call.request, 202)


def _adoption(call: Call, asked: Instantiation) -> Patch:
    changes = asked.adoption_changes()
    if not call.service.settings.enable_stack_adopt:
        raise errors.UserError("Stack Adopt is not supported.", kind="NotSupported")
    return changes
