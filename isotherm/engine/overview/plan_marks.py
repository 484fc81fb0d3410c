"""Marks of plans: what a plan that was looked at is compared with, when the same request is planned again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from isotherm import errors


class PlanMark(msgspec.Struct, frozen=True):
    """The identity of a plan. Generation 0: it creates the stack."""

    id: str
    generation: int
    # A digest of the drift that the plan tells.
    drift: str

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> PlanMark:
        return cls(plan["id"], plan["generation"], digest(plan.get("drift") or []))


def digest(content: Any) -> str:
    """Return a digest of a structure; the order of keys does not count."""
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:32]


def refuse_moved_on(name: str, mark: PlanMark, generation: int) -> None:
    """Raise Conflict if the stack is not at the generation of the plan. Generation 0: there is no such stack."""
    if generation == mark.generation:
        return
    if not mark.generation:
        raise _outdated(f"Stack {name} has been created meanwhile.")
    if not generation:
        raise _outdated(f"Stack {name} has been deleted meanwhile.")
    raise _outdated(f"The plan of stack {name} does not hold any more: another operation was accepted. The plan is for "
                    f"generation {mark.generation}, and the stack is at {generation}.")


def refuse_outdated(name: str, mark: PlanMark, now: PlanMark) -> None:
    """Raise Conflict unless the plan made now is the one that was looked at."""
    refuse_moved_on(name, mark, now.generation)
    if now.drift != mark.drift:
        raise _outdated(f"The plan of stack {name} does not hold any more: a resource has drifted, or was repaired.")
    if now.id != mark.id:
        raise _outdated(f"The plan of stack {name} does not hold any more: the request would do something else now, "
                        "because a value that the template names or a protection has changed.")


def _outdated(reason: str) -> errors.Conflict:
    return errors.Conflict(reason, kind="PlanOutdated", hint="Nothing was changed. Make a new plan.")
