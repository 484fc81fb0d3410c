"""Turns inputs into stored blobs, and plans operations that keep the input of the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.planning import documents
from isotherm.planning.desired import Parts, StackInput
from isotherm.states import Action
from isotherm.store.database.writer import Connection
from isotherm.store.operations import plan, visit
from isotherm.store.records import Acceptance


def stored(input_: StackInput) -> tuple[str, dict[str, str]]:
    """Return the hash of an input, and its blobs by hash: a text that several operations share is stored once."""
    blobs: dict[str, str] = {}
    whole = documents.encode(_document(input_, blobs))
    return _hash(whole), {**blobs, _hash(whole): whole}


def _document(input_: StackInput, blobs: dict[str, str]) -> documents.Input:
    """Return the document of an input; its texts are added to `blobs`."""
    keys = _kept(input_.files, blobs)
    older = [documents.OlderInput(list(one.names), _kept(one.files, blobs), dict(one.environment)) for one in input_.older]
    template = _hash(input_.template)
    blobs[template] = input_.template
    facade = None if input_.facade is None else dict(input_.facade)
    return documents.Input(template, keys, dict(input_.environment), facade, _exports(input_.exports),
                           dict(input_.restored), input_.secrets, older, _parts(input_.parts, blobs))


def _parts(parts: Parts, blobs: dict[str, str]) -> documents.PartsDocument | None:
    if not parts:
        return None
    kept = [documents.KeptInput(list(one.names), _document(one.input, blobs)) for one in parts.kept]
    return documents.PartsDocument(kept, list(parts.absent), _exports(parts.exports))


def _exports(exports: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[list[Any]]]:
    return {name: [list(path) for path in paths] for name, paths in exports.items()}


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
