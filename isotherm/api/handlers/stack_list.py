"""Lists of stacks: from the query of a request to a page, and to the address of the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from isotherm.api.http import faults, queries, responses
from isotherm.api.request import stack_views
from isotherm.api.request.call import Call
from isotherm.engine.queries.stacks import ORDERS, Filters, Wish

# More than this is not told at once, whatever is asked for.
PAGE = 10_000
_PIECE = 200
# By the name in the query: what it is a filter of.
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
    wish = _wish(call)
    found = await call.orchestrator.stacks.page(wish, everywhere=everywhere)
    told: dict[str, Any] = {"stacks": await _shown(call, found, with_project=everywhere)}
    if next_ := _next(call, wish, found):
        told["links"] = [{"rel": "next", "href": next_}]
    if call.query.get("with_count") and queries.boolean("with_count", call.query["with_count"]):
        told["count"] = await call.orchestrator.stacks.count(wish, everywhere=everywhere)
    return responses.json(told)


async def detail(call: Call) -> Response:
    wish = Wish(limit=PAGE, hidden_tags=_hidden(call))
    found = await call.orchestrator.stacks.page(wish, everywhere=call.caller.is_admin)
    return responses.json({"stacks": await _shown(call, found, with_project=False)})


async def _shown(call: Call, found: Sequence[dict[str, Any]], *, with_project: bool) -> list[dict[str, Any]]:
    """A long list is made a piece at a time, and others have their turn in between."""
    told: list[dict[str, Any]] = []
    for start in range(0, len(found), _PIECE):
        told += [stack_views.summary(call, one, with_project=with_project) for one in found[start : start + _PIECE]]
        await asyncio.sleep(0)
    return told


def _wish(call: Call) -> Wish:
    query = call.query
    limit = queries.non_negative("limit", query["limit"]) if "limit" in query else PAGE
    return Wish(
        _filters(call), call.flag("show_deleted"), call.flag("show_nested"),
        () if call.flag("show_hidden") else _hidden(call),
        [key for key in query.getlist("sort_keys") if key in ORDERS], _descending(query.get("sort_dir")),
        min(limit, PAGE), query.get("marker") or None,
    )


def _hidden(call: Call) -> Sequence[str]:
    return call.service.settings.hidden_stack_tags


def _descending(told: str | None) -> bool | None:
    if told not in (None, "", "asc", "desc"):
        raise faults.bad_request(f"Unknown sort direction, must be 'desc' or 'asc', not '{told}'.", "ValueError")
    return told == "desc" if told else None


def _filters(call: Call) -> Filters:
    given: dict[str, list[str]] = {}
    for name, field in FILTERS.items():
        values = [value for value in call.query.getlist(name) if value]
        if values:
            given.setdefault(field, []).extend(values)
    if any(call.query.getlist("stack_user_project_id")):
        given["id"] = []  # no stack has a project of its own for its users
    tags = {name: queries.tags(call.query[name]) for name in TAGS if name in call.query}
    rollback = [queries.boolean("disable_rollback", one) for one in call.query.getlist("disable_rollback") if one]
    minutes = [queries.non_negative("timeout_mins", one) for one in call.query.getlist("timeout_mins") if one]
    return Filters(**given, **tags, disable_rollback=rollback or None, timeout_mins=minutes or None)


def _next(call: Call, wish: Wish, found: Sequence[dict[str, Any]]) -> str:
    """The address of the next page, if this one is full."""
    if not wish.limit or len(found) < wish.limit or ("limit" not in call.query and len(found) < PAGE):
        return ""
    kept = [(name, value) for name, value in call.query.multi_items() if name != "marker"]
    return f"{call.links.project(call.project)}/stacks?{urlencode([*kept, ('marker', found[-1]['id'])])}"
