"""Handles drift, which Heat's API does not have: show it, set the policy and mode, ask for an observation."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call

# Maximum number of resources that one request to observe names.
MOST = 200
# Maximum interval. Times beyond it do not fit a timestamp.
LONGEST_S = 10**9


async def of_stack(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"drift": await call.orchestrator.drift.show(stack["id"], whole=call.flag("all"))})


async def of_resource(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"drift": await call.orchestrator.drift.show_resource(stack["id"], call.path["resource_name"])})


async def set_stack(call: Call) -> Response:
    stack = await call.stack()
    said = await _said(call, "policy", "interval", "mode")
    await call.orchestrator.drift.set_watch(
        stack["id"], policy=_text(said, "policy", null=True) if "policy" in said else "",
        interval=_seconds(said["interval"]) if "interval" in said else -1.0, mode=_text(said, "mode") or "")
    return await of_stack(call)


async def set_resource(call: Call) -> Response:
    stack = await call.stack()
    said = await _said(call, "policy")
    policy = _text(said, "policy", null=True)
    await call.orchestrator.drift.set_resource_policy(stack["id"], call.path["resource_name"], policy)
    return await of_resource(call)


async def observe_stack(call: Call) -> Response:
    """Ask the observer to look; with `wait`, observe before the answer."""
    names = (await call.optional_body() or {}).get("resources")
    good = isinstance(names, list) and len(names) <= MOST and all(isinstance(name, str) for name in names)
    if names is not None and not good:
        raise faults.bad_request(f"resources must be a list of at most {MOST} names.")
    stack = await call.stack()
    if call.flag("wait"):
        for name in [None] if names is None else names:
            await call.orchestrator.drift.observe(stack["id"], name)
    else:
        await call.orchestrator.drift.hint(stack["id"], names)
    return responses.json(None, 202)


async def observe_resource(call: Call) -> Response:
    stack = await call.stack()
    if call.flag("wait"):
        await call.orchestrator.drift.observe(stack["id"], call.path["resource_name"])
    else:
        await call.orchestrator.drift.hint(stack["id"], [call.path["resource_name"]])
    return responses.json(None, 202)


async def of_project(call: Call) -> Response:
    return responses.json({"drift": {"mode": await call.orchestrator.drift.project_mode()}})


async def set_project(call: Call) -> Response:
    said = await _said(call, "mode")
    await call.orchestrator.drift.set_project_mode(_text(said, "mode") or "")
    return await of_project(call)


async def _said(call: Call, *known: str) -> dict[str, Any]:
    said = await call.body()
    unknown = sorted(said.keys() - set(known))
    if unknown or not said:
        raise faults.bad_request(f"The body must have at least one of these fields, and no others: {', '.join(known)}.")
    return said


def _text(said: dict[str, Any], name: str, *, null: bool = False) -> str | None:
    found = said.get(name, "")
    if isinstance(found, str) and (found or name not in said):
        return found
    if found is None and null:
        return None
    raise faults.bad_request(f"{name} must be a non-empty text.")


def _seconds(found: object) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < LONGEST_S:
        raise faults.bad_request("interval must be a positive number of seconds, or null.")
    return float(found)
