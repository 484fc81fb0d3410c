"""Handles the graph of a stack, pages of its resources, and the chain of why."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.http import responses
from isotherm.api.overview import arguments
from isotherm.api.request.call import Call
from isotherm.engine.overview.graphs import MemberQuery
from isotherm.engine.overview.tallies import MOST_LEVELS

MOST_MEMBERS = 500
_ORDERS = {"name": False, "attention": True}


async def show(call: Call) -> Response:
    query = arguments.graph(call)
    stack = await call.stack(deleted=True)
    return responses.json({"graph": await call.orchestrator.graphs.show(stack["id"], query)})


async def members(call: Call) -> Response:
    query = MemberQuery(
        box=arguments.part(call, "box"), states=arguments.states(call), type=arguments.part(call, "type"),
        search=arguments.part(call, "search"),
        depth=MOST_LEVELS if call.flag("tree") else arguments.number(call, "depth", 0, MOST_LEVELS, least=0),
        attention=arguments.choice(call, "order", _ORDERS, False),
        after=arguments.position(call, int, str, int), limit=arguments.number(call, "limit", 100, MOST_MEMBERS))
    stack = await call.stack(deleted=True)
    found = await call.orchestrator.graphs.members(stack["id"], query)
    return responses.json({**found, "next": arguments.packed(found["next"])})


async def why(call: Call) -> Response:
    """Explain the state of a resource. Only operators see the worker."""
    stack = await call.stack(deleted=True)
    with_worker = call.policy.allows("service:index", call.caller, {"project_id": call.project})
    found = await call.orchestrator.causes.why(stack["id"], call.path["resource_name"], with_worker=with_worker)
    return responses.json({"why": found})
