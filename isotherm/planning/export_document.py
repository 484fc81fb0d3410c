"""The papers of a stack: a document that says all there is to say of it, for whoever takes it over (Heat's format).

Export and abandon hand it out, adopt takes it, and a snapshot keeps one. Hidden values are masked unless the owner asks
for them: the values of hidden parameters wherever they appear, and what resources keep for themselves, which is theirs to
know (a password, for example).
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from isotherm.planning import desired, documents
from isotherm.secrets import MASK, Redactor
from isotherm.states import Action, Status
from isotherm.store.records import Version
from isotherm.template.text import document

_SECTIONS: Mapping[str, Any] = {"parameters": {}, "parameter_defaults": {}, "resource_registry": {}, "event_sinks": []}
#: Among what is hidden, by name: what the stack around hides. No parameter is called this.
AROUND = ""


def entry(version: Version, own: object) -> str:
    """A resource as a snapshot keeps it; `own` is what its type has to keep."""
    return documents.encode({
        "name": version.name, "resource_id": version.physical_id, "type": version.type,
        "action": version.action.name, "status": version.status.name,
        "metadata": documents.decode_any(version.metadata), "resource_data": documents.decode_any(version.data),
        "snapshot": own,
    })


def resource(row: Mapping[str, Any]) -> dict[str, Any]:
    """A resource as it is. Where its creation has begun and nobody knows yet what came of it: by what to find it."""
    begun = row["token"] is not None and row["physical_id"] is None
    return {
        **({"token": row["token"]} if begun else {}),
        "name": row["name"], "resource_id": row["physical_id"], "type": row["type"] or "", "action": row["action"].name,
        "status": row["status"].name, "metadata": documents.decode_any(row["metadata"] or "{}") or {},
        "resource_data": documents.decode_any(row["data"] or "{}"),
    }


def inside(row: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """A resource that is a stack: the papers of that stack, with what is known of it as a resource."""
    known = resource(row)
    return {**whole, **{key: known[key] for key in ("resource_id", "type", "metadata", "resource_data")}}


def stack(row: Mapping[Any, Any], asked: desired.Asked, resources: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document."""
    return {
        "name": row["name"], "id": row["id"], "action": Action(row["action"]).name, "status": Status(row["status"]).name,
        "template": document.load(asked.template).data, "environment": {**_SECTIONS, **asked.environment},
        "files": dict(collections.ChainMap(dict(asked.files), *(dict(one.files) for one in asked.older))),
        "resources": dict(resources), "project_id": row["project"],
        "stack_user_project_id": None, "tags": documents.decode_any(row["tags"]),
    }


def hide(value: Any, hidden: Mapping[str, Any]) -> Any:
    """Any data, without the values of hidden parameters."""
    return Redactor(hidden.values()).value(value)


def masked(papers: Mapping[str, Any], hidden: Mapping[str, Any]) -> dict[str, Any]:
    """The same document for anybody's eyes. `hidden` are the values of hidden parameters, by name."""
    surroundings = dict(papers["environment"])
    for section in ("parameters", "parameter_defaults"):
        surroundings[section] = {name: MASK if name in hidden else value for name, value in surroundings[section].items()}
    resources = {name: _without_secrets(one) for name, one in papers["resources"].items()}
    safe: dict[str, Any] = hide({**papers, "environment": surroundings, "resources": resources}, hidden)
    return safe


def _without_secrets(one: Mapping[str, Any]) -> dict[str, Any]:
    own = {"snapshot": MASK} if one.get("snapshot") is not None else {}
    return {**one, "resource_data": dict.fromkeys(one.get("resource_data") or {}, MASK), **own}
