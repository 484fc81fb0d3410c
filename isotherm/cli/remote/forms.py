"""Forms of the API as views of the engine's queries, and requests of the engine as bodies of the API.

A field that only Isotherm sends has a default, so that the answers of a Heat become views too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.engine.operations.accept import Request
from isotherm.engine.operations.patch import Patch
from isotherm.engine.queries.follow import Frame, ResourceLine
from isotherm.states import Action, NodeState, OperationState, Status

Data = dict[str, Any]
_CHANGED = "state changed"
_STATES = {"IN_PROGRESS": NodeState.RUNNING, "COMPLETE": NodeState.DONE, "FAILED": NodeState.FAILED}


def stack(given: Mapping[str, Any], project: str) -> Data:
    action, _, status = given["stack_status"].partition("_")
    minutes = given.get("timeout_mins")
    return {
        "id": given["id"], "project": given.get("project") or project, "parent": given.get("parent"),
        "stack_owner": given.get("stack_owner") or "", "stack_name": given["stack_name"],
        "description": given.get("template_description") or given.get("description") or "", "action": action,
        "status": status,
        "stack_status": given["stack_status"], "stack_status_reason": given["stack_status_reason"],
        "generation": given.get("generation", 0), "operation_id": given.get("operation_id", ""),
        "protected": bool(given.get("protected", False)), "disable_rollback": bool(given.get("disable_rollback", True)),
        "timeout_s": given.get("timeout_s", None if minutes is None else minutes * 60.0), "tags": given.get("tags") or [],
        **{key: given.get(key) for key in ("creation_time", "updated_time", "deletion_time")},
    }


def progress(given: Mapping[str, Any]) -> Data:
    """Return the fields that `stacks.show` has beside those of a list."""
    return {"progress": given.get("progress", {}), "retained": given.get("retained", []),
            "left_out": given.get("left_out", [])}


def drift(given: Mapping[str, Any]) -> dict[str, int]:
    return dict(given.get("drift") or {"drifted": 0, "given_up": 0})


def resource(given: Mapping[str, Any]) -> Data:
    """Return a resource of Heat's list. Its requirements are not known from it alone."""
    action, _, status = given["resource_status"].partition("_")
    return {
        "resource_name": given["resource_name"], "resource_type": given["resource_type"],
        "physical_resource_id": given["physical_resource_id"] or None, "resource_action": action,
        "resource_status": given["resource_status"], "resource_status_reason": _reason(given["resource_status_reason"]),
        "state": (NodeState.PENDING if action == "INIT" else _STATES.get(status, NodeState.PENDING)).name, "waits_for": "",
        "to_be_deleted": False, "creation_time": given.get("creation_time"), "updated_time": given.get("updated_time"),
        "stack": [given["parent_resource"]] if given.get("parent_resource") else [], "requires": [],
    }


def event(given: Mapping[str, Any], *, nested: bool) -> Data:
    of_stack = given["physical_resource_id"] == stack_of(given)
    number = str(given["id"])
    shown = {
        "id": int(number) if number.isdigit() else number, "operation_id": given.get("operation_id", ""),
        "event_time": given["event_time"], "resource_name": "" if of_stack else given["resource_name"],
        "resource_type": given.get("resource_type", ""), "physical_resource_id": given["physical_resource_id"],
        "resource_status": given["resource_status"], "resource_status_reason": _reason(given["resource_status_reason"]),
    }
    return {**shown, "stack": given.get("stack_path", [])} if nested else shown


def stack_of(given: Mapping[str, Any]) -> str:
    """Return the id of the stack of an event: the last part of its link."""
    href = next((one["href"] for one in given["links"] if one.get("rel") == "stack"), "")
    return str(href).rsplit("/", 1)[-1]


def _reason(text: str | None) -> str:
    return "" if text in (None, _CHANGED) else str(text)


def frame(given: Mapping[str, Any]) -> Frame:
    return Frame(
        given["at"], given["stack"], OperationState[given["phase"]], given["began_at"], given["ended_at"],
        given["remaining"],
        {NodeState[state]: number for state, number in given["counts"].items()}, [_line(one) for one in given["lines"]],
        given["whole"], [(name, reason) for name, reason in given["failures"]])


def _line(given: Mapping[str, Any]) -> ResourceLine:
    words = {"state": NodeState[given["state"]], "action": Action[given["action"]], "status": Status[given["status"]]}
    return ResourceLine(**{**given, **words, "inner": tuple(given["inner"]) if given["inner"] else None})


def adopt(name: str, data: bytes, change: Patch) -> Data:
    return {"stack_name": name, **body(change), "adopt_stack_data": data.decode("utf-8", "replace")}


def body(change: Request | Patch) -> Data:
    """Return the fields of a request that create, update and plan share."""
    fields: Data = {"files": dict(change.files), "environment": dict(change.environment)}
    if change.template is not None:
        fields["template"] = change.template
    if change.disable_rollback is not None:
        fields["disable_rollback"] = change.disable_rollback
    if change.timeout_s is not None:
        fields["timeout_mins"] = _minutes(change.timeout_s)
    fields |= {name: [*names] for name, names in (("target", change.target), ("exclude", change.exclude)) if names}
    if change.moved:
        fields["moved"] = dict(change.moved)
    if change.tags:
        fields["tags"] = ",".join(change.tags)
    return fields


def create(name: str, request: Request) -> Data:
    return {"stack_name": name, **body(request)}


def replace(change: Request | Patch, present: Mapping[str, Any]) -> Data:
    """Return the body of a PUT, which takes tags away that it does not have: those of the stack stay unless given."""
    tags = {"tags": ",".join(present["tags"])} if change.tags is None and present["tags"] else {}
    return {**body(change), **tags, **_observing(change)}


def patch(change: Patch) -> Data:
    """Return the body of a PATCH."""
    cleared = {"clear_parameters": list(change.clear_parameters)} if change.clear_parameters else {}
    untagged: Data = {"tags": []} if change.tags is not None and not change.tags else {}
    return {**body(change), **cleared, **untagged, **_observing(change), "strict": change.strict}


def is_patch(change: Request | Patch) -> bool:
    """Return whether a change keeps what it does not give, and is sent as a PATCH."""
    return isinstance(change, Patch) and (change.existing or change.template is None)


def _observing(change: Request | Patch) -> Data:
    return {"converge": True} if change.converge else {}


def _minutes(seconds: float) -> int:
    if seconds % 60:
        raise errors.UserError("A service takes a timeout in whole minutes.", kind="ValueError",
                               hint="Give --timeout a whole number.")
    return int(seconds // 60)
