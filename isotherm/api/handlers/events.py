"""Handles events: list those of a stack or a resource, show one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response

from isotherm.api.http import faults, queries, responses
from isotherm.api.http.links import link
from isotherm.api.request.call import Call
from isotherm.engine.queries.events import EventQuery, Filters, Order

FILTERS = {"resource_name": "name", "resource_action": "action", "resource_status": "status", "resource_type": "type",
           # Not in Heat's API.
           "operation_id": "operation"}
_DIRECTIONS = {"asc": False, "desc": True}


async def index(call: Call) -> Response:
    return await responses.json_list("events", await _found(call))


async def of_resource(call: Call) -> Response:
    name = call.path["resource_name"]
    pages = await _found(call, name)
    first: list[dict[str, Any]] = await anext(pages, [])
    if not first:
        raise faults.Fault(404, f"No events found for resource {name}")
    return await responses.json_list("events", _after(first, pages))


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    one = await call.orchestrator.events.show(stack["id"], call.path["resource_name"], call.path["event_id"])
    return responses.json({"event": {**_view(call, one, None), "resource_properties": one["resource_properties"]}})


async def _found(call: Call, resource: str | None = None) -> AsyncIterator[list[dict[str, Any]]]:
    query = _query(call, resource)
    stack = await call.stack(deleted=True)
    return _shown(call, call.orchestrator.events.pages(stack["id"], query), stack if query.depth else None)


def _query(call: Call, resource: str | None) -> EventQuery:
    given = {field: call.query.getlist(name) for name, field in FILTERS.items() if name in call.query}
    if resource is not None:
        given["name"] = [resource]
    depth = queries.non_negative("nested_depth", call.query.get("nested_depth", 0))
    limit = queries.non_negative("limit", call.query["limit"]) if "limit" in call.query else None
    direction = call.query.get("sort_dir", "desc")
    if direction not in _DIRECTIONS:
        raise faults.bad_request(f"Unknown sort direction {direction}, must be one of: asc, desc.", "ValueError")
    # Other sort keys change nothing: time and position are unique.
    keys = [key for key in call.query.getlist("sort_keys") if key in ("event_time", "resource_type")]
    order = Order(by_type=keys[:1] == ["resource_type"], descending=_DIRECTIONS[direction])
    return EventQuery(Filters(**given), order, limit, call.query.get("marker", ""),
                     min(depth, call.service.settings.max_nested_stack_depth))


async def _after(
    first: list[dict[str, Any]], pages: AsyncIterator[list[dict[str, Any]]]
) -> AsyncIterator[list[dict[str, Any]]]:
    yield first
    async for page in pages:
        yield page


async def _shown(
    call: Call, pages: AsyncIterator[list[dict[str, Any]]], root: dict[str, Any] | None
) -> AsyncIterator[list[dict[str, Any]]]:
    async for page in pages:
        yield [_view(call, one, root) for one in page]


def _view(call: Call, one: dict[str, Any], root: dict[str, Any] | None) -> dict[str, Any]:
    """Return an event in the form of Heat's API. `root` is the requested stack if nested events are listed too."""
    links, name = call.links, one["resource_name"]
    stack = links.stack(call.project, one["stack"]["stack_name"], one["stack"]["id"])
    found = [link(links.event(stack, name, one["id"])), link(links.resource(stack, name), "resource"),
             link(stack, "stack")]
    if root is not None:
        found.append(link(links.stack(call.project, root["stack_name"], root["id"]), "root_stack"))
    return {
        "id": str(one["id"]), "event_time": one["event_time"], "links": found, "logical_resource_id": name,
        "resource_name": name, "resource_status": one["resource_status"],
        "resource_status_reason": one["resource_status_reason"] or "state changed",
        "physical_resource_id": one["physical_resource_id"],
        # Not in Heat's API, which shows the type only with one event.
        "operation_id": one["operation_id"], "resource_type": one["resource_type"], "stack_path": one["stack_path"],
    }
