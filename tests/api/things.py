"""An object of each kind, and the path of every route to it: for tests that walk the table of routes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from isotherm.api import routes
from isotherm.api.handlers import stream
from isotherm.api.overview import live
from tests.api.conftest import Api, resource, template

ARN = "arn:openstack:heat::{project}:stacks/{stack_name}/{stack_id}"


def made(api: Api, name: str = "s", **body: Any) -> dict[str, str]:
    """Create objects; return one for each name in the paths of routes."""
    body = body or {"template": template(
        {"r": resource(), "handle": {"type": "OS::Heat::WaitConditionHandle"}},
        outputs={"o": {"value": {"get_resource": "r"}}}, parameters={"p": {"type": "string", "default": "x"}})}
    path = api.create(name, **body)
    snapshot = api.post(f"{path}/snapshots", {"name": "n"}).json()["id"]
    api.end(path)
    config = api.post("/software_configs", {"name": "c"}).json()["software_config"]["id"]
    deployment = api.post("/software_deployments", {"config_id": config, "server_id": "server"}).json()
    operation = api.get(f"{path}/operations").json()["operations"][0]["id"]
    event = api.get(f"{path}/resources/r/events").json()["events"][0]["id"]
    return {"project": api.project, "stack_name": name, "stack_id": path.rpartition("/")[2], "resource_name": "r",
            "snapshot_id": snapshot, "output_key": "o", "config_id": config, "event_id": event, "server_id": "server",
            "deployment_id": deployment["software_deployment"]["id"], "type_name": "OS::Heat::RandomString",
            "version": "heat_template_version.2021-04-16", "token": "x", "operation_id": operation}


def is_endless(route: routes.Route) -> bool:
    """Return whether the answer of a route is a stream."""
    return route.path.endswith(("/stream", "/live", "/follow"))


def is_removal(route: routes.Route) -> bool:
    """Return whether a request to a route takes away the object of its path."""
    return route.method == "DELETE" or route.path.endswith("/forget")


def end_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each stream end after what it sends at first, for clients that read an answer to its end."""
    async def nothing(*_: Any) -> Any:
        empty: tuple[bytes, ...] = ()
        for line in empty:
            yield line

    async def no_looks(events: Any, _stack_id: str) -> Any:
        await events.aclose()
        empty: tuple[tuple[set[str], int], ...] = ()
        for look in empty:
            yield look
    monkeypatch.setattr(stream, "_lines", nothing)
    monkeypatch.setattr(live, "_looks", no_looks)


def names(route: routes.Route) -> list[str]:
    """Return the names in the path of a route."""
    return re.findall(r"{([^}]+)}", route.path)


def place(route: routes.Route, known: dict[str, str], raw: bool = False) -> str:
    """Return the path of a route to one of the objects. `raw`: values are quoted already."""
    known = {**known, "arn:arn": ARN.format(**known)}
    return re.sub(r"{([^}]+)}", lambda found: known[found[1]] if raw else quote(known[found[1]], safe=":/"), route.path)


@contextmanager
def waiting_meanwhile(api: Api, path: str) -> Iterator[list[float]]:
    """Send requests of another client again and again; the list gets its longest delay."""
    slowest, stop = [0.0], threading.Event()

    def others() -> None:
        while not stop.is_set():
            start = time.monotonic()
            assert api.get(path).status_code == 200
            slowest[0] = max(slowest[0], time.monotonic() - start)

    other = threading.Thread(target=others)
    other.start()
    try:
        yield slowest
    finally:
        stop.set()
        other.join()


def label(route: routes.Route) -> str:
    return f"{route.method} {route.path}"
