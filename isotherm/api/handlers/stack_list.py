"""Handles lists of stacks: filters, pages, and the link to the next page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from isotherm.api.http import faults, queries, responses
from isotherm.api.request import stack_views
from isotherm.api.request.call import Call
from isotherm.engine.queries.stacks import ORDERS, Filters, StackQuery

# Maximum number of stacks per response.
PAGE = 10_000
# Stacks formatted between two yields to the event loop.
_PIECE = 200
# Query parameter -> filtered column.
FILTERS = {
    "id": "id", "name": "name", "stack_name": "name", "action": "action", "stack_action": "action", "status": "status",
    "stack_status": "status", "stack_status_reason": "reason", "tenant": "project", "username": "username",
    "stack_owner": "username", "owner_id": "owner_id", "parent": "owner_id",
}
TAGS = ("tags", "tags_any", "not_tags", "not_tags_any")


async def index(call: Call) -> Response:
    everywhere = call.caller.is_admin
    if call.flag("global_tenant"):
        call.check_policy("stacks:global_index")
        everywhere = True
    query = await _query(call)
    found = await call.orchestrator.stacks.page(query, everywhere=everywhere)
    body: dict[str, Any] = {"stacks": await _shown(call, found, with_project=everywhere)}
    if call.flag("with_drift"):
        drift = await call.orchestrator.stacks.drift_counts([one["id"] for one in found])
        body["stacks"] = [{**one, "drift": drift[one["id"]]} for one in body["stacks"]]
    if next_ := _next(call, query, found):
        body["links"] = [{"rel": "next", "href": next_}]
    if call.query.get("with_count") and queries.boolean("with_count", call.query["with_count"]):
        body["count"] = await call.orchestrator.stacks.count(query, everywhere=everywhere)
    return responses.json(body)


async def detail(call: Call) -> Response:
    query = StackQuery(limit=PAGE, hidden_tags=_hidden(call))
    found = await call.orchestrator.stacks.page(query, everywhere=call.caller.is_admin)
    return responses.json({"stacks": await _shown(call, found, with_project=False)})


async def _shown(call: Call, found: Sequence[dict[str, Any]], *, with_project: bool) -> list[dict[str, Any]]:
    """Format the stacks, yielding to the event loop after each piece of a long list."""
    views: list[dict[str, Any]] = []
    for start in range(0, len(found), _PIECE):
        views += [stack_views.summary(call, one, with_project=with_project) for one in found[start : start + _PIECE]]
        await asyncio.sleep(0)
    return views


async def filters_of(call: Call) -> StackQuery:
    """Return the filters that the request gives, without order and page."""
    return StackQuery(await _filters(call), call.flag("show_deleted"), call.flag("show_nested"),
                      () if call.flag("show_hidden") else _hidden(call))


async def _query(call: Call) -> StackQuery:
    query, found = call.query, await filters_of(call)
    limit = queries.non_negative("limit", query["limit"]) if "limit" in query else PAGE
    return StackQuery(
        found.filters, found.deleted, found.nested, found.hidden_tags,
        [key for key in query.getlist("sort_keys") if key in ORDERS], _descending(query.get("sort_dir")),
        min(limit, PAGE), query.get("marker") or None,
    )


def _hidden(call: Call) -> Sequence[str]:
    return call.service.settings.hidden_stack_tags


def _descending(given: str | None) -> bool | None:
    if given not in (None, "", "asc", "desc"):
        raise faults.bad_request(f"Unknown sort direction, must be 'desc' or 'asc', not '{given}'.", "ValueError")
    return given == "desc" if given else None


async def _filters(call: Call) -> Filters:
    given: dict[str, list[str]] = {}
    for name, field in FILTERS.items():
        values = [value for value in call.query.getlist(name) if value]
        if values:
            given.setdefault(field, []).extend(values)
    projects = [one for one in call.query.getlist("stack_user_project_id") if one]
    if projects:
        known = {id_ for one in projects for id_ in await call.orchestrator.stacks.of_user_project(one)}
        given["id"] = sorted(known.intersection(given.get("id", known)))
    tags = {name: queries.tags(call.query[name]) for name in TAGS if name in call.query}
    rollback = [queries.boolean("disable_rollback", one) for one in call.query.getlist("disable_rollback") if one]
    minutes = [queries.non_negative("timeout_mins", one) for one in call.query.getlist("timeout_mins") if one]
    return Filters(**given, **tags, disable_rollback=rollback or None, timeout_mins=minutes or None)


def _next(call: Call, query: StackQuery, found: Sequence[dict[str, Any]]) -> str:
    """Return the link to the next page; "" if this page is not full."""
    if not query.limit or len(found) < query.limit or ("limit" not in call.query and len(found) < PAGE):
        return ""
    kept = [(name, value) for name, value in call.query.multi_items() if name != "marker"]
    return f"{call.links.project(call.project)}/stacks?{urlencode([*kept, ('marker', found[-1]['id'])])}"
