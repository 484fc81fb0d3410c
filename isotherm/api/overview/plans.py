"""Handles plans, problems of templates, and repairs."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from isotherm.api.handlers import stacks
from isotherm.api.http import faults, queries, responses
from isotherm.api.request import plan_tokens
from isotherm.api.request.call import Call
from isotherm.api.request.plan_tokens import PlannedStack
from isotherm.engine.orchestrator import PastInput

# Resources that one request repairs by name.
MOST = 200


async def create(call: Call) -> Response:
    asked = await stacks.instantiation(call)
    asked.check_arguments()
    name = asked.stack_name()
    with asked.as_heat_errors():
        request = await asked.request()
        found = await call.orchestrator.plans.plan(name, request)
    # A plan of a name that is taken is one of an update.
    is_new = not found["generation"]
    return responses.json({"plan": plan_tokens.add(call, PlannedStack(name), request, found) if is_new else found})


async def update(call: Call) -> Response:
    """Plan an update: with the field `existing`, one that keeps what is not given."""
    body = await call.body()
    if "generation" in body:
        return await _back(call, body)
    existing = queries.boolean("existing", body.pop("existing", False))
    asked = await stacks.read(call, body)
    wanted = await stacks.read_patch(call, asked, existing=existing)
    stack = await call.stack()
    with asked.as_heat_errors():
        found = await call.orchestrator.plans.plan(stack["id"], wanted)
    target = PlannedStack(stack["stack_name"], stack["id"])
    return responses.json({"plan": plan_tokens.add(call, target, wanted, found)})


async def _back(call: Call, body: dict[str, Any]) -> Response:
    """Plan the way back to the input of a generation."""
    generation = queries.generation("generation", body)
    if generation is None or len(body) > 1:
        raise faults.bad_request("generation stands alone: the input of that generation is the whole request.")
    stack = await call.stack()
    return responses.json({"plan": await call.orchestrator.plans.plan(stack["id"], PastInput(generation))})


async def restore(call: Call) -> Response:
    stack = await call.stack()
    _, request = await call.orchestrator.snapshots.restoration(stack["id"], call.path["snapshot_id"])
    return responses.json({"plan": await call.orchestrator.plans.plan(stack["id"], request, restores=True)})


async def problems(call: Call) -> Response:
    body = await call.body()
    strict = queries.boolean("strict", body.pop("strict", False))
    asked = await stacks.read(call, body)
    text = await asked.required_template()
    env = asked.environment()
    found = await call.orchestrator.problems.find(text, await asked.all_files(text, env), env, strict=strict)
    return responses.json(found)


async def repair(call: Call) -> Response:
    names = (await call.optional_body() or {}).get("resources")
    good = isinstance(names, list) and 0 < len(names) <= MOST and all(isinstance(name, str) for name in names)
    if names is not None and not good:
        raise faults.bad_request(f"resources must be a list of 1 to {MOST} names.")
    stack, generation = await call.stack(), call.seen_generation()
    async with call.delegated(stack["id"]) as orchestrator:
        accepted = await orchestrator.drift.repair_drift(stack["id"], names, generation)
    return responses.json(None, 202, responses.begun(accepted.operation_id))
