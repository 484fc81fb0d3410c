"""Tells the actions that a caller may take on a stack now: by policy, by options, and by the state of the stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from isotherm.api.request.call import Call
from isotherm.config import Settings

# Action -> rule.
_RULES = {
    "update": "stacks:update", "delete": "stacks:delete", "abandon": "stacks:abandon", "cancel": "actions:cancel_update",
    "cancel_without_rollback": "actions:cancel_without_rollback", "roll_back": "actions:roll_back",
    "retry": "actions:retry",
    "suspend": "actions:suspend", "resume": "actions:resume", "check": "actions:check", "snapshot": "stacks:snapshot",
    "restore": "stacks:restore_snapshot", "observe": "drift:observe", "repair": "drift:repair", "set_drift": "drift:set",
    "signal": "resource:signal", "mark_unhealthy": "resource:mark_unhealthy", "clear_hook": "resource:signal",
    "protect": "protection:set", "unprotect": "protection:lift", "forget": "stacks:forget",
}
_NESTED_TOO = frozenset({"signal", "mark_unhealthy", "clear_hook", "observe", "set_drift", "protect", "unprotect"})
# Actions after which no stack is left.
_LEAVING = frozenset({"abandon", "forget"})


class _Standing(NamedTuple):
    """The facts of a stack that decide what may be done."""

    status: str
    nested: bool
    deleted: bool
    hooks: bool
    drifted: bool
    snapshots: bool
    # Whether the stack itself is protected, and why it cannot be deleted.
    protected: bool
    protection: str


def of(call: Call, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields `may` and `may_not` of a summary."""
    stack = summary["stack"]
    standing = _Standing(stack["stack_status"], stack["parent"] is not None, stack["deleted"] is not None,
                         summary["hooks_total"] > 0, summary["drift"]["drifted"] + summary["drift"]["gone"] > 0,
                         summary["snapshots"] > 0, stack["protected"], summary["protection"] or "")
    may, may_not = [], {}
    for action, rule in _RULES.items():
        refused = _refusal(call, action, rule, standing)
        if refused is None:
            may.append(action)
        else:
            may_not[action] = {"reason": refused[0], "text": refused[1]}
    return {"may": may, "may_not": may_not}


def _refusal(call: Call, action: str, rule: str, standing: _Standing) -> tuple[str, str] | None:
    if not call.policy.allows(rule, call.caller, {"project_id": call.project}):
        return "policy", f"The rule {rule} refuses it."
    if text := _by_option(action, call.service.settings):
        return "option", text
    if text := _by_protection(action, standing):
        return "protection", text
    text = _by_state(action, standing)
    return ("state", text) if text else None


def _by_option(action: str, settings: Settings) -> str:
    if action in _LEAVING and not settings.enable_stack_abandon:
        return "The option enable_stack_abandon is off."
    return ""


def _by_protection(action: str, standing: _Standing) -> str:
    if standing.deleted or (standing.nested and action not in _NESTED_TOO):
        return ""
    if action == "delete" or (action in _LEAVING and standing.protected):
        return standing.protection
    return ""


def _by_state(action: str, standing: _Standing) -> str:
    """Return why the state of the stack does not allow an action; "" if it does."""
    if standing.deleted:
        return "The stack is deleted."
    if standing.nested and action not in _NESTED_TOO:
        return "The stack is inside another one, which decides for it."
    check = _CHECKS.get(action)
    return "" if check is None else check(standing)


def _running(standing: _Standing) -> bool:
    return standing.status.endswith("_IN_PROGRESS")


def _suspended(standing: _Standing) -> str:
    return "The stack is suspended: resume it first." if standing.status.startswith("SUSPEND_") else ""


def _cancel(standing: _Standing) -> str:
    return "" if standing.status == "UPDATE_IN_PROGRESS" else "No update is in progress."


def _cancel_plainly(standing: _Standing) -> str:
    fits = standing.status in ("UPDATE_IN_PROGRESS", "CREATE_IN_PROGRESS")
    return "" if fits else "No create or update is in progress."


def _resume(standing: _Standing) -> str:
    return "" if standing.status.startswith("SUSPEND_") else "The stack is not suspended."


def _suspend(standing: _Standing) -> str:
    if standing.status.startswith("DELETE_"):
        return "The stack is being deleted."
    return "The stack is suspended already." if standing.status == "SUSPEND_COMPLETE" else ""


def _repair(standing: _Standing) -> str:
    if not standing.drifted:
        return "Nothing has drifted."
    return "An operation is in progress." if _running(standing) else _suspended(standing)


def _restore(standing: _Standing) -> str:
    return "" if standing.snapshots else "The stack has no snapshot."


def _clear_hook(standing: _Standing) -> str:
    return "" if standing.hooks else "No hook waits."


_CHECKS = {
    "update": _suspended, "retry": _suspended, "cancel": _cancel, "cancel_without_rollback": _cancel_plainly,
    "suspend": _suspend, "resume": _resume, "repair": _repair,
    "restore": _restore, "clear_hook": _clear_hook,
}
