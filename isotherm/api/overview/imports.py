"""Handles imports of existing objects: what was found of them, their adoption, and templates for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from isotherm.api.handlers import stacks
from isotherm.api.http import faults, queries, responses
from isotherm.api.http.links import link
from isotherm.api.request.call import Call

# Objects that one request imports.
MOST = 1000


async def plan_create(call: Call) -> Response:
    body = await call.body()
    objects = _texts(body, "objects")
    asked = await stacks.read(call, body)
    with asked.as_heat_errors():
        found = await call.orchestrator.imports.plan(asked.stack_name(), await asked.request(), objects)
    return responses.json({"import": found})


async def create(call: Call) -> Response:
    """Create a stack of existing objects."""
    body = await call.body()
    objects = _texts(body, "objects")
    asked = await stacks.read(call, body)
    asked.check_arguments()
    name = asked.stack_name()
    with asked.as_heat_errors():
        async with call.delegated() as orchestrator:
            accepted = await orchestrator.imports.take(name, await asked.request(), objects)
    href = call.links.stack(call.project, name, accepted.stack_id)
    return responses.json({"stack": {"id": accepted.stack_id, "links": [link(href)]}}, 201, {"Location": href})


async def plan(call: Call) -> Response:
    stack, body = await call.stack(), await call.body()
    objects, existing = _texts(body, "objects"), queries.boolean("existing", body.pop("existing", True))
    asked = await stacks.read(call, body)
    wanted = await stacks.read_patch(call, asked, existing=existing)
    with asked.as_heat_errors():
        found = await call.orchestrator.imports.plan(stack["id"], wanted, objects)
    return responses.json({"import": found})


async def take(call: Call) -> Response:
    """Import objects into a stack: with the field `existing` false, fields that are not given are dropped."""
    stack, generation, body = await call.stack(), call.seen_generation(), await call.body()
    objects, existing = _texts(body, "objects"), queries.boolean("existing", body.pop("existing", True))
    asked = await stacks.read(call, body)
    wanted = await stacks.read_patch(call, asked, existing=existing)
    with asked.as_heat_errors():
        async with call.delegated(stack["id"]) as orchestrator:
            await orchestrator.imports.take(stack["id"], wanted, objects, generation=generation)
    return responses.status_page(call.request, 202)


async def template(call: Call) -> Response:
    """Return a template for objects, from their live properties."""
    body = await call.body()
    found = await call.orchestrator.imports.template(_texts(body, "objects"), _texts(body, "types"))
    return responses.json({"template": found})


def _texts(body: dict[str, Any], name: str) -> Mapping[str, str]:
    """Take a map of resource names to texts out of a body."""
    given = body.pop(name, None)
    if not isinstance(given, dict) or not 0 < len(given) <= MOST or not all(one and isinstance(one, str)
                                                                           for one in given.values()):
        raise faults.bad_request(f"{name} must map 1 to {MOST} names of resources to texts.")
    return given
