"""Handles the history of a stack: its past inputs, and the differences between two of them."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.http import responses
from isotherm.api.overview import arguments
from isotherm.api.request.call import Call

NEWEST = 999_999_999


async def index(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"history": await call.orchestrator.history.list(stack["id"])})


async def diff(call: Call) -> Response:
    """Compare the inputs of two generations: `from` and `to`; by default the newest input and the one before."""
    first, second = (arguments.number(call, name, 0, NEWEST) or None for name in ("from", "to"))
    stack = await call.stack()
    return responses.json({"diff": await call.orchestrator.history.diff(stack["id"], first, second)})
