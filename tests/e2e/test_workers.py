"""Several workers under a supervisor: dead ones are replaced, and all are renewed under load without a failed request."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import databases
from tests.e2e.conftest import Home
from tests.e2e.test_service import PATIENCE_S, Client, Service, chain

NUMBER = 2
Pids = dict[str, set[int]]


@pytest.fixture
def home(home: Home) -> Home:
    configure(home, "")
    return home


def configure(home: Home, options: str) -> None:
    """Options, besides the database that this run is on."""
    home.folder.mkdir(exist_ok=True)
    database = "" if databases.ON == "sqlite" else f"[database]\nconnection = {databases.url_of(home.folder)}\n"
    (home.folder / "isotherm.conf").write_text(f"{options}\n{database}")


@pytest.fixture
def start(home: Home) -> Iterator[Callable[..., Service]]:
    """Begins services whose parents are killed at the end: that their workers end by themselves is for us to see."""
    begun: list[Service] = []

    def begin(*arguments: str) -> Service:
        begun.append(Service(home, *arguments))
        return begun[-1]

    yield begin
    children = {pid for service in begun for pid in workers(service)}
    for service in begun:
        service.process.kill()
        service.process.wait()
        assert service.process.stdout is not None
        service.process.stdout.close()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def workers(service: Service) -> set[int]:
    """The children of a parent, as the system has them."""
    pid = service.process.pid
    with contextlib.suppress(FileNotFoundError):
        return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    return set()


def listed(home: Home) -> dict[int, tuple[str, str]]:
    """By number of the process: what it is, and whether it is up."""
    return {one["pid"]: (one["binary"], one["status"]) for one in home.ask("manage", "service", "list")}


def said(service: Service, message: str) -> list[dict[str, Any]]:
    return [line for line in service.lines() if line["message"] == message]


class Users:
    """Users who create and change stacks all the time, over a kept connection and over new ones."""

    def __init__(self, home: Home, url: str) -> None:
        self._stop = threading.Event()
        self.failed: list[str] = []
        self.stacks: list[str] = []
        self.kept = Client(home, url)
        self._other = Client(home, url)
        self._other.http.headers["Connection"] = "close"
        self._threads = [threading.Thread(target=self._guarded, args=(client, name))
                         for client, name in ((self.kept, "kept"), (self._other, "new"))]

    def __enter__(self) -> Users:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self.kept.http.close()
        self._other.http.close()

    def _guarded(self, client: Client, name: str) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                self._life(client, f"{name}-{number}")
            except (httpx2.HTTPError, AssertionError) as error:
                self.failed.append(f"{name}-{number}: {error!r}")

    def _life(self, client: Client, name: str) -> None:
        """One stack: created, changed, and brought to its end each time."""
        made = client.http.post("/stacks", json={"stack_name": name, "template": template("one")})
        assert made.status_code == 201, made.text
        place = f"/stacks/{name}/{made.json()['stack']['id']}"
        self._end(client, place, "CREATE_COMPLETE")
        changed = client.http.put(place, json={"template": template("two")})
        assert changed.status_code == 202, changed.text
        self._end(client, place, "UPDATE_COMPLETE")
        self.stacks.append(name)

    def _end(self, client: Client, place: str, status: str) -> None:
        found = ""
        end = time.monotonic() + PATIENCE_S
        while found != status:
            assert not found.endswith("FAILED") and time.monotonic() < end, found
            answer = client.http.get(place)
            assert answer.status_code == 200, answer.text
            found = answer.json()["stack"]["stack_status"]


def template(value: str) -> dict[str, Any]:
    first = {"type": "OS::Heat::TestResource", "properties": {"value": value, "wait_secs": 0.2}}
    second = {"type": "OS::Heat::TestResource", "properties": {"value": {"get_attr": ["a", "output"]}}}
    return {"heat_template_version": "2021-04-16", "resources": {"a": first, "b": second}}


@pytest.mark.ledger("S2.2", "S2.22")
def test_all_workers_are_renewed_under_load_without_a_failed_request(home: Home, start: Callable[..., Service]) -> None:
    api, engine = start("api", "--port", "0", "--workers", str(NUMBER)), start("engine", "--workers", str(NUMBER))
    before = workers(api) | workers(engine)
    assert len(before) == 2 * NUMBER
    found = listed(home)
    assert sorted(found.values()) == [("isotherm-api", "up")] * NUMBER + [("isotherm-engine", "up")] * NUMBER
    assert set(found) == before
    with Users(home, api.told["url"]) as users:
        until(lambda: len(users.stacks) >= 2 or users.failed)
        for service in (api, engine):
            service.process.send_signal(signal.SIGHUP)
        until(lambda: users.failed or all(said(service, "workers renewed") for service in (api, engine)))
        since = len(users.stacks)
        until(lambda: len(users.stacks) >= since + 2 or users.failed)
    assert users.failed == []
    assert len(workers(api)) == len(workers(engine)) == NUMBER
    assert not before & (workers(api) | workers(engine)), "they are other processes"
    assert not said(api, "worker died and is replaced") + said(engine, "worker died and is replaced")
    # Each of them made what it should, and no more: the second values were updates of the first.
    assert len(home.made()) == 2 * len(users.stacks)
    children = workers(api) | workers(engine)
    assert [api.end(), engine.end(signal.SIGINT)] == [0, 0]
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert listed(home) == {}, "all have left in good order"


def test_a_connection_that_is_kept_is_answered_once_more(home: Home, start: Callable[..., Service]) -> None:
    """Its client may have been sending just as the process was told to end, and could not know whether it was heard."""
    api = start("api", "--port", "0")
    client = Client(home, api.told["url"])
    assert "connection" not in client.http.get("/stacks").headers
    api.process.send_signal(signal.SIGTERM)
    address = ("127.0.0.1", int(api.told["url"].rpartition(":")[2]))
    until(lambda: refuses(address))
    last = client.http.get("/stacks")
    assert (last.status_code, last.headers["connection"]) == (200, "close")
    with pytest.raises(httpx2.ConnectError):
        client.http.get("/stacks")
    client.http.close()
    assert api.process.wait(PATIENCE_S) == 0


def refuses(address: tuple[str, int]) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(address) == errno.ECONNREFUSED


@pytest.mark.ledger("S2.2", "S0.4")
def test_a_killed_worker_is_replaced_and_nothing_is_lost(home: Home, start: Callable[..., Service]) -> None:
    api, engine = start("api", "--port", "0", "--workers", str(NUMBER)), start("engine", "--workers", str(NUMBER))
    client = Client(home, api.told["url"])
    client.http.headers["Connection"] = "close"
    client.create("s", chain(0.05))
    client.wait(lambda: client.done("s") >= 3)
    killed = {max(workers(service)) for service in (api, engine)}
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    # No pause: any worker at the socket answers.
    assert client.status("s").startswith("CREATE")
    client.wait(lambda: client.status("s") != "CREATE_IN_PROGRESS")
    assert client.status("s") == "CREATE_COMPLETE"
    assert len(home.made()) == len({one["token"] for one in home.made()}) == 40
    client.wait(lambda: len(workers(api)) == len(workers(engine)) == NUMBER)
    for service in (api, engine):
        (line,) = said(service, "worker died and is replaced")
        assert (line["pid"] in killed, line["code"]) == (True, -signal.SIGKILL)
    found: dict[int, tuple[str, str]] = {}
    until(lambda: found.update(listed(home)) or len(found) == 2 * NUMBER + 2)
    assert {pid for pid, (_, status) in found.items() if status == "down"} == killed
    assert {pid for pid, (_, status) in found.items() if status == "up"} == workers(api) | workers(engine)
    assert client.http.get("/services").json()["services"][0]["status"] in ("up", "down")
    client.http.close()
    assert len(home.ask("manage", "service", "clean")["cleaned"]) == 2
    assert set(listed(home)) == workers(api) | workers(engine)


@pytest.fixture
def systemd(home: Home, tmp_path: Path) -> Iterator[Callable[[], list[str]]]:
    """What systemd was told since it was asked last."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind(str(tmp_path / "notify"))
        door.setblocking(False)
        home.environment["NOTIFY_SOCKET"] = str(tmp_path / "notify")

        def told() -> list[str]:
            found = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(door.recv(1000).decode().partition("\n")[0])
            return found

        yield told


def test_options_that_are_wrong_change_nothing_and_orphans_end(
    home: Home, start: Callable[..., Service], systemd: Callable[[], list[str]]
) -> None:
    configure(home, "[DEFAULT]\nnum_engine_workers = 2")
    engine = start("engine")
    first = workers(engine)
    assert len(first) == 2
    until(lambda: systemd() == ["READY=1"])
    configure(home, "[DEFAULT]\nnum_engine_workers = some")
    engine.process.send_signal(signal.SIGHUP)
    until(lambda: said(engine, "options cannot be read; workers are not renewed"))
    assert workers(engine) == first
    # Another number is taken from the options, like all else.
    configure(home, "[DEFAULT]\nnum_engine_workers = 1")
    engine.process.send_signal(signal.SIGHUP)
    until(lambda: said(engine, "workers renewed"))
    (child,) = workers(engine)
    assert child not in first
    told: list[str] = []

    def four_lines() -> bool:
        told.extend(systemd())
        return len(told) >= 4

    until(four_lines)
    assert told == ["RELOADING=1", "READY=1"] * 2
    engine.process.kill()
    until(lambda: not Path(f"/proc/{child}").exists())
    assert listed(home) == {}, "it left in good order"


def test_what_cannot_even_begin_is_told(home: Home) -> None:
    (home.folder / "isotherm.conf").write_text("[database]\nconnection = sqlite:////nowhere/at/all.db\n")
    code, out = home.run("engine", "--workers", "2")
    assert code == 1
    assert "unable to open database file" in out and "Traceback" not in out


def totals(url: str) -> dict[str, float]:
    """Scrape an endpoint: the series that only grow."""
    with httpx2.Client(headers={"Connection": "close"}, timeout=PATIENCE_S) as scraper:
        lines = scraper.get(f"{url}/metrics").text.splitlines()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples if re.search("_total|_count|_bucket|bus_messages", name)}


def is_complete(client: Client, name: str) -> bool:
    return client.status(name) == "CREATE_COMPLETE"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_totals_of_several_workers_add_up_and_never_go_down(home: Home, start: Callable[..., Service]) -> None:
    port = free_port()
    api = start("api", "--port", "0", "--workers", str(NUMBER))
    engine = start("engine", "--workers", str(NUMBER), "--metrics-port", str(port))
    places = (api.told["url"], f"http://127.0.0.1:{port}")
    before = {place: totals(place) for place in places}
    assert before[places[1]]['isotherm_operations_ended_total{action="CREATE",end="FAILED"}'] == 0, "it begins at 0"
    begun = 'isotherm_operations_begun_total{action="CREATE"}'
    ended = 'isotherm_operations_ended_total{action="CREATE",end="COMPLETE"}'
    made = 'isotherm_resource_actions_total{outcome="COMPLETE",type="OS::Heat::TestResource"}'
    requests = 'isotherm_requests_total{method="POST",route="/stacks",status="201"}'
    client = Client(home, api.told["url"])
    client.http.headers["Connection"] = "close"

    def look() -> None:
        for place in places:
            now = totals(place)
            assert {name: value for name, value in before[place].items() if now.get(name, -1) < value} == {}
            before[place] = now

    for number in range(1, 7):
        client.create(f"s{number}", template("one"))
        look()
        if number == 3:
            for service in (api, engine):
                os.kill(max(workers(service)), signal.SIGKILL)
            until(lambda: len(workers(api)) == len(workers(engine)) == NUMBER)
        until(functools.partial(is_complete, client, f"s{number}"))
        look()
    client.http.close()

    # A worker that was killed right after a commit had no time to count.
    assert before[places[0]][requests] == before[places[0]][begun] == 6
    assert before[places[1]][ended] in (5, 6) and before[places[1]][made] in range(8, 13)
    assert before[places[1]][begun] == 0, "the API has begun them"
    assert [api.end(), engine.end()] == [0, 0]
