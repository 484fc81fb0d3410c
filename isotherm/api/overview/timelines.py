"""Handles the operations of a stack and their timelines."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.http import responses
from isotherm.api.overview import arguments
from isotherm.api.request.call import Call
from isotherm.engine.overview.timelines import MOST_SPANS

MOST_OPERATIONS = 100
_NEWEST = 999_999_999


async def operations(call: Call) -> Response:
    before = arguments.number(call, "marker", 0, _NEWEST, least=0) or None
    limit = arguments.number(call, "limit", 20, MOST_OPERATIONS)
    stack = await call.stack(deleted=True)
    return responses.json(await call.orchestrator.timelines.operations(stack["id"], before, limit))


async def timeline(call: Call) -> Response:
    limit = arguments.number(call, "limit", MOST_SPANS, MOST_SPANS)
    stack = await call.stack(deleted=True)
    found = await call.orchestrator.timelines.timeline(stack["id"], call.path["operation_id"], limit)
    return responses.json({"timeline": found})
