"""Handles actions on a stack: suspend, resume, check, cancel, roll back. Each has a policy rule of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, queries, responses
from isotherm.api.request.call import Call
from isotherm.engine.orchestrator import Accepted

_UPDATING, _CREATING = "UPDATE_IN_PROGRESS", "CREATE_IN_PROGRESS"


async def act(call: Call) -> Response:
    asked = await call.optional_body() or {}
    if not asked:
        raise faults.bad_request("No action specified")
    if len(asked) > 1:
        raise faults.bad_request("Multiple actions specified")
    (action,) = asked
    if action not in NAMES:
        raise faults.bad_request(f"Invalid action {action} specified")
    call.check_policy(f"actions:{action}")
    stack = await call.stack()
    accepted: Accepted | None
    if action in _WITH_FIELDS:
        accepted = await _WITH_FIELDS[action](call, stack, _fields(asked[action]))
    else:
        accepted = await _ACTIONS[action](call, stack)
    return responses.null(None if accepted is None else responses.begun(accepted.operation_id))


async def _suspend(call: Call, stack: dict[str, Any]) -> Accepted | None:
    if stack["stack_status"] == "SUSPEND_COMPLETE":
        return None
    return await call.orchestrator.stacks.suspend(stack["id"], generation=call.seen_generation())


async def _resume(call: Call, stack: dict[str, Any]) -> Accepted | None:
    if stack["stack_status"] == "RESUME_COMPLETE":
        return None
    return await call.orchestrator.stacks.resume(stack["id"], generation=call.seen_generation())


async def _check(call: Call, stack: dict[str, Any]) -> Accepted:
    return await call.orchestrator.stacks.check(stack["id"], generation=call.seen_generation())


async def _cancel_update(call: Call, stack: dict[str, Any]) -> Accepted:
    _refuse_unless(stack, _UPDATING)
    return await call.orchestrator.stacks.cancel(stack["id"], generation=call.seen_generation())


async def _cancel_without_rollback(call: Call, stack: dict[str, Any]) -> Accepted:
    _refuse_unless(stack, _UPDATING, _CREATING)
    return await call.orchestrator.stacks.cancel(stack["id"], rollback=False, generation=call.seen_generation())


async def _roll_back(call: Call, stack: dict[str, Any], fields: dict[str, Any]) -> Accepted:
    """Go back to the last operation that reached COMPLETE, or to the input of a generation. Not in Heat's API."""
    if stack["parent"] is not None:
        raise errors.UserError("A nested stack is rolled back with the stack that contains it.", kind="NotSupported")
    to, generation = queries.generation("to", fields), call.seen_generation()
    async with call.delegated(stack["id"]) as orchestrator:
        return await orchestrator.stacks.rollback(stack["id"], to=to, generation=generation)


async def _retry(call: Call, stack: dict[str, Any], fields: dict[str, Any]) -> Accepted:
    """Go on with what failed or was left out. Not in Heat's API."""
    names = queries.names("resources", fields.get("resources"))
    generation = call.seen_generation()
    async with call.delegated(stack["id"]) as orchestrator:
        return await orchestrator.stacks.retry(stack["id"], names, generation=generation)


def _fields(given: Any) -> dict[str, Any]:
    """Return the fields of an action. Other values stand for none, as in Heat's actions."""
    return given if isinstance(given, dict) else {}


def _refuse_unless(stack: dict[str, Any], *states: str) -> None:
    if stack["stack_status"] not in states:
        raise errors.UserError(f"Cancelling update when stack is {stack['stack_status']} is not supported.",
                               kind="NotSupported")


_ACTIONS: dict[str, Callable[[Call, dict[str, Any]], Awaitable[Accepted | None]]] = {
    "suspend": _suspend, "resume": _resume, "check": _check, "cancel_update": _cancel_update,
    "cancel_without_rollback": _cancel_without_rollback,
}
_WITH_FIELDS: dict[str, Callable[[Call, dict[str, Any], dict[str, Any]], Awaitable[Accepted]]] = {
    "roll_back": _roll_back, "retry": _retry,
}
NAMES = (*_ACTIONS, *_WITH_FIELDS)
