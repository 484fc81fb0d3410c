"""Handles moves of resources between stacks, which Heat's API does not have."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call

_FIELDS = frozenset({"stack", "resource", "with_values"})


async def move(call: Call) -> Response:
    """Move a resource to another stack of the project; its object is not touched."""
    stack, generation, body = await call.stack(), call.seen_generation(), await call.body()
    to, new_name, with_values = _read(body)
    moved = await call.orchestrator.moves.move(
        stack["id"], call.path["resource_name"], to, new_name, with_values=with_values, generation=generation)
    return responses.json({"move": moved})


def _read(body: dict[str, Any]) -> tuple[str, str, bool]:
    to, new_name, with_values = body.get("stack"), body.get("resource", ""), body.get("with_values", False)
    if unknown := sorted(body.keys() - _FIELDS):
        raise faults.bad_request(f"The body has the unknown field {unknown[0]}.")
    if not isinstance(to, str) or not to:
        raise faults.bad_request("stack must be the name or id of the stack that takes the resource over.")
    if not isinstance(new_name, str) or not isinstance(with_values, bool):
        raise faults.bad_request("resource must be a text, and with_values true or false.")
    return to, new_name, with_values
