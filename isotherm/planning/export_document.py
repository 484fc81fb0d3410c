"""The export document of a stack, in Heat's format: its input and its resources.

Export and abandon return it, adopt takes it, and a snapshot stores one. Secrets are masked unless the owner asks for them:
the values of hidden parameters wherever they appear, and the data that resources keep for themselves (a password, for
example).
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from isotherm.planning import desired, documents
from isotherm.resources import contract
from isotherm.resources.validation import protection as words
from isotherm.secrets import MASK, Redactor
from isotherm.states import Action, Status
from isotherm.store.records import Version
from isotherm.store.transitions.versions import Protector
from isotherm.store.versions import protection
from isotherm.template.text import document

_SECTIONS: Mapping[str, Any] = {"parameters": {}, "parameter_defaults": {}, "resource_registry": {}, "event_sinks": []}
# The key of the outer stack's secrets among the hidden values. No parameter has this name.
AROUND = ""


def entry(version: Version, own: object) -> str:
    """Return a resource as a snapshot stores it; `own` is the data that its type keeps for the snapshot."""
    return documents.encode({
        "name": version.name, "resource_id": version.physical_id, "type": version.type,
        "action": version.action.name, "status": version.status.name,
        "metadata": documents.decode_any(version.metadata), "resource_data": documents.decode_any(version.data),
        "snapshot": own,
    })


def resource(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource. If the end of its creation is unknown, the entry has the token that finds the object."""
    begun = row["token"] is not None and row["physical_id"] is None
    by = protection.of(row)
    return {
        # Heat's documents have no such key: an entry has it only where it says something.
        **({"protection": protected_by(by)} if protection.level(by) else {}),
        **({"token": row["token"]} if begun else {}),
        "name": row["name"], "resource_id": row["physical_id"], "type": row["type"] or "", "action": row["action"].name,
        "status": row["status"].name, "metadata": documents.decode_any(row["metadata"] or "{}") or {},
        "resource_data": documents.decode_any(row["data"] or "{}"),
    }


def protected_by(by: Protector) -> dict[str, Any]:
    """Return what a user asked to protect an object from, and what the template asks for."""
    return {"user": {"protect": words.words_of(by.level), "name": by.user} if by.level else None,
            "template": words.words_of(by.template)}


def inside(row: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a nested stack: its own export document, with the fields of the resource."""
    known = resource(row)
    own = ("resource_id", "type", "metadata", "resource_data", "protection")
    return {**whole, **{key: known[key] for key in own if key in known}}


def stack(row: Mapping[Any, Any], input_: desired.StackInput, resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return the export document of a stack."""
    return {
        **({"stack_protection": {"protected": True, "by": row["protector"]}} if row["protected"] else {}),
        "name": row["name"], "id": row["id"], "action": Action(row["action"]).name, "status": Status(row["status"]).name,
        "template": document.load(input_.template).data, "environment": {**_SECTIONS, **input_.environment},
        "files": dict(collections.ChainMap(dict(input_.files), *(dict(one.files) for one in input_.older))),
        "resources": dict(resources), "project_id": row["project"],
        "stack_user_project_id": None, "tags": documents.decode_any(row["tags"]),
    }


def hide(value: Any, hidden: Mapping[str, Any]) -> Any:
    """Return data with the values of hidden parameters masked."""
    return Redactor(hidden.values()).value(value)


def masked(whole: Mapping[str, Any], hidden: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its secrets masked. `hidden` are the values of hidden parameters, by name."""
    environment = dict(whole["environment"])
    for section in ("parameters", "parameter_defaults"):
        environment[section] = {name: MASK if name in hidden else value for name, value in environment[section].items()}
    resources = {name: _without_secrets(one) for name, one in whole["resources"].items()}
    safe: dict[str, Any] = hide({**whole, "environment": environment, "resources": resources}, hidden)
    return safe


def _without_secrets(one: Mapping[str, Any]) -> dict[str, Any]:
    own = {"snapshot": MASK} if one.get("snapshot") is not None else {}
    # The id of the object that was replaced is no secret. Masked data would forbid an adoption.
    data = {key: value if key == contract.REPLACED else MASK for key, value in (one.get("resource_data") or {}).items()}
    return {**one, "resource_data": data, **own}
