"""Cases 39, 49, 55, 56 and 58 of the abuse cases, through HTTP: what is hidden, signals by the thousand, callbacks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from isotherm.api import routes
from isotherm.api.handlers import signed_signals, stream
from isotherm.api.openapi import document
from isotherm.api.overview import live
from isotherm.planning import desired
from isotherm.secrets import finder, redactor
from isotherm.template.text import document as texts
from tests.api import things
from tests.api.conftest import ROOT, TOKEN, Api, fault, resource, template
from tests.api.test_signed import SUCCESS, anybody, attributes, signals, waiting

MARKER = "Zx9-marker-7Q"
TRACES = (MARKER, "Zx9-m", "arker-7Q", "Wng5LW1hcmtlci03U")
# Another stack is made from an export document: a caller that may read it gets all of it, as in Heat.
TOLD = frozenset({"stacks:export", "stacks:abandon"})


@pytest.fixture(autouse=True)
def short_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make event streams end after the existing events."""
    async def few(events: Any, _now: int) -> Any:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                async for found in events:
                    yield b"".join(stream.message("event", one.event, one.id) for one in found)
        await events.aclose()
    async def once(events: Any, _stack_id: str) -> Any:
        yield {"r"}, 0
        await events.aclose()
    monkeypatch.setattr(stream, "_lines", few)
    monkeypatch.setattr(live, "_looks", once)


def body(**more: Any) -> dict[str, Any]:
    """Return a template that uses a hidden parameter everywhere it can."""
    secret = {"get_param": "pw"}
    inside = template({"i": resource(secret)}, parameters={"pw": {"type": "string"}})
    return {
        "template": template(
            {"r": resource(secret), "inside": {"type": "inside.yaml", "properties": {"pw": secret}},
             "group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": resource(secret)}},
             "bad": resource(secret, fail=False)},
            parameters={"pw": {"type": "string", "hidden": True, "constraints": [{"length": {"max": 40}}]}},
            outputs={"o": {"value": secret}, "of": {"value": {"get_attr": ["r", "output"]}},
                     "built": {"value": {"str_replace": {"template": "x-P", "params": {"P": secret}}}}}),
        "files": {"inside.yaml": json.dumps(inside)}, "parameters": {"pw": MARKER}, **more}


def replies(api: Api, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Read every route as an administrator; return all responses."""
    for route in routes.TABLE:
        if route.method != "GET" or route.rule in TOLD:
            continue
        query = {"with_detail": "true"} if route.path.endswith("/resources") else {}
        if route.path.endswith(("/resources", "/events")):
            query["nested_depth"] = "5"
        if route.path.endswith("/stream"):
            query["after"] = "0"
        path = things.place(route, known)
        answer = api.ask("GET", path, **({"params": query} if query else {}))
        assert answer.status_code in (200, 302), (path, answer.text)
        yield things.label(route), answer.text + str(answer.headers)
    for path in ("/metrics", "/health/ready", document.PATH, "/"):
        yield path, api.ask("GET", ROOT + path).text
    yield "stack", api.get("/stacks", show_nested="true").text


def errors(api: Api, path: str) -> Iterator[tuple[str, str]]:
    """Return the refusals of requests that contain the secret."""
    whole = body()
    changes: dict[str, Any] = {
        "too long": {"parameters": {"pw": MARKER * 10}}, "no such parameter": {"parameters": {"pw": MARKER, "x": MARKER}},
        "no text": {"parameters": {"pw": [MARKER, {"a": MARKER}]}},
        "a number": {"template": template({"g": {"type": "OS::Heat::ResourceGroup", "properties": {
            "count": {"get_param": "pw"}, "resource_def": resource()}}}, parameters=whole["template"]["parameters"])},
        "a choice": {"template": template({}, parameters={"pw": {"type": "string", "hidden": True, "constraints": [
            {"allowed_values": ["a"]}]}})},
        "a pattern": {"template": template({}, parameters={"pw": {"type": "string", "hidden": True, "constraints": [
            {"allowed_pattern": "[a-z]*"}]}})},
        "a whole": {"template": template({}, parameters={"pw": {"type": "number", "hidden": True}})},
        "a map": {"template": template({}, parameters={"pw": {"type": "json", "hidden": True}})},
    }
    for name, change in changes.items():
        for method, place in (("POST", "/stacks"), ("POST", "/stacks/preview"), ("PUT", path), ("PATCH", path),
                              ("PUT", f"{path}/preview")):
            answer = api.ask(method, place, {"stack_name": "x", **whole, **change})
            assert answer.status_code in (200, 201, 202, 400), answer.text
            yield f"{name}: {method} {place}", answer.text
            if answer.status_code == 202:
                yield name, json.dumps(api.end(path))


def test_case_39_a_hidden_value_is_in_no_reply_and_no_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """Case 49 too: lines at DEBUG, metrics, the document."""
    caplog.set_level(logging.DEBUG)
    known = things.made(api, **body())
    path = f"/stacks/s/{known['stack_id']}"
    found = list(replies(api, known))
    found += [("preview", api.post("/stacks/preview", {"stack_name": "p", **body()}).text),
              ("preview of an update", api.put(f"{path}/preview", body(parameters={"pw": "other"})).text),
              ("validate", api.post("/validate", body()).text)]
    found += errors(api, path)
    failing = body()
    failing["template"]["resources"]["bad"] = resource({"get_param": "pw"}, fail=True)
    assert api.put(path, failing).status_code == 202
    assert api.end(path)["stack_status"] == "UPDATE_FAILED"
    found += replies(api, known)
    assert len(found) > 100 and sum("******" in text for _, text in found) > 10
    assert [(what, text) for what, text in found if any(trace in text for trace in TRACES)] == []
    lines = "\n".join(f"{one.getMessage()} {one.__dict__} {one.exc_text}" for one in caplog.records)
    assert lines and not [trace for trace in TRACES if trace in lines]


def is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def test_a_big_hidden_value_delays_no_other_request(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing and searching hidden values both run on threads, in every request."""
    beside: list[int] = []
    blocking: list[tuple[int, list[str]]] = []

    def note(size: int) -> None:
        if size > 65_536:
            if is_on_a_loop():
                blocking.append((size, traceback.format_stack(limit=8)))
            beside.append(size)

    prepare, look = redactor._forms, finder.Finder.spans

    def noted_forms(text: str) -> Any:
        note(len(text))
        return prepare(text)

    def noted_spans(self: finder.Finder, text: str) -> Any:
        note(len(text))
        return look(self, text)

    monkeypatch.setattr(redactor, "_forms", noted_forms)
    monkeypatch.setattr(finder.Finder, "spans", noted_spans)
    whole = body(parameters={"pw": MARKER * 20_000})
    del whole["template"]["parameters"]["pw"]["constraints"]
    unknown = {**whole, "parameters": {**whole["parameters"], "unknown": 1}}
    known = things.made(api, **whole)
    path = f"/stacks/s/{known['stack_id']}"
    found = list(replies(api, known))
    found += [("preview", api.post("/stacks/preview", {"stack_name": "p", **whole}).text),
              ("preview of an update", api.put(f"{path}/preview", {**whole, "parameters": {"pw": MARKER * 20_001}}).text),
              ("validate", api.post("/validate", whole).text),
              ("refused", api.post("/stacks", {"stack_name": "p", **unknown}).text),
              ("events", api.get(f"{path}/events").text)]
    assert [(what, text[:100]) for what, text in found if any(trace in text for trace in TRACES)] == []
    assert beside
    assert blocking == []


def asked(api: Api, path: str, whole: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Send a template to every route that takes one; yield the route, the status and the response."""
    named = {"stack_name": "p", **whole}
    for method, place, request in (
            ("POST", "/problems", whole), ("POST", "/validate", whole), ("POST", "/stacks/preview", named),
            ("POST", "/stacks", named), ("PUT", f"{path}/preview", whole), ("PATCH", path, whole), ("PUT", path, whole)):
        answer = api.ask(method, place, request)
        yield f"{method} {place}", answer.status_code, answer.text


def test_a_big_template_keeps_nobody_waiting(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is parsed in threads, whatever is asked, and whatever is wrong with it."""
    blocking: list[str] = []
    load = texts.load

    def noted(text: Any, **options: Any) -> Any:
        if len(text) > 65_536 and is_on_a_loop():
            blocking.append("".join(traceback.format_stack(limit=8)))
        return load(text, **options)

    monkeypatch.setattr(texts, "load", noted)
    path = api.create("s")
    for number, more in enumerate(({}, {"no_such_property": 1})):
        # Another text each time: what was parsed before is remembered.
        whole = body()
        whole["template"]["description"] = f"{number} " * 40_000
        whole["template"]["resources"]["r"]["properties"] |= more
        statuses = {status for _, status, _ in asked(api, path, whole)}
        assert statuses <= ({200, 400, 409} if more else {200, 201, 202, 409})
        desired.parsed.cache_clear()
        assert api.get(f"{path}/template").status_code == 200
    assert blocking == []


def test_write_only_values_that_are_too_big_are_refused_before_anything_is_made_of_them(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template may hold a value that is secret by its property: it is bounded like hidden parameters."""
    made: list[int] = []
    prepare = redactor._forms

    def noted(text: str) -> Any:
        made.append(len(text))
        return prepare(text)

    monkeypatch.setattr(redactor, "_forms", noted)
    path = api.create("s")
    secret = MARKER * 120_000
    here = {"type": "Isotherm::Http::Object", "properties": {"auth": secret, "no_such_property": 1}}
    for what, status, text in asked(api, path, {"template": template({"r": here})}):
        assert (status, "RequestLimitExceeded" in text) == (400, True), (what, text[:200])
        assert MARKER not in text
    assert max(made, default=0) < 65_536


def test_hidden_values_that_are_too_big_are_refused_before_anything_is_made_of_them(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactor, "_forms", lambda text: pytest.fail("made"))
    hidden = template({}, parameters={"pw": {"type": "string", "hidden": True}})
    whole: dict[str, Any] = {"stack_name": "p", "template": hidden,
                             "parameters": {"pw": "x" * 3 * 1024 * 1024}}
    for path in ("/stacks", "/stacks/preview", "/validate"):
        assert fault(api.post(path, whole))[:2] == (400, "RequestLimitExceeded"), path
        # Nor of what is wrong in another way.
        assert fault(api.post(path, {**whole, "parameters": {**whole["parameters"], "unknown": 1}}))[0] == 400


def test_case_39_export_documents_need_their_rule(api: Api) -> None:
    """Export is the one route that reveals hidden values, because adoption needs them. It has a rule of its own."""
    path = api.create("s", **body())
    assert MARKER in api.get(f"{path}/export").text
    api.rules.forbidden.add("stacks:export")
    assert fault(api.get(f"{path}/export"))[:2] == (403, "Forbidden")


def test_case_55_a_signature_is_good_for_nothing_else(api: Api) -> None:
    path = api.create("s", waiting(), wait=False)
    found = attributes(api, path)
    known = {**dict.fromkeys(("resource_name", "snapshot_id", "output_key", "config_id", "event_id", "server_id",
                              "deployment_id", "type_name", "version", "operation_id"), "none"),
             "project": "default", "stack_name": "s", "stack_id": path.rpartition("/")[2]}
    api.token = found["token"]
    try:
        assert {api.ask(route.method, things.place(route, known)).status_code for route in routes.TABLE} == {401}
        query = found["endpoint"].partition("?")[2]
        api.token = None
        assert {api.ask(route.method, f"{things.place(route, known)}?{query}").status_code
                for route in routes.TABLE} == {401}
    finally:
        api.token = TOKEN


def test_case_56_signals_without_number(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most are refused before anything is read or written; other requests are not delayed."""
    monkeypatch.setattr(signed_signals, "RATE", signed_signals.SignalRate())
    monkeypatch.setattr(signed_signals, "BURST", 50)
    monkeypatch.setattr(signed_signals, "EACH_SECOND", 0)
    path = api.create("s", waiting(1000), wait=False)
    url = attributes(api, path)["endpoint"]
    assert api.post(f"{path}/resources/handle/signal", {"data": "x" * 10_000_000}).status_code in (400, 413)
    with things.waiting_meanwhile(api, "/stacks") as slowest:
        statuses = [api.ask("POST", url, SUCCESS).status_code for _ in range(2000)]
    # The one with a token was refused for its size, and counts.
    assert statuses == [200] * 49 + [429] * 1951
    assert len(signals(api, path)) == 49
    assert 0 < slowest[0] < 5
    other_path = api.create("t", waiting(), wait=False)
    assert anybody(api, "POST", attributes(api, other_path)["endpoint"], SUCCESS).status_code == 200
    assert api.end(other_path)["stack_status"] == "CREATE_COMPLETE"


def test_case_58_no_callback_is_sent(api: Api) -> None:
    """Sinks of events are stored, as Heat does, and never called; no other field of a request is an address to call."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.5)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    try:
        sinks = [{"type": "zaqar-queue", "target": url}, {"type": "webhook", "url": url, "target": url}]
        answer = api.post("/stacks", {"stack_name": "s", "template": template({"r": resource()}),
                                      "environment": {"event_sinks": sinks}, "notification_topics": [url], "callback": url})
        assert answer.status_code in (201, 400)
        if answer.status_code == 201:
            assert api.end(f"/stacks/s/{answer.json()['stack']['id']}")["stack_status"] == "CREATE_COMPLETE"
        with pytest.raises(TimeoutError):
            listener.accept()
    finally:
        listener.close()
