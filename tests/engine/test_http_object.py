"""Objects of a service that speaks HTTP: a real server, through the whole engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from isotherm import config, errors
from isotherm.clock import SystemClock
from isotherm.engine.orchestrator import Accepted
from isotherm.engine.process import local_access
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.steps import act
from isotherm.resources import contract, registry
from isotherm.resources.context import local_access as local_access_world
from isotherm.resources.http import filling
from isotherm.resources.http.client import Client
from isotherm.resources.http.object import Object
from isotherm.resources.reality import drift
from isotherm.resources.reality.journal import MemoryReality
from tests import databases
from tests.engine.conftest import PATIENCE_S, Lab, Tell
from tests.engine.markers import dump

ALLOWED = "[DEFAULT]\nallowed_fetch_networks = 127.0.0.0/8\n"
SECRET = "Bearer a-marker-nobody-else-uses"


class Service:
    """A small service with things in it. `says` answers for the next requests instead."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, str] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.says: list[tuple[int, dict[str, str], bytes]] = []
        self.secret = ""
        self.polls_until_ready = 0
        self.polls_until_gone = 0
        self.number = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = False  # so that closing waits for them
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = (service.says.pop(0) if service.says else
                                            service.answer(self.command, self.path, self.headers, body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - so the library wants it

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if self.secret and headers.get("Authorization") != self.secret:
            return 401, {}, f"no, {headers.get('Authorization')}".encode()
        if method == "POST":
            return self._make(headers.get("Idempotency-Key"), json.loads(body))
        if path.startswith("/things?key="):
            known = self.keys.get(path.partition("=")[2])
            return _json(200, [{"id": known}] if known in self.things else [])
        return self._one(method, path.rpartition("/")[2], body)

    def _make(self, key: str | None, thing: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        name = self.keys.get(key or "")
        if name is None:
            self.number += 1
            name = f"thing {self.number}"  # it has to be quoted in a URL
            self.things[name] = thing
            if key:
                self.keys[key] = name
        status, headers, content = _json(201, {"id": name, "thing": self.things[name]})
        return status, {**headers, "Location": f"/things/{name}"}, content

    def _one(self, method: str, quoted: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        name = quoted.replace("%20", " ")
        if method == "PUT" and name not in self.things and not name.startswith("thing"):
            self.things[name] = json.loads(body)
            return _json(201, {})
        if name not in self.things:
            return 404, {}, b""
        if method == "DELETE":
            if self.polls_until_gone:
                return 202, {}, b""
            del self.things[name]
            return 204, {}, b""
        if method in ("PUT", "PATCH"):
            self.things[name] = json.loads(body)
            return 204, {}, b""
        if self.polls_until_gone:
            self.polls_until_gone -= 1
            if not self.polls_until_gone:
                del self.things[name]
        status = "READY" if not self.polls_until_ready else "BUILDING"
        self.polls_until_ready = max(0, self.polls_until_ready - 1)
        return _json(200, {"id": name, "status": status, "thing": {**self.things[name], "made_by": "the service"}})

    def methods(self) -> list[str]:
        return [one[0] for one in self.asked]


def _json(status: int, data: Any) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json"}, json.dumps(data).encode()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def allowed(lab: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    (tmp_path / "isotherm.conf").write_text(ALLOWED)
    return lab


def thing(service: Service, object_: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    one = f"{service.url}/things/{{id}}"
    return {"type": "Isotherm::Http::Object", "properties": {
        "object": {"size": 1} if object_ is None else object_, "create": {"url": f"{service.url}/things"},
        "read": {"url": one}, "update": {}, "object_path": "thing", **more}}


def resource(service: Service, http: Any = None, token: str = "token-1", **more: Any) -> Object:
    given = registry.typed_properties(Object, thing(service, **more)["properties"])
    context = contract.Context(
        clock=SystemClock(), random=Random(1), reality=MemoryReality(),
        http=http or Client(config.Settings(allowed_fetch_networks=("127.0.0.0/8",))))
    return Object(contract.ResourceState(
        name="r", stack_name="s", stack_id="stack", token=token, properties=given), context)


def test_an_object_is_made_changed_and_deleted(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"t": thing(service)}, outputs={"o": {"value": {"get_attr": ["t", "object"]}}})
        assert stack["status"] == "COMPLETE", stack
        assert service.things == {"thing 1": {"size": 1}}
        assert await it.physical() == {"t": "thing 1"}
        await it.update({"t": thing(service, {"size": 2})})
        assert service.things == {"thing 1": {"size": 2}}
        await it.update({"t": thing(service, {"size": 2}, timeout_secs=9)})
        await it.delete()
        assert service.things == {}
        assert [one for one in service.methods() if one != "GET"] == ["POST", "PUT", "DELETE"]
        assert service.asked[-1][1] == "/things/thing%201"

    allowed(story)


def test_without_a_way_to_change_it_a_change_replaces_it(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        await it.create({"t": thing(service, update=None)})
        await it.update({"t": {**thing(service, {"size": 2}), "properties": {
            name: one for name, one in thing(service, {"size": 2})["properties"].items() if name != "update"}}})
        assert service.things == {"thing 2": {"size": 2}}
        assert "PUT" not in service.methods()

    allowed(story)


def test_bodies_and_ids_are_found_where_the_template_says(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        made = thing(service, {"size": 3, "tags": ["a"]}, id_path="header:Location", headers={"X-Trace": "7"},
                     create={"url": f"{service.url}/things", "body": {
                         "size": "{object.size}", "tags": "{object.tags}", "label": "size {object.size} of {name}"}})
        stack = await it.create({"t": made})
        assert stack["status"] == "COMPLETE", stack
        [(name, found)] = service.things.items()
        assert (await it.physical())["t"] == name
        assert found["size"] == 3
        assert found["tags"] == ["a"]
        assert found["label"].startswith("size 3 of s-t-")
        assert service.asked[0][2]["X-Trace"] == "7"

    allowed(story)


def test_an_object_under_a_name_of_our_own(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        made = thing(service, id_path="{token}", create={"url": f"{service.url}/things/{{token}}", "method": "PUT"})
        stack = await it.create({"t": made})
        assert stack["status"] == "COMPLETE", stack
        assert list(service.things) == list((await it.physical()).values())

    allowed(story)


def test_it_is_waited_for_until_it_is_ready_and_until_it_is_gone(
    allowed: Callable[..., None], service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Object, "traits", contract.Traits(poll=contract.Poll(first=0.02)))

    async def story(it: Lab) -> None:
        service.polls_until_ready = 3
        stack = await it.create({"t": thing(service, ready={"values": ["READY"], "failed": ["ERROR"]})})
        assert stack["status"] == "COMPLETE", stack
        assert service.methods() == ["POST", *["GET"] * 4]
        service.polls_until_gone = 3
        assert (await it.delete())["status"] == "COMPLETE"
        assert service.things == {}

    allowed(story)


def test_a_state_that_means_failure_is_one(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        service.polls_until_ready = 9
        stack = await it.create({"t": thing(service, ready={"values": ["READY"], "failed": ["BUILDING"]})})
        assert stack["status"] == "FAILED"
        assert "the service says that it is BUILDING" in stack["stack_status_reason"]

    allowed(story)


def test_the_secret_is_sent_and_never_told(allowed: Callable[..., None], service: Service, tmp_path: Path) -> None:
    service.secret = SECRET

    async def story(it: Lab) -> None:
        hidden = {"secret": {"type": "string", "hidden": True}}
        made = {"t": thing(service, auth={"get_param": "secret"})}
        stack = await it.create(made, parameters=hidden, environment={"parameters": {"secret": "Bearer wrong-but-secret"}})
        assert stack["status"] == "FAILED"
        assert "create: the service answered 401: no, ******" in stack["stack_status_reason"]
        stack = await it.update(made, parameters=hidden, environment={"parameters": {"secret": SECRET}})
        assert stack["status"] == "COMPLETE", stack
        told = [await it.api.events.list("s", last=1000), await it.api.resources.list("s"), await it.api.stacks.show("s")]
        assert "a-marker" not in repr(told)
        assert "wrong-but-secret" not in repr(told)

    allowed(story)
    assert "a-marker-nobody" not in dump(tmp_path)


@pytest.mark.parametrize("id_", ["", None, True, "a\0b", {}])
def test_what_can_be_no_id_is_none(service: Service, id_: Any) -> None:
    service.says = [_json(201, {"id": id_})]
    with pytest.raises(errors.Permanent, match="it was made, but the answer has no id at id"):
        asyncio.run(resource(service).handle_create())


@pytest.mark.parametrize(("status", "kind"), [(503, errors.Temporary), (429, errors.Temporary), (422, errors.Permanent),
                                              (500, errors.Permanent), (301, errors.Permanent)])
def test_what_an_unexpected_answer_means(service: Service, status: Any, kind: Any) -> None:
    service.says = [(status, {"Retry-After": "7", "Location": f"{service.url}/elsewhere"}, b"why")]
    with pytest.raises(kind, match=f"create: the service answered {status}: why") as caught:
        asyncio.run(resource(service).handle_create())
    if kind is errors.Temporary:
        assert caught.value.retry_after_s == 7.0
    assert len(service.asked) == 1  # no redirect was followed


@pytest.mark.parametrize("body", [b"", b"not json", b"{}", b'{"id": null}', b'{"id": {}}', b'{"id": true}'])
def test_an_answer_without_an_id_is_a_failure(service: Service, body: Any) -> None:
    service.says = [(201, {}, body)]
    with pytest.raises(errors.Permanent):
        asyncio.run(resource(service).handle_create())


def test_a_service_in_trouble_is_asked_again(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        service.says = [(status, {"Retry-After": "0"}, b"") for status in (429, 503, 504)]
        stack = await it.create({"t": thing(service, token_header="Idempotency-Key")})
        assert stack["status"] == "COMPLETE", stack
        assert service.methods().count("POST") == 4
        assert len({one[2]["Idempotency-Key"] for one in service.asked if one[0] == "POST"}) == 1

    allowed(story)


@pytest.mark.parametrize("status", [503, 504])
def test_a_lost_answer_of_a_service_that_cannot_be_searched_is_told(
    allowed: Callable[..., None], service: Service, status: Any
) -> None:
    async def story(it: Lab) -> None:
        service.says = [(429, {"Retry-After": "0"}, b""), (status, {"Retry-After": "0"}, b"")]
        stack = await it.create({"t": thing(service)})
        assert stack["status"] == "FAILED"
        told = f"Look for an object that {service.url}/things made for s-t-"
        assert told in stack["stack_status_reason"]
        assert service.methods().count("POST") == 2, "429 says that nothing was begun, and the other does not"

    allowed(story)


@pytest.mark.ledger("S1.1")
def test_the_reality_of_an_object(service: Service) -> None:
    async def story() -> None:
        one = resource(service, object_={"size": 1, "parts": {"a": 1}})
        await one.handle_create()

        async def drifted() -> list[str]:
            seen = await contract.observe(one)
            assert isinstance(seen, contract.Seen), seen
            return [found.property for found in drift.compare(Object, one.properties, seen)]

        assert await drifted() == []  # what the service has added is its own business
        service.things["thing 1"]["parts"]["b"] = 2
        assert await drifted() == []
        service.things["thing 1"]["parts"]["a"] = 2
        assert await drifted() == ["object"]
        service.things["thing 1"] = {"size": 1}
        assert await drifted() == ["object"]
        service.says = [(503, {}, b"")]
        assert isinstance(await contract.observe(one), contract.Unseen)
        service.says = [(500, {}, b"")]
        assert isinstance(await contract.observe(one), contract.Unseen)
        service.things.clear()
        assert await contract.observe(one) == contract.Gone()
        await one.handle_delete()  # what is gone is deleted

    asyncio.run(story())


def test_an_import_is_looked_at_and_left_alone(allowed: Callable[..., None], service: Service) -> None:
    async def story(it: Lab) -> None:
        service.things["of somebody"] = {"size": 9}
        stack = await it.create({"t": {**thing(service), "external_id": "of somebody"}})
        assert stack["status"] == "COMPLETE", stack
        await it.delete()
        assert service.things == {"of somebody": {"size": 9}}
        stack = await it.create({"t": {**thing(service), "external_id": "nothing"}})
        assert stack["status"] == "FAILED"
        assert "nothing does not exist" in stack["stack_status_reason"]

    allowed(story)


@pytest.mark.parametrize("more", [
    {"token_header": "Idempotency-Key"}, {"token_header": "X-Other", "find": {"url": "URL/things?key={token}"}},
    {"id_path": "{token}", "create": {"url": "URL/things/{token}", "method": "PUT"}},
], ids=["by the repeated request", "by asking", "by its name"])
def test_what_a_killed_engine_made_is_taken_up_and_not_made_twice(tmp_path: Path, service: Service, more: Any) -> None:
    (tmp_path / "isotherm.conf").write_text(ALLOWED)
    databases.tell(tmp_path)
    more = json.loads(json.dumps(more).replace("URL", service.url))
    request = Lab.request({"r": thing(service, **more)})
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], input=request.template, text=True, check=False,
                          timeout=PATIENCE_S)
    assert done.returncode == 9
    [made] = service.things
    if "find" in more:
        [(_, _, headers, _)] = service.asked
        service.keys[headers["X-Other"]] = made

    async def story() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine):
            async with engine.driving():
                it = Lab(engine)
                stack = await it.end(Accepted((await it.api.stacks.show("s"))["id"], "", 0))
                assert stack["status"] == "COMPLETE", stack
                assert await it.physical() == {"r": made}

    asyncio.run(story())
    assert list(service.things) == [made]
    assert service.methods().count("POST") == (0 if "create" in more else 1 if "find" in more else 2)


# An engine that is killed when the service has carried out the request, before the answer is recorded.
KILLED = """
import asyncio, os, sys
from pathlib import Path
from isotherm.engine.process import local_access
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.orchestrator import Request

class Deadly(local_access.LazyHttp):
    async def call(self, call):
        await super().call(call)
        if call.method in ("POST", "PUT"):
            os._exit(9)

async def main():
    local_access.http = Deadly
    engine = Embedded(Path(sys.argv[1]))
    await engine.orchestrator.stacks.create("s", Request(sys.stdin.read()))
    async with engine.driving():
        await asyncio.sleep(60)

asyncio.run(main())
"""


# Not everywhere.


def test_an_address_of_our_own_network_is_refused_unless_the_operator_allows_it(lab: Tell, service: Service) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"t": thing(service)})
        assert stack["status"] == "FAILED"
        assert "allowed_fetch_networks" in stack["stack_status_reason"]
        assert service.asked == []

    lab(story)


def test_where_it_is_not_allowed_nothing_is_called(service: Service) -> None:
    one = resource(service)
    one.context = contract.Context(clock=SystemClock(), random=Random(1), reality=MemoryReality())
    with pytest.raises(errors.Permanent, match="not allowed here"):
        asyncio.run(one.handle_create())
    assert service.asked == []


@pytest.mark.parametrize(("given", "told"), [
    ({"create": {"url": "ftp://x/"}}, "http://"),
    ({"create": {"url": "http://x/{id}"}}, "is not known before"),
    ({"find": {"url": "http://x/"}}, "finds anything"),
    ({"auth_header": "a b"}, "pattern"),
    ({"timeout_secs": 0}, "range"),
])
def test_what_cannot_work_is_told_before_anything_is_made(
    allowed: Callable[..., None], service: Service, given: Any, told: Any
) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match=told):
            await it.api.stacks.create("s", it.request({"t": thing(service, **given)}))

    allowed(story)


@pytest.mark.parametrize("name", ["Transfer-Encoding", "upgrade", "Connection", "HOST", "Content-Length", "TE", "Trailer",
                                  "Keep-Alive", "Proxy-Authorization", "Expect"])
@pytest.mark.parametrize("place", ["headers", "auth_header", "token_header"])
def test_headers_of_http_itself_are_refused_where_they_stand(
    allowed: Callable[..., None], service: Service, name: Any, place: Any
) -> None:
    async def story(it: Lab) -> None:
        given = {place: {"X-Fine": "1", name: "x"} if place == "headers" else name}
        with pytest.raises(errors.UserError) as raised:
            await it.api.stacks.create("s", it.request({"t": thing(service, **given)}))
        assert [one.path for one in raised.value.problems] == [f"resources.t.properties.{place}"]
        assert name in raised.value.problems[0].message

    allowed(story)
    assert service.asked == []


# The client.


@pytest.mark.parametrize("name", ["Transfer-Encoding", "host", "Proxy-Connection"])
def test_headers_of_http_itself_are_not_sent_wherever_they_come_from(service: Service, name: Any) -> None:
    with pytest.raises(errors.Permanent):
        call(service, config.Settings(allowed_fetch_networks=("127.0.0.0/8",)), headers={name: "x"})
    assert service.asked == []


def call(service: Service, settings: config.Settings, **more: Any) -> local_access_world.Reply:
    return asyncio.run(Client(settings).call(local_access_world.Call("GET", f"{service.url}/x", **more)))


def test_an_answer_beyond_the_limit_is_refused(service: Service) -> None:
    settings = config.Settings(allowed_fetch_networks=("127.0.0.0/8",), max_json_body_size=10)
    service.says = [(200, {}, b"x" * 10), (200, {}, b"x" * 11)]
    assert call(service, settings).body == b"x" * 10
    with pytest.raises(errors.Permanent, match="more than 10 bytes"):
        call(service, settings)


def test_a_service_that_is_not_there_may_come_back(service: Service) -> None:
    settings = config.Settings(allowed_fetch_networks=("127.0.0.0/8",))
    client = Client(settings)
    with pytest.raises(errors.Temporary):
        asyncio.run(client.call(local_access_world.Call("GET", "http://127.0.0.1:1/")))


def test_a_service_that_takes_too_long_is_not_waited_for() -> None:
    client = Client(config.Settings(allowed_fetch_networks=("127.0.0.0/8",)))
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(errors.Temporary, match=r"longer than 0\.2 s"):
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        asyncio.run(client.call(local_access_world.Call("GET", url, timeout_s=0.2)))


def test_each_call_of_a_step_is_under_its_lease(
    allowed: Callable[..., None], service: Service, monkeypatch: pytest.MonkeyPatch
) -> Any:
    checks = []
    original = local_access.LazyHttp.call

    async def call(self: local_access.LazyHttp, one: local_access_world.Call) -> local_access_world.Reply:
        checks.append(one.check)
        return await original(self, one)

    monkeypatch.setattr(local_access.LazyHttp, "call", call)

    async def story(it: Lab) -> None:
        assert (await it.create({"t": thing(service)}))["status"] == "COMPLETE"
        assert checks and all(isinstance(getattr(one, "__self__", None), act.LeaseGuard) for one in checks)

    allowed(story)


def test_a_worker_that_has_lost_the_lease_sends_nothing(service: Service) -> None:
    """A machine may stand still between the decision and the call; when it resumes, another worker has the lease (I5)."""
    clock = SystemClock()
    held: list[Any] = []

    class Slow(Client):
        async def call(self, one: local_access_world.Call) -> local_access_world.Reply:
            held[0].until = 0.0
            return await super().call(one)

    held.append(act.LeaseGuard(clock, clock.now() + 30))
    http = local_access_world.LeasedHttp(Slow(config.Settings(allowed_fetch_networks=("127.0.0.0/8",))), held[0].check)
    with pytest.raises(errors.Superseded):
        asyncio.run(resource(service, http=http).handle_create())
    assert service.asked == []


@pytest.mark.parametrize("headers", [{"X": "a\r\nY: b"}, {"X\r\nY": "b"}, {"a b": "c"}, {"X": "\0"}, {"": "a"}])
def test_a_header_cannot_smuggle_another(service: Service, headers: Any) -> None:
    settings = config.Settings(allowed_fetch_networks=("127.0.0.0/8",))
    with pytest.raises(errors.Permanent):
        call(service, settings, headers=headers)
    assert service.asked == []


# Filling in.

VALUES: dict[str, Any] = {
    "id": "a/b?c", "token": "t", "name": "n", "object": {"x": {"y": [1, True]}, "s": "text", "none": None}}


@pytest.mark.parametrize(("text", "filled"), [
    ("http://h/{id}", "http://h/a%2Fb%3Fc"), ("http://h/{object.x.y.0}", "http://h/1"), ("http://h/{other}", "http://h/{other}"),
    ("http://h/{object.s}/{token}", "http://h/text/t"), ("http://h/{object.x.y.1}", "http://h/true"),
])
def test_places_in_a_url_are_quoted(text: Any, filled: Any) -> None:
    assert filling.url(text, VALUES) == filled


def test_places_in_a_body_keep_their_type() -> None:
    template = {"a": "{object.x}", "b": ["{object.x.y.0}", "n={object.x.y.0}"], "c": 1, "d": "{{id}", "e": "{object}"}
    filled = filling.body(template, VALUES)
    assert filled == {"a": VALUES["object"]["x"], "b": [1, "n=1"], "c": 1, "d": "{a/b?c", "e": VALUES["object"]}


@pytest.mark.parametrize("text", ["{object.no}", "{object.none}", "{object.x.y.7}", "x {object.x}"])
def test_what_cannot_be_filled_in_is_told(text: Any) -> None:
    with pytest.raises(errors.Permanent):
        filling.body(text, VALUES)
