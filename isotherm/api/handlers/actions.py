"""Handles actions on a stack: suspend, resume, check, cancel. Each has a policy rule of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call

_UPDATING, _CREATING = "UPDATE_IN_PROGRESS", "CREATE_IN_PROGRESS"


async def act(call: Call) -> Response:
    asked = await call.optional_body() or {}
    if not asked:
        raise faults.bad_request("No action specified")
    if len(asked) > 1:
        raise faults.bad_request("Multiple actions specified")
    (action,) = asked
    if action not in _ACTIONS:
        raise faults.bad_request(f"Invalid action {action} specified")
    call.check_policy(f"actions:{action}")
    await _ACTIONS[action](call, await call.stack())
    return responses.null()


async def _suspend(call: Call, stack: dict[str, Any]) -> None:
    if stack["stack_status"] != "SUSPEND_COMPLETE":
        await call.orchestrator.stacks.suspend(stack["id"])


async def _resume(call: Call, stack: dict[str, Any]) -> None:
    if stack["stack_status"] != "RESUME_COMPLETE":
        await call.orchestrator.stacks.resume(stack["id"])


async def _check(call: Call, stack: dict[str, Any]) -> None:
    await call.orchestrator.stacks.check(stack["id"])


async def _cancel_update(call: Call, stack: dict[str, Any]) -> None:
    _refuse_unless(stack, _UPDATING)
    await call.orchestrator.stacks.cancel(stack["id"])


async def _cancel_without_rollback(call: Call, stack: dict[str, Any]) -> None:
    _refuse_unless(stack, _UPDATING, _CREATING)
    await call.orchestrator.stacks.cancel(stack["id"], rollback=False)


def _refuse_unless(stack: dict[str, Any], *states: str) -> None:
    if stack["stack_status"] not in states:
        raise errors.UserError(f"Cancelling update when stack is {stack['stack_status']} is not supported.",
                               kind="NotSupported")


_ACTIONS: dict[str, Callable[[Call, dict[str, Any]], Awaitable[None]]] = {
    "suspend": _suspend, "resume": _resume, "check": _check, "cancel_update": _cancel_update,
    "cancel_without_rollback": _cancel_without_rollback,
}
NAMES = tuple(_ACTIONS)
