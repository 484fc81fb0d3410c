"""Handles outputs: list their names, show the value of one."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.http import responses
from isotherm.api.request.call import Call


async def index(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"outputs": await call.orchestrator.outputs.names(stack["id"])})


async def show(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"output": await call.orchestrator.outputs.show(stack["id"], call.path["output_key"])})
