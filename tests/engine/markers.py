"""A secret marker, a type whose errors quote it, and all places where it must not appear."""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

from isotherm import errors
from isotherm.engine.queries.events import EventQuery
from isotherm.resources import contract
from isotherm.resources.schema import LIST, MAP, STRING, Schema
from tests import databases
from tests.engine.conftest import Lab

MARKER = "Zx9-marker'\"<&>ö-7Q"
OLDER = "Older-marker-55Tt"
# Each of these in a file or reply reveals the marker.
TRACES = [MARKER, json.dumps(MARKER)[1:-1], repr(MARKER)[1:-1], "Zx9-m", "ö-7Q", base64.b64encode(MARKER.encode()).decode()]
HIDDEN = {"pw": {"type": "string", "hidden": True}}
SECRET = {"get_param": "pw"}
WORDS = {"parameters": {"pw": MARKER}}


class Login(contract.Resource):
    """A type whose errors quote its properties."""

    TYPE = "Test::Login"
    properties_schema: ClassVar[dict[str, Schema]] = {
        "user": Schema(STRING, update_allowed=True),
        "password": Schema(STRING, update_allowed=True, write_only=True),
        "keys": Schema(LIST, update_allowed=True, schema=Schema(MAP, schema={"name": Schema(STRING),
                                                                          "key": Schema(STRING, write_only=True)})),
        "mood": Schema(STRING, update_allowed=True),
    }

    def _speak(self, *more: object) -> None:
        body = json.dumps([dict(self.properties), *more])
        if self.properties["mood"] == "fail":
            raise ValueError(f"400 Bad Request: {body}")
        if self.properties["mood"] == "long":
            raise ValueError("x" * 940 + body)
        if self.properties["mood"] == "wait":
            raise errors.Temporary(f"503: {body}", retry_after_s=3600)

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        self._speak()
        return {"seen": dict(self.properties)}

    async def handle_update(self, before: Any, changed: Any) -> object:
        self._speak(before, changed)
        return None


def dump(folder: Path) -> str:
    """Return every value of every table, and the other content of the database files."""
    files = [path.read_bytes().decode("latin-1") for path in sorted(folder.glob("isotherm.db*"))]
    return "\n".join([databases.text(folder), *files])


def traces(text: str, *more: str) -> list[str]:
    found = [*TRACES, *more]
    return [one for one in found if one in text or one.encode().decode("latin-1") in text]


async def replies(lab: Lab, name: str) -> AsyncIterator[tuple[str, Any]]:
    """All that can be read of a stack."""
    api = lab.api
    for what in ("stacks.show", "stacks.find", "resources.list", "resources.edges", "events.list", "outputs.list",
                 "outputs.names", "inputs.parameters", "inputs.template", "inputs.environment", "inputs.files",
                 "exports.export", "snapshots.list", "signals.hooks"):
        yield what, await operator.attrgetter(what)(api)(name)
    yield "stacks", await api.stacks.list()
    for one in await api.outputs.names(name):
        yield "output", await api.outputs.show(name, one["output_key"])
    async for piece in api.resources.pages(name, depth=5, detail=True):
        yield "resource_pages", piece
    for one in await api.resources.list(name):
        yield "resource", await api.resources.show(name, one["resource_name"])
    async for page in api.events.pages(name, EventQuery()):
        yield "event_pages", page
    for event in await api.events.list(name):
        if event["resource_name"]:
            yield "event", await api.events.show(name, event["resource_name"], str(event["id"]))
    for snapshot in await api.snapshots.list(name):
        yield "show_snapshot", await api.snapshots.show(name, snapshot["id"])


async def told(lab: Lab, name: str, *more: str) -> list[tuple[str, str]]:
    """Return the traces of the marker, by reply."""
    found = []
    async for what, reply in replies(lab, name):
        text = json.dumps(reply, default=str, ensure_ascii=False) + repr(reply)
        found += [(what, trace) for trace in traces(text, *more)]
    return found


async def inner(lab: Lab, name: str) -> str:
    """The id of the stack that a resource is."""
    found = await lab.api.resources.list("s")
    return next(str(one["physical_resource_id"]) for one in found if one["resource_name"] == name)


NESTED = """
heat_template_version: 2021-04-16
parameters: {plain: {type: string}, other: {type: string, default: harmless}}
resources:
  leaf: {type: OS::Heat::Value, properties: {value: {get_param: plain}}}
  login: {type: Test::Login, properties: {user: {get_param: other}, password: {get_param: plain}}}
outputs:
  same: {value: {get_attr: [leaf, value]}}
  given: {value: {get_param: plain}}
  other: {value: {get_param: other}}
"""
