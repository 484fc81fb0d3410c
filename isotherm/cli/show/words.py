"""The words, signs and colours for states: the same in tables, trees and the live picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from isotherm.cli.show import console
from isotherm.engine.queries.follow import ResourceLine
from isotherm.states import Action, NodeState, Status

#: state -> (sign, style)
SIGNS = {
    NodeState.PENDING: ("·", "dim"), NodeState.SCHEDULED: ("○", "cyan"), NodeState.RUNNING: ("●", "blue"),
    NodeState.WAITING: ("●", "blue"), NodeState.DONE: ("✓", "green"), NodeState.FAILED: ("✗", "bold red"),
    NodeState.SKIPPED: ("-", "dim"),
}
#: The counts of nodes by state, in the order they are shown: word, states, style.
STATE_COUNTS = (
    ("running", (NodeState.RUNNING, NodeState.WAITING), "blue"), ("scheduled", (NodeState.SCHEDULED,), "cyan"),
    ("waiting", (NodeState.PENDING,), ""), ("done", (NodeState.DONE,), "green"),
    ("failed", (NodeState.FAILED,), "red"), ("skipped", (NodeState.SKIPPED,), "dim"),
)

_DOING = {
    Action.CREATE: "creating", Action.UPDATE: "updating", Action.DELETE: "deleting", Action.CHECK: "checking",
    Action.ROLLBACK: "rolling back", Action.SUSPEND: "suspending", Action.RESUME: "resuming",
    Action.SNAPSHOT: "copying", Action.RESTORE: "restoring", Action.ADOPT: "adopting",
}
_DONE = {
    Action.CREATE: "created", Action.UPDATE: "updated", Action.DELETE: "deleted", Action.CHECK: "checked",
    Action.SUSPEND: "suspended", Action.RESUME: "resumed", Action.SNAPSHOT: "copied", Action.ADOPT: "adopted",
}
_STYLES = {"COMPLETE": "green", "FAILED": "red", "IN_PROGRESS": "blue"}


def doing(action: Action) -> str:
    return _DOING.get(action, action.name.lower())


def done(action: Action) -> str:
    return _DONE.get(action, "done")


def of(line: ResourceLine) -> str:
    """Return the word for the state of a resource."""
    if line.state in (NodeState.RUNNING, NodeState.WAITING):
        return doing(line.action) if line.touched and line.status is Status.IN_PROGRESS else "starting"
    if line.state is NodeState.DONE:
        return done(line.action) if line.touched else "no change"
    return {NodeState.PENDING: "waiting", NodeState.FAILED: "failed", NodeState.SKIPPED: "skipped",
            NodeState.SCHEDULED: "scheduled"}[line.state]


def status(word: str) -> Text:
    """Return a status such as CREATE_COMPLETE, coloured by its outcome."""
    return Text(word, next((style for end, style in _STYLES.items() if word.endswith(end)), ""))


def drift(marks: Mapping[str, int]) -> Text:
    """Return a mark for the status of a drifted stack; empty if nothing has drifted."""
    if not marks["drifted"]:
        return Text()
    given_up = ", repair given up" if marks["given_up"] else ""
    return Text(f" ≠ {marks['drifted']} drifted{given_up}", "yellow")


def duration(seconds: float) -> str:
    """Format a duration: 0.4 s, 12.3 s, 2:05, 1:02:05."""
    if seconds < 60:
        return f"{max(seconds, 0.0):.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def path(one: Mapping[str, Any], stack: str = "(stack)") -> str:
    """Return the names that lead to the resource of a row; those to its stack, and `stack`, if it is about a stack."""
    names = [*one.get("stack", ()), *([one["resource_name"]] if one["resource_name"] else [])]
    return ".".join(names) if one["resource_name"] else " ".join([*([".".join(names)] if names else []), stack])


def some(names: list[str], count: int, most: int = 3) -> str:
    """Join names: `a, b, c and 7 more`."""
    shown = ", ".join(names[:most])
    left = count - len(names[:most])
    return f"{shown} and {left:,} more" if left > 0 and shown else shown or f"{count:,} others"


def undriven_notice(stack: Mapping[str, Any]) -> Iterator[Text]:
    """Yield a notice if an operation is in progress and no engine drives it."""
    if stack["status"] == "IN_PROGRESS" and not stack["driven"]:
        name = console.clean(stack["stack_name"])
        yield Text(f"No engine is running, so {name} makes no progress. To continue: isotherm work {name}", "yellow")
