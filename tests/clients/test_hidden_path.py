"""No response of any route reveals the path of a stack, convergence or legacy."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from isotherm.api import routes
from tests.clients.command import resource, template, until
from tools import instance

WORDS = re.compile(r"convergence|legacy|architecture|traversal", re.IGNORECASE)
TEMPLATE = template({"r": {"type": "OS::Heat::WaitConditionHandle"}, "plain": {**resource(), "depends_on": "r"}},
                    outputs={"o": {"value": {"get_attr": ["plain", "output"]}}})
STACK, RESOURCE = routes.STACK, routes.RESOURCE
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/validate"): {"template": TEMPLATE},
    ("POST", "/stacks"): {"stack_name": "another", "template": TEMPLATE},
    ("POST", "/stacks/preview"): {"stack_name": "would", "template": TEMPLATE},
    ("PUT", STACK): {"template": TEMPLATE},
    ("PATCH", STACK): {"tags": "a"},
    ("PUT", f"{STACK}/preview"): {"template": TEMPLATE},
    ("PATCH", f"{STACK}/preview"): {},
    ("POST", f"{STACK}/snapshots"): {"name": "second"},
    ("POST", f"{STACK}/actions"): {"check": None},
    ("PATCH", RESOURCE): {"mark_unhealthy": True},
    ("POST", f"{RESOURCE}/signal"): {"id": "1"},
    ("POST", "/software_configs"): {"name": "c"},
    ("POST", "/software_deployments"): {"config_id": "...", "server_id": "server"},
    ("PUT", "/software_deployments/{deployment_id}"): {"status": "COMPLETE"},
    ("PUT", f"{STACK}/drift"): {"policy": "report"},
    ("PUT", f"{RESOURCE}/drift"): {"policy": "ignore"},
    ("PUT", "/drift"): {"mode": "active"},
    ("POST", f"{STACK}/plan"): {"template": TEMPLATE},
    ("POST", "/plan"): {"stack_name": "would", "template": TEMPLATE},
    ("POST", "/problems"): {"template": TEMPLATE},
    ("PUT", f"{STACK}/protection"): {"protect": ["delete"]},
    ("PUT", f"{RESOURCE}/protection"): {"protect": ["replace"]},
    ("POST", f"{RESOURCE}/move"): {"stack": "another"},
}
# Refused here: nothing has drifted, no objects are named, another resource needs the one to forget or to move. A refusal
# must not reveal the path either.
REFUSED = {("POST", path) for path in (
    f"{STACK}/repair", f"{STACK}/import", f"{STACK}/import/plan", "/import", "/import/plan", "/import/template",
    f"{RESOURCE}/forget", f"{RESOURCE}/move")}
# Values that differ from one reply to the next in any case.
OWN = [(re.compile(pattern), mark) for pattern, mark in (
    (r"req-[0-9a-f-]{36}", "<request>"), (r'"updated_at":"[^"]+"', "<seen>"),
    (r'"(now|counted|seen|at|began_at|ended_at|since)":[0-9.]+', "<now>"),
    (r"(expires|signature)=[\w%.-]+", "<signature>"))]


class Service:
    """A client that goes through all routes."""

    def __init__(self, it: instance.Isotherm) -> None:
        self.home = it.home
        token = (it.home / "token").read_text().strip()
        self.http = httpx2.Client(base_url=f"{it.url}/v1/default", headers={"X-Auth-Token": token}, timeout=240,
                                  trust_env=False)
        self.known: dict[str, str] = {}

    def make(self) -> None:
        """Create one object of each kind."""
        stack = self._create("s")
        until(lambda: self.http.get(f"/stacks/s/{stack}/drift").json()["drift"]["observed_time"] is not None)
        snapshot = self.http.post(f"/stacks/s/{stack}/snapshots", json={"name": "first"}).json()["id"]
        self.settle()
        operation = self.http.get(f"/stacks/s/{stack}/operations").json()["operations"][0]["id"]
        event = self.http.get(f"/stacks/s/{stack}/resources/r/events").json()["events"][0]["id"]
        config, spare = (self.http.post("/software_configs", json={"name": name}).json()["software_config"]["id"]
                         for name in ("c", "spare"))
        deployment = self.http.post("/software_deployments", json={"config_id": config, "server_id": "server"}).json()
        self.known |= {"snapshot_id": snapshot, "operation_id": operation, "output_key": "o", "event_id": event,
                       "config_id": config, "spare": spare, "deployment_id": deployment["software_deployment"]["id"],
                       "server_id": "server", "type_name": "OS::Heat::TestResource",
                       "version": "heat_template_version.2021-04-16", "resource_name": "r",
                       "arn:arn": f"arn:openstack:heat::default:stacks/s/{stack}"}

    def _create(self, name: str) -> str:
        id_: str = self.http.post("/stacks", json={"stack_name": name, "template": TEMPLATE}).json()["stack"]["id"]
        self.known |= {"stack_name": name, "stack_id": id_}
        self.settle()
        return id_

    def settle(self) -> None:
        until(lambda: "IN_PROGRESS" not in self.http.get("/stacks").text)

    def ask(self, route: routes.Route) -> str:
        """Status and text of the reply."""
        if route.path in (f"{STACK}/abandon", f"{STACK}/forget"):
            self._create("let-go")
        path = self._fill(route.path)
        if route.path.endswith(("/stream", "/live", "/follow")):
            with self.http.stream("GET", path, params={"after": 0}) as answer:
                # What a stream of changes says at once: the first message, of four lines.
                first = 20 if route.path.endswith("/stream") else 4
                lines = [line for line, _ in zip(answer.iter_lines(), range(first), strict=False)]
            return f"{answer.status_code} {lines}"
        body = BODIES.get((route.method, route.path))
        if body is not None and "config_id" in body:
            body = {**body, "config_id": self.known["spare"]}
        answer = self.http.request(route.method, path, json=body)
        is_refused = (route.method, route.path) in REFUSED
        assert 400 <= answer.status_code < 500 if is_refused else answer.status_code < 400, (route, answer.text)
        if route.method != "GET":
            self.settle()
        return f"{answer.status_code} {sorted(answer.headers)} {answer.headers.get('location')} {answer.text}"

    def _fill(self, path: str) -> str:
        return re.sub(r"{([^}]+)}", lambda found: self.known[found[1]], path)


def in_order() -> list[routes.Route]:
    """Sort routes: reads first, then changes, then deletions in order of dependency."""
    ends = ["/software_deployments/{deployment_id}", "/software_configs/{config_id}", f"{STACK}/snapshots/{{snapshot_id}}",
            STACK, f"{STACK}/forget", f"{STACK}/abandon"]

    def place(route: routes.Route) -> tuple[int, int]:
        if route.path in ends and (route.method == "DELETE" or route.path.endswith("/forget")):
            return 2, ends.index(route.path)
        return int(route.method != "GET"), 0

    return sorted(routes.TABLE, key=place)


def alike(reply: str) -> str:
    for pattern, mark in OWN:
        reply = pattern.sub(mark, reply)
    return reply


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Start a service of its own, with an observer interval longer than the test."""
    with instance.isotherm(tmp_path / "home", {"DEFAULT": {"observer_interval": "86400"}}) as it:
        made = Service(it)
        with made.http:
            made.make()
            yield made


def flip(service: Service) -> None:
    """Turn the idle stacks of the service into stacks of the other architecture."""
    (database,) = service.home.glob("*.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        changed = connection.execute("UPDATE stacks SET convergence = 1 - convergence").rowcount
    assert changed == 1


@pytest.mark.ledger("S3.4")
def test_no_response_differs_between_the_paths(service: Service) -> None:
    looks = [route for route in in_order() if route.method == "GET"]
    before = [service.ask(route) for route in looks]
    flip(service)
    for route, reply in zip(looks, before, strict=True):
        assert alike(service.ask(route)) == alike(reply), route


@pytest.mark.ledger("S3.4")
def test_no_reply_has_a_word_of_it(service: Service) -> None:
    for route in in_order():
        reply = service.ask(route)
        assert not WORDS.search(reply), (route, reply)
