"""Plan tokens: a plan that was looked at, as a text that a request to create or update a stack can give back.

The text is sealed. It names the project, the user, the stack, the request and its plan, so the service keeps nothing. A
request that gives a token is planned again, and refused unless the plan is the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from isotherm import errors
from isotherm.api.request.call import Call
from isotherm.api.request.instantiation import PLAN_TOKEN
from isotherm.engine.orchestrator import Patch, Request
from isotherm.engine.overview import plan_marks
from isotherm.engine.overview.plan_marks import PlanMark
from isotherm.identity.caller import Caller
from isotherm.secrets import SEALED

LIFETIME_S = 24 * 3600
_PLACE = "plan token"


@dataclass(frozen=True, slots=True)
class PlannedStack:
    """The stack that a request is about. A stack that is to be created has no id, and generation 0."""

    name: str
    id: str = ""
    generation: int = 0

    @property
    def word(self) -> str:
        # No name of a stack has a slash.
        return self.id or f"new/{self.name}"


class _Content(msgspec.Struct, array_like=True):
    """The content of a token."""

    project: str
    user: str
    stack: str
    # A digest of the request.
    request: str
    expires: int
    mark: PlanMark


def add(call: Call, target: PlannedStack, change: Request | Patch, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan with its token, and the time until which the token is valid."""
    expires = int(time.time()) + LIFETIME_S
    content = _Content(call.project, _user(call.caller), target.word, plan_marks.digest(change), expires, PlanMark.of(plan))
    token = call.service.key_ring().seal(msgspec.json.encode(content).decode(), _PLACE)
    return {**plan, "token": token, "token_expires": float(expires)}


async def check(call: Call, token: str, target: PlannedStack, change: Request | Patch) -> int:
    """Return the generation that a token is for.

    Raises UserError for a token that is not for this request, and Conflict if the plan does not hold any more.
    """
    content = _opened(call, token)
    if (content.project, content.user, content.stack) != (call.project, _user(call.caller), target.word):
        raise _invalid("The plan is one of another user, project or stack.")
    if content.expires <= time.time():
        raise _invalid("The plan is too old.")
    # A request to keep what is not given means something else at another generation.
    plan_marks.refuse_moved_on(target.name, content.mark, target.generation)
    if content.request != plan_marks.digest(change):
        raise _invalid("The request is not the one that was planned.",
                       "Send the same template, files, parameters and options.")
    plan = await call.orchestrator.plans.plan(target.id or target.name, change)
    plan_marks.refuse_outdated(target.name, content.mark, PlanMark.of(plan))
    return content.mark.generation


def _opened(call: Call, token: str) -> _Content:
    try:
        if not token.startswith(SEALED):
            raise errors.Unreadable("The text is not sealed.")
        return msgspec.json.decode(call.service.key_ring().open(token, _PLACE), type=_Content)
    except (errors.Unreadable, msgspec.MsgspecError) as error:
        raise _invalid("The text is not a token of a plan, or it was changed.") from error


def _user(caller: Caller) -> str:
    return caller.user_id or caller.user_name


def _invalid(reason: str, hint: str = "Make a new plan, and send its token.") -> errors.UserError:
    return errors.UserError(f"{PLAN_TOKEN}: {reason}", kind="InvalidPlan", hint=hint)
