"""Turns inputs into stored blobs, and plans operations that keep the input of the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from isotherm.planning import documents
from isotherm.planning.desired import Asked
from isotherm.states import Action
from isotherm.store.database.writer import Connection
from isotherm.store.operations import plan, visit
from isotherm.store.records import Acceptance


def stored(asked: Asked) -> tuple[str, dict[str, str]]:
    """Return the hash of an input, and its blobs by hash: a text that several operations share is stored once."""
    blobs: dict[str, str] = {}
    keys = _kept(asked.files, blobs)
    older = [documents.Surroundings(list(one.names), _kept(one.files, blobs), dict(one.environment)) for one in asked.older]
    template = _hash(asked.template)
    facade = None if asked.facade is None else dict(asked.facade)
    exports = {name: [list(path) for path in paths] for name, paths in asked.exports.items()}
    whole = documents.encode(
        documents.Input(template, keys, dict(asked.environment), facade, exports, dict(asked.restored), asked.secrets,
                        older)
    )
    return _hash(whole), {template: asked.template, **blobs, _hash(whole): whole}


def _kept(files: Mapping[str, str], blobs: dict[str, str]) -> dict[str, str]:
    """The hash of each file, by its name; the texts are added to `blobs`."""
    keys = {name: _hash(text) for name, text in files.items()}
    blobs.update((keys[name], text) for name, text in files.items())
    return keys


def plan_action(connection: Connection, acceptance: Acceptance, now: float) -> None:
    """Plan an operation that needs no template: to delete everything, or to visit everything."""
    if acceptance.action is Action.DELETE:
        plan.write(connection, acceptance.operation_id, [], now)
    else:
        visit.write(connection, acceptance.operation_id, now)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
