"""Handles the list of stacks by need of attention, and the head of one stack."""

from __future__ import annotations

from starlette.responses import Response

from isotherm.api.handlers import stack_list
from isotherm.api.http import responses
from isotherm.api.overview import arguments, permissions
from isotherm.api.request.call import Call
from isotherm.engine.overview.summaries import GROUPS, Attention, Chosen, ListOrder

MOST = 200
ORDERS = {"attention": ListOrder.ATTENTION, "name": ListOrder.NAME, "updated": ListOrder.UPDATED}


async def index(call: Call) -> Response:
    groups: dict[str, Attention | None] = {**GROUPS}
    after = arguments.position(call, int, float, str, str)
    chosen = Chosen(
        await stack_list.filters_of(call), arguments.choice(call, "show", groups, None), arguments.part(call, "search"),
        arguments.choice(call, "order", ORDERS, ListOrder.ATTENTION), after, arguments.number(call, "limit", 50, MOST))
    everywhere = call.caller.is_admin
    if call.flag("global_tenant"):
        call.check_policy("stacks:global_index")
        everywhere = True
    found = await call.orchestrator.summaries.page(chosen, everywhere=everywhere)
    return responses.json({**found, "next": arguments.packed(found["next"])})


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    found = await call.orchestrator.summaries.show(stack["id"])
    etag = {"ETag": f'"{found["stack"]["generation"]}"'}
    return responses.json({"summary": {**found, **permissions.of(call, found)}}, headers=etag)
