"""The live stream of one stack: its messages while an operation runs, its limits, and its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from isotherm.api.handlers import stream
from isotherm.engine.overview import live
from tests import patience
from tests.api.conftest import ROOT, TOKEN, Api, fault, resource, template

SLOW = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 1}}


class Reader:
    """Reads a stream over ASGI: the client of the tests would wait for its end."""

    def __init__(self, api: Api, path: str, query: str = "", route: str = "live") -> None:
        self._api = api
        self._path = path
        self._query = query
        self._route = route

    async def messages(self) -> AsyncIterator[tuple[str, Any, str]]:
        """Yield kind, data and id of each message."""
        sent: asyncio.Queue[Any] = asyncio.Queue()
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not getattr(self, "_asked", False):
                self._asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        path = f"/v1/{self._api.project}{self._path}/{self._route}"
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
                 "query_string": self._query.encode(), "headers": [(b"x-auth-token", TOKEN.encode())], "scheme": "http",
                 "server": ("isotherm.test", 80), "client": None, "http_version": "1.1", "asgi": {"version": "3.0"},
                 "root_path": ""}
        task = asyncio.ensure_future(self._api.app(scope, receive, sent.put))
        try:
            while True:
                message = await sent.get()
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    return
                for text in message.get("body", b"").decode().split("\n\n"):
                    fields = dict(line.partition(": ")[::2] for line in text.splitlines() if not line.startswith(":"))
                    if "event" in fields:
                        yield fields["event"], json.loads(fields["data"]), fields.get("id", "")
        finally:
            gone.set()
            await asyncio.gather(task, return_exceptions=True)


def read(api: Api, path: str, enough: Any, query: str = "", route: str = "live") -> list[tuple[str, Any, str]]:
    """Read messages until there are enough."""

    async def collect() -> list[tuple[str, Any, str]]:
        found: list[tuple[str, Any, str]] = []
        told = Reader(api, path, query, route).messages()
        async for one in told:
            found.append(one)
            if enough(found):
                break
        await told.aclose()  # type: ignore[attr-defined]  # a generator
        return found

    messages: list[tuple[str, Any, str]] = api.run(asyncio.wait_for(collect(), 200))
    return messages


def last_counts(found: list[tuple[str, Any, str]]) -> Any:
    return next((data["counts"] for kind, data, _ in reversed(found) if kind == "delta"), None)


def test_a_create_is_told_to_its_end(shared: Api) -> None:
    chain = {f"r{number}": {**SLOW, **({"depends_on": f"r{number - 1}"} if number else {})} for number in range(3)}
    path = shared.create("told", chain, wait=False)
    found = read(shared, path, lambda found: last_counts(found) == {"DONE": 3})
    assert found[0][0] == "ready"
    assert {"version", "last_event_id", "now", "generation", "digest"} <= set(found[0][1])
    deltas = [data for kind, data, _ in found if kind == "delta"]
    states: dict[str, str] = {}
    for delta in deltas:
        states.update({name: state for _, name, state, _ in delta["nodes"]})
    assert states == {"r0": "DONE", "r1": "DONE", "r2": "DONE"}
    assert any(delta["boxes"] for delta in deltas)
    numbers = [int(id_) for kind, _, id_ in found if kind == "delta"]
    assert numbers == sorted(numbers)


def test_another_operation_asks_to_read_again(shared: Api) -> None:
    path = shared.create("moved", {"a": resource()})
    asked: list[bool] = []

    def enough(found: list[tuple[str, Any, str]]) -> bool:
        if not asked:
            asked.append(True)
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, lambda: shared.put(path, {"template": template({"a": resource("new")})}))
        return any(kind == "resync" for kind, *_ in found)

    found = read(shared, path, enough)
    assert "operation" in found[-1][1]["reason"].lower()
    shared.end(path)


@pytest.mark.parametrize("query", ["group=kind", "boxes=false"])
def test_after_a_burst_the_view_is_read_again_and_told_whole(
    shared: Api, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    # Every change is a burst.
    monkeypatch.setattr(live, "MOST", 0)
    names = [f"r{number}" for number in range(30)]
    resources = {"slow": SLOW, **{name: {**resource(), "depends_on": "slow"} for name in names}}
    path = shared.create(f"burst-{len(query)}", resources, wait=False)

    def is_whole(found: list[tuple[str, Any, str]]) -> bool:
        """Whether the last message is the first delta after a request to read again, with the stack at its end."""
        kinds = [kind for kind, *_ in found]
        counts = {} if kinds[-1] != "delta" else found[-1][1]["counts"]
        return "resync" in kinds and counts == {"DONE": 31} and (bool(found[-1][1]["boxes"]) or query != "group=kind")

    found = read(shared, path, is_whole, query)
    states: dict[str, int] = {}
    for _, counts in found[-1][1]["boxes"]:
        states = {state: states.get(state, 0) + counts.get(state, 0) for state in {*states, *counts}}
    assert states == ({"DONE": 31} if query == "group=kind" else {})


def test_without_boxes_nothing_is_drawn(shared: Api) -> None:
    path = shared.create("plain", {"a": resource()})
    found = read(shared, path, lambda found: len(found) == 2, "boxes=false")
    assert found[0][1]["digest"] is None
    assert found[1][1]["boxes"] == []


@pytest.mark.parametrize("query", ["", "boxes=false"])
def test_what_waits_is_told_with_the_time_since_when(shared: Api, query: str) -> None:
    path = shared.create(f"waits-{len(query)}", {"a": {**SLOW, "properties": {"wait_secs": 3600}}}, wait=False)

    def began() -> float | None:
        found: dict[str, Any] = shared.get(f"{path}/resources/a/why").json()["why"]["resource"]
        since: float = found["since"]
        return since if found["state"] == "WAITING" else None

    patience.until(lambda: began() is not None)
    found = read(shared, path, lambda found: any(kind == "delta" for kind, *_ in found), query)
    told = [since for kind, data, _ in found if kind == "delta" for _, name, _, since in data["nodes"] if name == "a"]
    assert set(told) <= {began()}
    assert told or not query
    shared.delete(path)


def test_a_reader_without_permission_is_disconnected(shared: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared.create("cut", {"a": resource()})
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.0)

    def enough(found: list[tuple[str, Any, str]]) -> bool:
        shared.rules.forbidden = {"stacks:live"}
        return any(kind == "cut" for kind, *_ in found)

    try:
        found = read(shared, path, enough)
    finally:
        shared.rules.forbidden = set()
    assert "stacks:live" in found[-1][1]["reason"]


def test_streams_are_limited_like_event_streams(with_options: Any) -> None:
    api: Api = with_options(max_event_streams_per_user=0)
    path = api.create("limited", {})
    assert fault(api.get(f"{path}/live"))[:2] == (429, "RequestLimitExceeded")


def test_wrong_parameters_are_refused_before_the_stream(shared: Api) -> None:
    path = shared.create("wrong", {})
    for query in ({"group": "x"}, {"limit": "0"}, {"after": "x"}, {"boxes": "x"}):
        assert fault(shared.get(f"{path}/live", **query))[0] == 400, query
    assert fault(shared.ask("GET", f"{ROOT}/v1/default/stacks/none/none/live"))[0] == 404


# Frames.

INNER = {"heat_template_version": "2021-04-16", "resources": {"one": SLOW, "two": {"type": "OS::Heat::TestResource"}}}


def frames(api: Api, path: str, query: str = "") -> list[Any]:
    """Read frames until the operation has ended."""
    def has_ended(found: list[tuple[str, Any, str]]) -> bool:
        return bool(found[-1][1]["stack"]["status"] != "IN_PROGRESS")

    return [data for _, data, _ in read(api, path, has_ended, query, "follow")]


def test_frames_follow_an_operation_and_count_what_is_nested(shared: Api) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {"type": "inner.yaml"}}}
    resources = {"a": SLOW, "group": group, "last": {**resource(), "depends_on": "a"}}
    path = shared.create("framed", resources, wait=False, files={"inner.yaml": INNER})
    told = frames(shared, path)
    assert told[0]["stack"]["stack_status"] == "CREATE_IN_PROGRESS"
    assert (told[-1]["stack"]["stack_status"], told[-1]["phase"]) == ("CREATE_COMPLETE", "COMPLETE")
    assert (told[-1]["counts"], told[-1]["whole"]) == ({"DONE": 3}, True)
    lines = {one["name"]: one for one in told[-1]["lines"]}
    assert {one["state"] for one in lines.values()} == {"DONE"}
    assert (lines["group"]["inner"], lines["a"]["inner"]) == ([6, 6], None)
    assert ["a"] in [one["waits_for"] for frame in told for one in frame["lines"] if one["name"] == "last"]
    assert frames(shared, path, "lines=0")[-1]["lines"] == []


def test_the_number_of_lines_is_bounded(shared: Api) -> None:
    path = shared.create("bounded", {})
    for lines in ("-1", "501", "x"):
        assert fault(shared.get(f"{path}/follow", lines=lines))[0] == 400


def test_the_tree_of_resources_and_the_hooks(shared: Api) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": {"type": "inner.yaml"}}}
    path = shared.create("tree", {"a": resource(), "group": {**group, "depends_on": "a"}}, files={"inner.yaml": INNER})
    own = shared.get(f"{path}/tree").json()["resources"]
    assert [(one["resource_name"], one["stack"], one["requires"], one["state"]) for one in own] == [
        ("a", [], [], "DONE"), ("group", [], ["a"], "DONE")]
    whole = shared.get(f"{path}/tree", nested_depth=5).json()["resources"]
    assert {tuple(one["stack"]) for one in whole} == {(), ("group",), ("group", "0")}
    assert shared.get(f"{path}/hooks").json() == {"hooks": []}
