"""The stream of events, over a real server: its content, its start, and readers of different speed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
import uvicorn

from isotherm.api import app
from isotherm.api.auth.keystone import Keystone
from isotherm.api.handlers import stream
from isotherm.api.policy.enforcer import Enforcer
from isotherm.api.request.service import ApiPorts
from isotherm.config import files
from isotherm.engine.queries.feed import Feed
from isotherm.identity.caller import Caller
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Event
from tests import databases
from tests.api.conftest import PATIENCE_S, TOKEN, Api, fault, resource, template
from tools import instance

PROJECT = "/v1/default/events/stream"


class Reader:
    """One that reads a stream, message by message."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def message(self) -> dict[str, Any]:
        """Return the next message; a comment is a message without fields."""
        fields: dict[str, Any] = {}
        for line in self._lines:
            if not line:
                break
            name, _, value = line.partition(": ")
            fields[name] = json.loads(value) if name == "data" else value
        else:
            raise EOFError
        return fields

    def events(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            if (one := self.message()).get("event") == "event":
                assert int(one["id"]) == one["data"]["id"]
                found.append(one["data"])
        return found

    def until(self, name: str, status: str) -> list[dict[str, Any]]:
        """Return the events up to and including one."""
        found: list[dict[str, Any]] = []
        while not found or (found[-1]["resource_name"], found[-1]["resource_status"]) != (name, status):
            found += self.events(1)
        return found


class Server:
    """The API of a test on a port of its own."""

    def __init__(self, api: Api, feed: Feed, authenticator: Any = None, policy: Any = None) -> None:
        self.api, self.feed = api, feed
        service = ApiPorts(api.engine.orchestrator_for, api.engine.types, api.engine.settings, feed=feed)
        made = app.build(service, authenticator or api.doorkeeper, policy or api.rules)
        config = uvicorn.Config(made, "127.0.0.1", 0, log_config=None, lifespan="off", ws="none")
        self.server = uvicorn.Server(config)
        self.socket = config.bind_socket()
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve(sockets=[self.socket])))
        self.thread.start()
        until = time.monotonic() + PATIENCE_S
        while not self.server.started:
            assert time.monotonic() < until
            time.sleep(0.005)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()

    @contextlib.contextmanager
    def reader(self, path: str = PROJECT, **headers: str) -> Iterator[Reader]:
        url = f"http://127.0.0.1:{self.port}{path}"
        sent = {"X-Auth-Token": TOKEN, **{name.replace("_", "-"): value for name, value in headers.items()}}
        with httpx2.stream("GET", url, headers=sent, timeout=PATIENCE_S) as response:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            it = Reader(response)
            assert it.message()["event"] == "ready"
            yield it


@pytest.fixture
def serve(api: Api) -> Iterator[Any]:
    servers: list[Server] = []

    def start(authenticator: Any = None, policy: Any = None, **options: Any) -> Server:
        servers.append(Server(api, Feed(api.engine.store, tick_s=0.02, **options), authenticator, policy))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def write(api: Api, stack_id: str, count: int, reason: str = "") -> None:
    """Events, made by hand."""
    told = [Event(stack_id, "op", f"r{number}", "T", None, Action.CREATE, Status.COMPLETE, reason)
            for number in range(count)]
    api.run(api.engine.store.write(lambda connection: rows.insert_events(connection, told, 0.0)))


def test_each_transition_as_it_happens(api: Api, serve: Any) -> None:
    server = serve()
    with server.reader() as it:
        path = api.create("s", {"a": resource()})
        found = it.until("s", "CREATE_COMPLETE")
        assert [(one["resource_name"], one["resource_status"]) for one in found] == [
            ("s", "CREATE_IN_PROGRESS"), ("a", "CREATE_IN_PROGRESS"), ("a", "CREATE_COMPLETE"), ("s", "CREATE_COMPLETE")]
        assert found[0]["stack_id"] == found[0]["root_stack_id"] == path.rsplit("/", 1)[1]
        assert [one["id"] for one in found] == sorted(one["id"] for one in found)
        # Numbers are those of the API's own lists.
        assert {str(one["id"]) for one in found} == {one["id"] for one in api.get(path + "/events").json()["events"]}


def test_a_stream_of_a_stack_tells_of_all_inside_it_and_of_nothing_else(api: Api, serve: Any) -> None:
    inside = json.dumps(template({"leaf": resource()}))
    path = api.create("tree", {"child": {"type": "inside.yaml"}}, files={"inside.yaml": inside})
    api.create("another", {"b": resource()})
    server = serve()
    with server.reader(f"/v1/default{path}/events/stream", Last_Event_ID="0") as it:
        found = it.until("tree", "CREATE_COMPLETE")
        assert "leaf" in {one["resource_name"] for one in found}
        assert {one["root_stack_id"] for one in found} == {path.rsplit("/", 1)[1]}
        api.create("third", {"b": resource()})
        api.delete(path)
        more = it.until("tree", "DELETE_COMPLETE")
        assert {one["resource_name"] for one in more} >= {"tree", "child", "leaf"}
        assert not {"another", "third", "b"} & {one["resource_name"] for one in found + more}
    child = next(one["stack_name"] for one in found if one["resource_name"] == "leaf")
    ids = {one["stack_name"]: one["stack_id"] for one in found}
    with server.reader(f"/v1/default/stacks/{child}/{ids[child]}/events/stream?after=0") as it:
        assert {one["stack_name"] for one in it.until(child, "DELETE_COMPLETE")} == {child}


def after(api: Any, number: Any) -> Any:
    """Return the number of the next event; some databases skip numbers."""
    with databases.looking(api.engine.path) as connection:
        return connection.execute(sa.select(sa.func.min(t.events.c.id)).where(t.events.c.id > number)).scalar()


def test_coming_again_misses_nothing_and_repeats_nothing(api: Api, serve: Any) -> None:
    """The last event may be in the memory of the process, or only in the database."""
    path = api.create("s", {"a": resource()})
    id_ = path.rsplit("/", 1)[1]
    server = serve(kept=600)
    with server.reader() as keeps_it_going, server.reader(Last_Event_ID="0") as first:
        whole = first.until("s", "CREATE_COMPLETE")
        write(api, id_, 1700)
        whole += first.events(1700)
        keeps_it_going.events(1)
        for place in (0, 2, len(whole) - 1500, len(whole) - 20):
            last = whole[place - 1]["id"] if place else 0
            with server.reader(Last_Event_ID=str(last)) as again:
                assert again.events(len(whole) - place) == whole[place:]
    with server.reader(Last_Event_ID="999999999") as ahead:  # of another database: from now on
        write(api, id_, 1)
        assert ahead.events(1)[0]["id"] == after(api, whole[-1]["id"])


def test_projects_hear_only_of_their_own(api: Api, serve: Any) -> None:
    server = serve()
    with api.somebody("other") as caller, server.reader() as mine:
        api.create("theirs", {"secret": resource()})
        assert caller.project == "other"
        with server.reader("/v1/other/events/stream", X_Auth_Token=api.token, Last_Event_ID="0") as theirs:
            assert theirs.until("theirs", "CREATE_COMPLETE")
        api.token, api.project = TOKEN, "default"
        api.create("s")
        assert {one["stack_name"] for one in mine.until("s", "CREATE_COMPLETE")} == {"s"}


def test_a_slow_reader_is_cut_with_a_note_and_nobody_waits_for_it(api: Api, serve: Any) -> None:
    id_ = api.create("s").rsplit("/", 1)[1]
    server = serve(kept=500)
    slow = socket.create_connection(("127.0.0.1", server.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    slow.sendall(f"GET {PROJECT} HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {TOKEN}\r\nConnection: close\r\n\r\n".encode())
    assert slow.recv(20).startswith(b"HTTP/1.1 200")
    with server.reader() as quick:
        total = 0
        for _ in range(16):
            write(api, id_, 1000, "x" * 900)
            total += len(quick.events(1000))
        assert total == 16_000
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    slow.settimeout(PATIENCE_S)
    text = bytearray()
    while chunk := slow.recv(1 << 20):
        text += chunk
    slow.close()
    told = text.rpartition(b"event: cut\n")
    assert b"Reconnect with the number of the last event" in told[2]
    assert 0 < text.count(b"\nevent: event\n") < 16_000
    last = int(told[0].rpartition(b"\nid: ")[2].partition(b"\n")[0])
    with server.reader(Last_Event_ID=str(last)) as again:
        assert again.events(1)[0]["id"] == after(api, last)


def test_nothing_happens_and_the_line_is_alive(api: Api, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.05)
    with serve().reader() as it:
        assert it.message() == it.message() == {"": "still here"}


def test_a_service_that_stops_says_so(serve: Any) -> None:
    server = serve()
    with server.reader() as it:
        server.feed.close()
        server.server.should_exit = True
        while (one := it.message()).get("event") != "cut":
            pass
        assert "The service is stopping" in one["data"]["reason"]
        with pytest.raises(EOFError):
            it.message()


def test_one_query_serves_all_readers_and_none_runs_without_a_reader(api: Api, serve: Any) -> None:
    server: Any = serve()
    assert not server.feed._task
    with contextlib.ExitStack() as many:
        readers = [many.enter_context(server.reader()) for _ in range(5)]
        looking = server.feed._task
        assert looking is not None and server.feed._readers == 5
        api.create("s")
        for one in readers:
            one.until("s", "CREATE_COMPLETE")
        assert server.feed._task is looking
    until = time.monotonic() + PATIENCE_S
    while server.feed._task is not None:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert server.feed._readers == 0


def test_what_is_refused(api: Api) -> None:
    path = api.create("s")
    assert fault(api.ask("GET", "/events/stream", headers={"Last-Event-ID": "x"}))[:2] == (400, "ValueError")
    assert api.get("/stacks/s/none/events/stream").status_code == 404
    api.rules.forbidden.add("events:index")
    for place in ("/events/stream", path + "/events/stream"):
        assert fault(api.get(place))[:2] == (403, "Forbidden")
    api.token = "wrong"
    assert api.get("/events/stream").status_code == 401


# How many, and for how long.


def opened(server: Any, project: Any, caller: Any, many: Any, count: Any) -> Any:
    """Open streams until so many are open, or one is refused; the status of the last answer."""
    url = f"http://127.0.0.1:{server.port}/v1/{project}/events/stream"
    for _ in range(count):
        sent = {"X-Auth-Token": caller}
        answer = many.enter_context(httpx2.stream("GET", url, headers=sent, timeout=PATIENCE_S))
        if answer.status_code != 200:
            answer.read()
            return fault(answer)[:2]
        reader = Reader(answer)
        many.callback(lambda reader: None, reader)  # a reader that is not referenced any more closes its stream
        assert reader.message()["event"] == "ready"
    return 200, ""


def introduce(api: Any, project: Any, user: Any) -> Any:
    token = f"{user}-of-{project}"
    api.doorkeeper.others[token] = Caller(project, user, user, frozenset({"member", "reader"}), False, project)
    return token


def test_streams_of_one_user_or_project_leave_room_for_others(api: Api, serve: Any) -> None:
    api.engine.settings = dataclasses.replace(api.engine.settings, max_event_streams_per_project=5,
                                              max_event_streams_per_user=3)
    server = serve()
    refused = (429, "RequestLimitExceeded")
    with contextlib.ExitStack() as many:
        greedy = introduce(api, "a", "greedy")
        with contextlib.ExitStack() as own:
            assert opened(server, "a", greedy, own, 9) == refused
            assert server.feed._readers == 3
            assert opened(server, "a", introduce(api, "a", "second"), many, 2) == (200, "")
            assert opened(server, "a", introduce(api, "a", "third"), many, 1) == refused
            assert opened(server, "b", introduce(api, "b", "other"), many, 3) == (200, "")
        until = time.monotonic() + PATIENCE_S
        while server.feed._readers > 5:  # as soon as the server has noticed that the readers are gone
            assert time.monotonic() < until
            time.sleep(0.01)
        assert opened(server, "a", greedy, many, 3) == (200, "")
    until = time.monotonic() + PATIENCE_S
    while server.feed._readers:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not server.feed._by_owner


def cut(reader: Any) -> Any:
    """Return the reason in the last message of a stream."""
    while (one := reader.message()).get("event") != "cut":
        pass
    with pytest.raises(EOFError):
        reader.message()
    return one["data"]["reason"]


def test_a_stream_ends_with_the_authority_of_its_reader(api: Api, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.05)
    server = serve()
    token = introduce(api, "default", "u")
    with server.reader(X_Auth_Token=token) as it:
        assert it.message() == {"": "still here"}
        del api.doorkeeper.others[token]
        assert "authentication" in cut(it)
    with server.reader(X_Auth_Token=introduce(api, "default", "u")) as it:
        api.rules.forbidden.add("events:index")
        assert "events:index" in cut(it)
        api.rules.forbidden.clear()
    with server.reader(X_Auth_Token=introduce(api, "default", "u")) as it:
        api.doorkeeper.others[token] = Caller("elsewhere", "u", "u", frozenset({"reader"}))
        assert "denied" in cut(it)


def test_an_admin_who_is_none_any_more_reads_no_other_project(
    api: Api, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.05)
    with api.somebody("owner"):
        path = api.create("s", {"a": resource()})
    server = serve()
    api.doorkeeper.others["chief"] = admin = Caller("ops", "u", "u", frozenset({"admin", "reader"}), True)
    with server.reader(f"/v1/ops{path}/events/stream", X_Auth_Token="chief") as it:
        assert it.message() == {"": "still here"}
        api.doorkeeper.others["chief"] = dataclasses.replace(admin, is_admin=False)
        assert "denied" in cut(it)


def test_a_stream_that_is_never_silent_is_checked_as_well(api: Api, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    id_ = api.create("s").rsplit("/", 1)[1]
    server = serve()
    token = introduce(api, "default", "u")
    busy = threading.Event()

    def write_on() -> None:
        while not busy.is_set():
            write(api, id_, 1)

    writer = threading.Thread(target=write_on)
    with server.reader(X_Auth_Token=token) as it:
        writer.start()
        try:
            it.events(5)
            del api.doorkeeper.others[token]
            assert "authentication" in cut(it)
        finally:
            busy.set()
            writer.join()


@pytest.mark.parametrize("lost", ["token", "role"])
def test_with_keystone_a_stream_ends_with_its_token_and_its_role(
    api: Api, serve: Any, monkeypatch: pytest.MonkeyPatch, keystone: Any, tmp_path: Path, lost: Any
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    instance.write_options(tmp_path / "x.conf", {"keystone_authtoken": {**keystone.options(), "token_cache_time": "-1"}})
    policy = Enforcer()
    server = serve(Keystone(files.opened([str(tmp_path / "x.conf")]), policy), policy)
    token, project, admin = keystone.token("reader"), keystone.project("demo"), keystone.admin()
    role = f"/projects/{project}/users/{keystone.user('reader')}/roles/{admin.ensure('role', 'reader')}"
    with server.reader(f"/v1/{project}/events/stream", X_Auth_Token=token) as it:
        assert it.message() == {"": "still here"}
        if lost == "role":
            admin.call("DELETE", role)
        else:
            answer = httpx2.delete(f"{keystone.v3}/auth/tokens", trust_env=False,
                                   headers={"X-Auth-Token": token, "X-Subject-Token": token})
            assert answer.status_code == 204
        try:
            assert "authentication" in cut(it)
        finally:
            if lost == "role":
                admin.call("PUT", role)
