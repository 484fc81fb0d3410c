"""Monitoring: health checks, metrics, log lines, spans."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from isotherm import errors, logs
from isotherm.api import routes
from isotherm.api.monitoring import health, requests
from isotherm.api.monitoring.metrics import OPERATIONS, RequestMetrics
from isotherm.config import Settings
from tests import patience
from tests.api.conftest import ROOT, Api, fault, resource

ID = re.compile("req-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@contextlib.contextmanager
def listening(**options: Any) -> Iterator[Any]:
    """Collect the log lines written inside the block."""
    written = io.StringIO()
    with logs.configured(Settings(**options)):
        log = logging.getLogger("isotherm")
        handler = logging.StreamHandler(written)
        handler.setFormatter(log.handlers[0].formatter)
        log.handlers[:] = [handler]
        yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]


def lines(text: Any, name: Any) -> Any:
    return [line for line in text.splitlines() if line.startswith(name)]


def value(text: Any, sample: Any) -> Any:
    found = lines(text, sample + " ")
    assert len(found) == 1, text
    return float(found[0].rpartition(" ")[2])


def metrics(api: Any) -> Any:
    answer = api.get(f"{ROOT}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return answer.text


# Health.


def test_it_is_alive(api: Api) -> None:
    api.token = None
    answer = api.get(f"{ROOT}/healthcheck")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/plain")


def test_it_is_ready(api: Api) -> None:
    api.token = None
    assert api.get(f"{ROOT}/health/ready").json() == {"ready": True, "database": "answers", "workers": 1}


def test_it_is_not_ready_when_the_database_does_not_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(_unit: Any) -> None:
        raise errors.Unavailable("the database does not answer: MARKER")

    monkeypatch.setattr(api.engine.store, "read", gone)
    answer = api.get(f"{ROOT}/health/ready")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert "MARKER" not in answer.text
    assert api.get(f"{ROOT}/healthcheck").status_code == 200
    assert "isotherm_requests_total" in metrics(api), "what the process itself knows is told"


def test_it_is_not_ready_when_the_database_takes_for_ever(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = True

    async def slow(_unit: Any) -> None:
        # The engine reads too: it must not be left waiting when the test is over.
        while silent:
            await asyncio.sleep(0.01)
        raise errors.Unavailable("the database did not answer")

    monkeypatch.setattr(api.engine.store, "read", slow)
    monkeypatch.setattr(health, "PATIENCE_S", 0.1)
    assert api.get(f"{ROOT}/health/ready").status_code == 503
    silent = False


# Numbers.


def test_numbers_by_route_and_never_by_name(api: Api) -> None:
    while value(metrics(api), "isotherm_bus_up") != 1:
        time.sleep(0.02)
    path = api.create("MARKER-name", {"MARKER-resource": resource("MARKER-value")})
    api.get(path, secret="MARKER-query")
    api.get("/stacks/MARKER-name/none")
    api.ask("BREW", "/stacks")
    api.get(f"{ROOT}/nowhere/MARKER-path")
    text = metrics(api)
    shown = 'isotherm_requests_total{method="GET",route="/stacks/{stack_name}/{stack_id}",status="%s"}'
    assert value(text, shown % 200) >= 1
    assert value(text, shown % 404) == 1
    assert value(text, 'isotherm_requests_total{method="other",route="/stacks",status="405"}') == 1
    assert value(text, 'isotherm_request_seconds_count{method="POST",route="/stacks"}') == 1
    assert value(text, 'isotherm_operations_total{rule="stacks:create"}') == 1
    assert value(text, 'isotherm_stacks{action="CREATE",status="COMPLETE"}') == 1
    assert value(text, "isotherm_workers") == 1
    assert value(text, "isotherm_bus_up") == 1
    assert value(text, 'isotherm_bus_messages{what="dropped"}') == 0
    assert value(text, 'isotherm_stacks_by_path{path="convergence"}') == sum(
        float(line.split()[-1]) for line in text.splitlines() if line.startswith("isotherm_stacks{"))
    assert value(text, 'isotherm_stacks_by_path{path="legacy"}') == value(text, "isotherm_stack_locks") == 0
    assert value(text, "isotherm_requests_in_progress") == 1, "this one"
    assert "MARKER" not in text
    assert api.project not in text


def test_what_was_refused_is_no_operation(api: Api) -> None:
    assert api.post("/stacks", {"stack_name": "s", "template": {}}).status_code == 400
    counted = lines(metrics(api), "isotherm_operations_total{")
    assert len(counted) == len(OPERATIONS), "each begins at 0"
    assert {line.rpartition(" ")[2] for line in counted} == {"0.0"}


def test_nodes_under_way(api: Api) -> None:
    wait = {"type": "OS::Heat::Delay", "properties": {"min_wait": 600}}
    path = api.create("s", {"a": wait, "b": wait, "c": resource(), "d": {**resource(), "depends_on": "a"}}, wait=False)
    patience.until(lambda: value(metrics(api), 'isotherm_nodes{state="WAITING"}') == 2)
    patience.until(lambda: value(metrics(api), 'isotherm_nodes{state="SCHEDULED"}') == 0)
    text = metrics(api)
    assert value(text, 'isotherm_nodes{state="WAITING"}') == 2
    assert value(text, 'isotherm_nodes{state="SCHEDULED"}') == 0
    assert value(text, "isotherm_queue_depth") == 0
    assert value(text, 'isotherm_stacks{action="CREATE",status="IN_PROGRESS"}') == 1
    api.delete(path)


def test_numbers_can_be_switched_off(with_options: Callable[..., Api]) -> None:
    api = with_options(metrics=False)
    assert api.get(f"{ROOT}/metrics").status_code == 404


def test_the_rules_of_operations_are_rules_of_routes() -> None:
    assert {route.rule for route in routes.TABLE} >= OPERATIONS


# Lines.


def test_each_answer_has_an_id_and_a_line_with_it(api: Api) -> None:
    with listening() as said:
        answer = api.get("/stacks", marker="MARKER")
        outer = "req-" + "a" * 8 + "-0000-4000-8000-" + "b" * 12
        api.ask("GET", "/stacks/none", headers={"X-Openstack-Request-Id": outer})
        one, two = (line for line in said() if line["message"] == "request")
    assert ID.fullmatch(answer.headers["x-openstack-request-id"])
    assert one["request_id"] == answer.headers["x-openstack-request-id"] != two["request_id"]
    assert {name: one[name] for name in ("level", "logger", "message", "method", "path", "status", "project", "user")} == {
        "level": "INFO", "logger": "isotherm.api.monitoring.requests", "message": "request", "method": "GET",
        "path": "/v1/default/stacks", "status": 200, "project": "default", "user": "isotherm"}
    assert one["seconds"] > 0
    assert "global_request_id" not in one
    assert two["global_request_id"] == outer
    assert "MARKER" not in json.dumps(one), "a query may hold a signature"


def test_a_defect_is_logged_with_the_id_that_the_user_was_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "MARKER-defect"

    async def broken(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError(secret) from ValueError(secret)

    monkeypatch.setattr(api.engine.store, "read", broken)
    with listening() as said:
        answer = api.get("/stacks")
        told = said()
    assert answer.status_code == 500
    assert "MARKER" not in answer.text
    # The engine beside it cannot read either, and says so without one.
    (defect,) = [line for line in told if line["level"] == "ERROR" and "request_id" in line]
    assert defect["request_id"] == answer.headers["x-openstack-request-id"]
    assert "RuntimeError" in defect["exception"] and __file__ in defect["exception"], "it says where"
    assert "MARKER" not in defect["exception"], "it may quote a secret value of the request (I17)"


def test_a_token_is_in_no_line(api: Api) -> None:
    api.token = "MARKER-token"
    with listening(debug=True) as said:
        assert api.get("/stacks").status_code == 401
        told = said()
    assert [line["status"] for line in told if line["message"] == "request"] == [401]
    assert "MARKER" not in json.dumps(told)


def test_lines_for_people_are_single_lines() -> None:
    said = {"name": "isotherm.x", "levelname": "INFO", "msg": "two\nlines \x1b[31m", "path": "a\nb"}
    record = logging.makeLogRecord(said)
    line = logs.Text().format(record)
    assert "\n" not in line
    assert "\x1b" not in line
    assert "path='a\\nb'" in line


def test_a_log_file(tmp_path: Path) -> None:
    file = tmp_path / "service.log"
    with logs.configured(Settings(log_file=str(file))):
        logging.getLogger("isotherm.x").info("said", extra={"stack": "ü"})
        logging.getLogger("isotherm.x").debug("not said")
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["message"], one["stack"], one["level"]) for one in told] == [("said", "ü", "INFO")]
    assert logging.getLogger("isotherm").handlers == []


# Spans.


class Span(trace.NonRecordingSpan):
    def __init__(self, name: Any, options: Any) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.options, self.status = name, options, None
        self.attributes: dict[str, Any] = {}

    def is_recording(self) -> Any:
        return True

    def update_name(self, name: Any) -> None:
        self.name = name

    def set_attributes(self, attributes: Any) -> None:
        self.attributes.update(attributes)

    def set_status(self, status: Any, description: Any = None) -> None:
        self.status = status


class Tracer(trace.NoOpTracer):
    def __init__(self) -> None:
        self.spans: list[Span] = []

    @contextlib.contextmanager
    def start_as_current_span(  # type: ignore[override]
        self, name: Any, *_: Any, **options: Any
    ) -> Iterator[Any]:
        self.spans.append(Span(name, options))
        yield self.spans[-1]


@pytest.mark.parametrize(("status", "marked"), [(200, None), (404, None), (503, trace.StatusCode.ERROR)])
def test_a_span_for_each_request(status: Any, marked: Any) -> Any:
    async def inner(scope: Any, _receive: Any, send: Any) -> None:
        scope["state"]["route"] = "/stacks"
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    tracer = Tracer()
    parent = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"

    async def story() -> Any:
        transport = httpx2.ASGITransport(requests.RequestMonitor(inner, RequestMetrics(CollectorRegistry()), tracer))
        async with httpx2.AsyncClient(transport=transport) as client:
            return await client.get(f"{ROOT}/v1/p/stacks?signature=MARKER", headers={"traceparent": parent})

    answer = asyncio.run(story())
    (span,) = tracer.spans
    assert span.name == "GET /stacks"
    assert span.attributes == {"http.request.method": "GET", "http.route": "/stacks", "http.response.status_code": status}
    assert span.options["attributes"] == {"isotherm.request_id": answer.headers["x-openstack-request-id"]}
    assert format(trace.get_current_span(span.options["context"]).get_span_context().trace_id, "032x") == "1" * 32
    assert span.status is marked


def test_without_opentelemetry_set_up_nothing_is_different(api: Api) -> None:
    assert fault(api.get("/stacks/none"))[0] == 404
