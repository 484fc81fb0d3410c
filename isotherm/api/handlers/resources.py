"""Handles resources: list, show, read metadata, signal, mark unhealthy."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.handlers import signed_signals
from isotherm.api.http import faults, queries, responses
from isotherm.api.http.links import link
from isotherm.api.request.call import Call
from isotherm.engine.queries.resources import Filters

FILTERS = ("type", "status", "name", "action", "id", "physical_resource_id")
_OTHERS = ("nested_depth", "with_detail")
_MARK, _REASON = "mark_unhealthy", "resource_status_reason"


async def index(call: Call) -> Response:
    unknown = [name for name in dict.fromkeys(call.query) if name not in (*FILTERS, *_OTHERS)]
    if unknown:
        raise faults.bad_request(f"Invalid filter parameters {unknown}")
    depth = queries.non_negative("nested_depth", call.query.get("nested_depth", 0))
    detail, filters = call.flag("with_detail"), _filters(call)
    stack = await call.stack(deleted=True)
    pages = call.orchestrator.resources.pages(
        stack["id"], filters, depth=min(depth, call.service.settings.max_nested_stack_depth), detail=detail)
    return await responses.json_list("resources", _shown(call, pages))


async def tree(call: Call) -> Response:
    """List the resources with their states and requirements, superseded versions too. Not in Heat's API."""
    depth = queries.non_negative("nested_depth", call.query.get("nested_depth", 0))
    stack = await call.stack(deleted=True)
    found = await call.orchestrator.resources.list(
        stack["id"], depth=min(depth, call.service.settings.max_nested_stack_depth))
    return responses.json({"resources": found})


async def hooks(call: Call) -> Response:
    """List the hooks at which the newest operation has paused. Not in Heat's API."""
    stack = await call.stack()
    return responses.json({"hooks": await call.orchestrator.signals.hooks(stack["id"])})


async def show(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    found = await call.orchestrator.resources.show(stack["id"], call.path["resource_name"],
                                             attributes=call.query.getlist("with_attr"))
    return responses.json({"resource": view(call, found)})


async def metadata(call: Call) -> Response:
    stack = await call.stack()
    try:
        found = await call.orchestrator.resources.metadata(stack["id"], call.path["resource_name"])
    except errors.NotFound as error:
        if error.kind != "ResourceNotAvailable":
            raise
        found = {}
    return responses.json({"metadata": found})


async def signal(call: Call) -> Response:
    details = await call.optional_body()
    stack = await call.stack()
    signed_signals.RATE.check(
        await call.orchestrator.signals.counted_under(stack["id"], call.path["resource_name"]), time.monotonic()
    )
    await call.orchestrator.signals.send(stack["id"], call.path["resource_name"], details,
                                         signal_id=call.query.get("signal_id", ""))
    return responses.null()


async def mark_unhealthy(call: Call) -> Response:
    said = await call.body()
    unknown = sorted(said.keys() - {_MARK, _REASON})
    if unknown:
        raise faults.bad_request(f"Invalid keys in resource mark unhealthy {{{', '.join(map(repr, unknown))}}}")
    if _MARK not in said:
        raise faults.bad_request(f"Missing mandatory ({_MARK}) key from mark unhealthy request")
    unhealthy, reason = queries.boolean(_MARK, said[_MARK]), said.get(_REASON) or ""
    if not isinstance(reason, str):
        raise faults.bad_request()
    stack = await call.stack()
    await call.orchestrator.signals.mark_unhealthy(stack["id"], call.path["resource_name"], unhealthy, reason)
    return responses.null()


def _filters(call: Call) -> Filters:
    given = {name: call.query.getlist(name) for name in FILTERS if name in call.query}
    types = given.pop("type", [None])
    if len(types) > 1:
        raise faults.bad_request()
    physical = {"physical_id": given.pop("physical_resource_id")} if "physical_resource_id" in given else {}
    return Filters(type=types[0], **given, **physical)


async def _shown(call: Call, pages: AsyncIterator[list[dict[str, Any]]]) -> AsyncIterator[list[dict[str, Any]]]:
    async for page in pages:
        yield [view(call, one) for one in page]


def view(call: Call, one: dict[str, Any]) -> dict[str, Any]:
    """Return a resource in the form of Heat's API."""
    inside = one["stack"]
    stack = call.links.stack(call.project, inside["stack_name"], inside["id"])
    links = [link(call.links.resource(stack, one["resource_name"])), link(stack, "stack")]
    if one["nested"] is not None:
        links.append(link(call.links.stack(call.project, one["nested"]["stack_name"], one["nested"]["id"]), "nested"))
    return {
        "resource_name": one["resource_name"], "logical_resource_id": one["resource_name"],
        "physical_resource_id": one["physical_resource_id"] or "", "resource_type": one["resource_type"],
        "resource_status": f"{one['action']}_{one['status']}",
        "resource_status_reason": one["reason"] or ("" if one["action"] == "INIT" else "state changed"),
        "creation_time": one["creation_time"], "updated_time": one["updated_time"], "required_by": one["required_by"],
        "links": links,
        **({"parent_resource": one["parent_resource"]} if one["parent_resource"] is not None else {}),
        **{key: one[key] for key in ("description", "attributes") if key in one},
    }
