"""Handles snapshots: create, list, show, delete, restore."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call

_KEYS = ("id", "name", "action", "status", "status_reason", "data", "creation_time")
_NAME_LENGTH = 255


async def create(call: Call) -> Response:
    name = (await call.body()).get("name")
    if name is not None and (not isinstance(name, str) or len(name) > _NAME_LENGTH):
        raise faults.bad_request(f"name must be a text of at most {_NAME_LENGTH} characters.")
    stack = await call.stack()
    taken = await call.orchestrator.snapshots.take(stack["id"], name, limited=not call.caller.is_admin)
    return responses.json(await _one(call, stack["id"], taken.operation_id), headers=responses.begun(taken.operation_id))


async def index(call: Call) -> Response:
    stack = await call.stack()
    found = await call.orchestrator.snapshots.list(stack["id"])
    return await responses.json_list("snapshots", _all(call, stack["id"], [one["id"] for one in found]))


async def show(call: Call) -> Response:
    stack = await call.stack()
    return responses.json({"snapshot": await _one(call, stack["id"], call.path["snapshot_id"])})


async def delete(call: Call) -> Response:
    stack = await call.stack()
    await call.orchestrator.snapshots.delete(stack["id"], call.path["snapshot_id"])
    return responses.no_content()


async def restore(call: Call) -> Response:
    stack, generation = await call.stack(), call.seen_generation()
    accepted = await call.orchestrator.snapshots.restore(stack["id"], call.path["snapshot_id"], generation)
    return responses.status_page(call.request, 202, responses.begun(accepted.operation_id))


async def _one(call: Call, stack_id: str, id_: str) -> dict[str, Any]:
    found = await call.orchestrator.snapshots.show(stack_id, id_)
    return {key: found[key] for key in _KEYS}


async def _all(call: Call, stack_id: str, ids: list[str]) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the snapshots one by one, since each holds a whole stack. Skip those deleted meanwhile."""
    for id_ in ids:
        with contextlib.suppress(errors.NotFound, errors.Overtaken):
            yield [await _one(call, stack_id, id_)]
