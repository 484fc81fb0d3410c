"""Handles protection and forgetting, which Heat's API does not have."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.handlers import stacks
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call


async def of_stack(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"protection": await call.orchestrator.protection.show(stack["id"])})


async def of_resource(call: Call) -> Response:
    stack, name = await call.stack(), call.path["resource_name"]
    return responses.json({"protection": await call.orchestrator.protection.show_resource(stack["id"], name)})


async def protect_stack(call: Call) -> Response:
    stack, words = await call.stack(), await _words(call)
    if words != ["delete"]:
        raise faults.bad_request("A stack is protected from delete only: protect must be [\"delete\"].")
    await call.orchestrator.protection.protect_stack(stack["id"])
    return await of_stack(call)


async def protect_resource(call: Call) -> Response:
    stack, words = await call.stack(), await _words(call)
    await call.orchestrator.protection.protect_resource(stack["id"], call.path["resource_name"], words)
    return await of_resource(call)


async def unprotect_stack(call: Call) -> Response:
    stack = await call.stack()
    await call.orchestrator.protection.unprotect_stack(stack["id"])
    return responses.no_content()


async def unprotect_resource(call: Call) -> Response:
    stack = await call.stack()
    await call.orchestrator.protection.unprotect_resource(stack["id"], call.path["resource_name"])
    return responses.no_content()


async def forget_stack(call: Call) -> Response:
    stacks.refuse_unless_abandon_is_enabled(call)
    stack = await call.stack()
    accepted = await call.orchestrator.forget.stack(stack["id"], force=call.flag("force"))
    return responses.json(None, 202, responses.begun(accepted.operation_id))


async def forget_resource(call: Call) -> Response:
    stack, generation = await call.stack(), call.seen_generation()
    async with call.delegated(stack["id"]) as orchestrator:
        accepted = await orchestrator.forget.resource(
            stack["id"], call.path["resource_name"], generation=generation, force=call.flag("force"))
    return responses.json(None, 202, responses.begun(accepted.operation_id))


async def _words(call: Call) -> list[str]:
    said = await call.body()
    words = said.get("protect")
    if said.keys() != {"protect"} or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise faults.bad_request('The body must be {"protect": [...]}, a list of replace, delete, update, all.')
    return words
