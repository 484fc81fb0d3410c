"""Handles export and abandon: both return the export document; abandon also removes the stack."""

from __future__ import annotations

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import responses
from isotherm.api.request.call import Call


async def export(call: Call) -> Response:
    _refuse_unless_enabled(call)
    stack = await call.stack()
    # Adoption needs the hidden values too.
    return responses.json(await call.orchestrator.exports.export(stack["id"], hidden=True))


async def abandon(call: Call) -> Response:
    _refuse_unless_enabled(call)
    stack = await call.stack()
    return responses.json((await call.orchestrator.exports.abandon(stack["id"], hidden=True)).document)


def _refuse_unless_enabled(call: Call) -> None:
    if not call.service.settings.enable_stack_abandon:
        raise errors.UserError("Stack Abandon is not supported.", kind="NotSupported")
