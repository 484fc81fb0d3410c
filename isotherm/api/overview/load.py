"""Handles the state of the service for operators: work, processes, leases, stacks at work."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.http import responses
from isotherm.api.request.call import Call


async def show(call: Call) -> Response:
    return responses.json({"load": await call.service.load()})


