"""Handles stacks: create, show, update, delete, export and abandon."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, responses
from isotherm.api.http.links import link
from isotherm.api.request import plan_tokens, stack_views
from isotherm.api.request.call import Call
from isotherm.api.request.instantiation import PLAN_TOKEN, Instantiation
from isotherm.api.request.plan_tokens import PlannedStack
from isotherm.engine.orchestrator import Patch, Request


async def create(call: Call) -> Response:
    body = await instantiation(call)
    body.check_arguments()
    name = body.stack_name()
    document = body.export_document()
    with body.as_heat_errors():
        async with call.delegated() as orchestrator:
            if document is None:
                accepted = await orchestrator.stacks.create(name, await _planned(call, name, body))
            else:
                accepted = await orchestrator.exports.adopt(name, document, _adoption(call, body))
    href = call.links.stack(call.project, name, accepted.stack_id)
    return responses.json({"stack": {"id": accepted.stack_id, "links": [link(href)]}}, 201,
                          {"Location": href, **responses.begun(accepted.operation_id)})


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return responses.json({"stack": await stack_views.detail(call, stack)})


async def update(call: Call) -> Response:
    """Handle PUT: replace template, environment, parameters and files."""
    body = await instantiation(call)
    return await _updated(call, await read_patch(call, body, existing=False), body)


async def patch(call: Call) -> Response:
    """Handle PATCH: change the fields that are given. An update without changes needs a weaker rule."""
    body = await instantiation(call)
    if not body.changes_nothing():
        call.check_policy("stacks:update_patch")
    return await _updated(call, await read_patch(call, body, existing=True), body)


async def delete(call: Call) -> Response:
    stack = await call.stack()
    accepted = await call.orchestrator.stacks.delete(
        stack["id"], generation=call.seen_generation(), force=call.flag("force"))
    return responses.no_content(responses.begun(accepted.operation_id))


async def export(call: Call) -> Response:
    refuse_unless_abandon_is_enabled(call)
    stack = await call.stack()
    # Adoption needs the hidden values too.
    return responses.json(await call.orchestrator.exports.export(stack["id"], hidden=call.flag("show_hidden", True)))


async def abandon(call: Call) -> Response:
    """Remove the stack and leave its objects; return the export document."""
    refuse_unless_abandon_is_enabled(call)
    stack = await call.stack()
    abandoned = await call.orchestrator.exports.abandon(
        stack["id"], hidden=call.flag("show_hidden", True), force=call.flag("force"))
    return responses.json(abandoned.document, headers=responses.begun(abandoned.accepted.operation_id))


async def instantiation(call: Call) -> Instantiation:
    """Return the body of a request that describes a stack, with the files of the container that it names."""
    return await read(call, await call.body())


async def read(call: Call, body: dict[str, Any]) -> Instantiation:
    found = Instantiation(body, call.service.settings)
    await found.read_container(call.orchestrator.inputs.container_files)
    return found


async def read_patch(call: Call, body: Instantiation, *, existing: bool) -> Patch:
    """Return the patch that an update, or its preview, asks for."""
    body.check_arguments(update=True)
    with body.as_heat_errors():
        if not existing:
            return await body.full_update()
        stack = await call.stack()
        return await body.partial_update(await call.orchestrator.inputs.template_text(stack["id"]))


async def _updated(call: Call, wanted: Patch, body: Instantiation) -> Response:
    stack, generation, token = await call.stack(), call.seen_generation(), body.plan_token()
    with body.as_heat_errors():
        if token:
            target = PlannedStack(stack["stack_name"], stack["id"], stack["generation"])
            planned = await plan_tokens.check(call, token, target, wanted)
            generation = planned if generation is None else generation
        async with call.delegated(stack["id"]) as orchestrator:
            accepted = await orchestrator.stacks.update(stack["id"], wanted, generation=generation)
    return responses.status_page(call.request, 202, responses.begun(accepted.operation_id))


async def _planned(call: Call, name: str, body: Instantiation) -> Request:
    """Return the request of a create. Refuse it if it is bound to a plan that does not hold any more."""
    token, request = body.plan_token(), await body.request()
    if token:
        await plan_tokens.check(call, token, PlannedStack(name), request)
    return request


def _adoption(call: Call, body: Instantiation) -> Patch:
    changes = body.adoption_changes()
    if body.plan_token():
        raise faults.bad_request(f"{PLAN_TOKEN} is not for a request that adopts a stack.")
    if not call.service.settings.enable_stack_adopt:
        raise errors.UserError("Stack Adopt is not supported.", kind="NotSupported")
    return changes


def refuse_unless_abandon_is_enabled(call: Call) -> None:
    """Raise UserError if the options allow no stack to leave its objects behind."""
    if not call.service.settings.enable_stack_abandon:
        raise errors.UserError("Stack Abandon is not supported.", kind="NotSupported")
