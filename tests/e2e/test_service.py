"""The service as processes: it starts, ends in good order, and goes on where it was."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests import patience
from tests.e2e.conftest import COMMAND, Home

PATIENCE_S = 240.0
COUNT = 40
Start = Callable[..., "Service"]
Connect = Callable[["Service"], "Client"]


def chain(wait_s: float) -> dict[str, Any]:
    """Dummies of which each needs the one before."""
    resources: dict[str, Any] = {}
    for number in range(COUNT):
        resources[f"r{number:02}"] = {
            "type": "OS::Heat::Dummy", "properties": {"max_wait_secs": wait_s},
            **({"depends_on": f"r{number - 1:02}"} if number else {})}
    return {"heat_template_version": "2018-08-31", "resources": resources}


class Service:
    """A process of the service."""

    def __init__(self, home: Home, *arguments: str) -> None:
        home.folder.mkdir(exist_ok=True)
        self.log = home.folder / f"{arguments[0]}.err"
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen([*COMMAND, *arguments, "--json"], env=home.environment, text=True,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        self.told = self._first_word()

    def _first_word(self) -> dict[str, Any]:
        """What it says when it is there: a JSON object over some lines."""
        assert self.process.stdout is not None
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        text = ""
        for line in self.process.stdout:
            text += line
            if line == "}\n":
                break
        watchdog.cancel()
        assert text, self.log.read_text()
        found: dict[str, Any] = json.loads(text)
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def start(home: Home) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:

        def begin(*arguments: str) -> Service:
            service = Service(home, *arguments)
            stack.callback(_stop, service.process)
            return service

        yield begin


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class Client:
    def __init__(self, home: Home, url: str) -> None:
        token = (home.folder / "token").read_text().strip()
        self.http = httpx2.Client(base_url=f"{url}/v1/default", headers={"X-Auth-Token": token}, timeout=240,
                                  follow_redirects=True)

    def create(self, name: str, template: dict[str, Any]) -> None:
        answer = self.http.post("/stacks", json={"stack_name": name, "template": template})
        assert answer.status_code == 201, answer.text

    def status(self, name: str) -> str:
        found: str = self.http.get(f"/stacks/{name}").json()["stack"]["stack_status"]
        return found

    def done(self, name: str) -> int:
        resources = self.http.get(f"/stacks/{name}/resources").json()["resources"]
        return sum(one["resource_status"] == "CREATE_COMPLETE" for one in resources)

    def wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture
def connect(home: Home) -> Iterator[Connect]:
    with contextlib.ExitStack() as stack:

        def begin(service: Service) -> Client:
            client = Client(home, service.told["url"])
            stack.callback(client.http.close)
            return client

        yield begin


def is_closed(port: int | None) -> bool:
    """Return whether the port has no listener any more."""
    try:
        socket.create_connection(("127.0.0.1", port or 0), 1.0).close()
    except OSError:
        return True
    return False


def names(home: Home) -> list[str]:
    return sorted(one["token"] for one in home.made())


def test_up_ends_in_good_order_and_goes_on_where_it_was(home: Home, start: Start, connect: Connect) -> None:
    first = start("up", "--port", "0")
    client = connect(first)
    client.create("s", chain(0.05))
    client.wait(lambda: client.done("s") >= 3)
    assert first.end() == 0
    assert not list((home.folder / "workers").glob("*.lock")), "it has left"
    made = len(home.made())
    assert 3 <= made < COUNT, "it was ended in the middle"

    second = start("up", "--port", "0")
    client = connect(second)
    client.wait(lambda: client.status("s") != "CREATE_IN_PROGRESS")
    assert client.status("s") == "CREATE_COMPLETE"
    assert len(home.made()) == len(set(names(home))) == COUNT, "nothing was made twice"
    assert second.end(signal.SIGINT) == 0


def test_api_and_engine_apart(home: Home, start: Start, connect: Connect) -> None:
    api = start("api", "--port", "0")
    client = connect(api)
    client.create("s", chain(0.05))

    async def nothing_is_done() -> bool:
        return (client.status("s"), client.done("s")) == ("CREATE_IN_PROGRESS", 0)

    asyncio.run(patience.stays(nothing_is_done))  # there is no engine yet

    one = start("engine")
    client.wait(lambda: client.done("s") >= 3)
    assert one.end() == 0
    stopped = client.done("s")
    assert 3 <= stopped < COUNT

    two, three = start("engine"), start("engine")
    # The API may come and go meanwhile.
    assert api.end() == 0
    api = start("api", "--port", "0")
    client = connect(api)
    client.wait(lambda: client.status("s") != "CREATE_IN_PROGRESS")
    assert client.status("s") == "CREATE_COMPLETE"
    assert len(home.made()) == len(set(names(home))) == COUNT
    ready = client.http.get(f"{api.told['url']}/health/ready").json()
    assert ready == {"ready": True, "database": "answers", "workers": 2}
    for service in (two, three, api):
        assert service.end() == 0


def test_links_have_the_scheme_and_the_name_that_the_proxy_passes_on(home: Home, start: Start, connect: Connect) -> None:
    client = connect(start("api", "--port", "0"))
    headers = {"X-Forwarded-Proto": "https", "Host": "heat.example.com"}
    answer = client.http.post("/stacks", headers=headers, json={"stack_name": "s", "template": chain(0)})
    assert answer.json()["stack"]["links"][0]["href"].startswith("https://heat.example.com/v1/")


def test_a_request_that_is_under_way_is_answered_before_the_end(home: Home, start: Start, connect: Connect) -> None:
    api = start("api", "--port", "0")
    client = connect(api)
    answers: list[httpx2.Response] = []

    def slow() -> Iterator[bytes]:
        yield b'{"stack_name": "s", "template": '
        os.kill(api.process.pid, signal.SIGTERM)
        patience.until(lambda: is_closed(urlsplit(api.told["url"]).port))
        yield json.dumps(chain(0)).encode() + b"}"

    length = str(len(json.dumps(chain(0))) + 33)
    answers.append(client.http.post("/stacks", content=slow(), headers={
        "Content-Type": "application/json", "Content-Length": length}))
    assert answers[0].status_code == 201, answers[0].text
    assert api.process.wait(PATIENCE_S) == 0
    with pytest.raises(httpx2.ConnectError):
        client.http.get("/stacks")


def test_lines_are_json_and_tell_no_token(home: Home, start: Start, connect: Connect) -> None:
    api = start("api", "--port", "0")
    client = connect(api)
    answer = client.http.get("/stacks")
    assert api.end() == 0
    said = api.lines()
    line = next(one for one in said if one["message"] == "request")
    assert line["request_id"] == answer.headers["x-openstack-request-id"]
    assert (home.folder / "token").read_text().strip() not in api.log.read_text()


def test_the_log_of_up_is_in_the_folder(home: Home, start: Start, connect: Connect) -> None:
    it = start("up", "--port", "0")
    connect(it).http.get("/stacks")
    assert it.end() == 0
    assert it.log.read_text() == ""
    assert '"message": "request"' in (home.folder / "engine.log").read_text()


def test_options_from_a_file_of_heat(home: Home, start: Start, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "heat.conf"
    file.write_text("[DEFAULT]\nmax_stacks_per_tenant = 1\nnum_engine_workers = 4\ntransport_url = rabbit://x\n"
                    "[heat_api]\nbind_port = 0\n")
    api = start("api", "--config-file", str(file))
    client = connect(api)
    client.create("one", {"heat_template_version": "2018-08-31"})
    answer = client.http.post("/stacks", json={"stack_name": "two", "template": {"heat_template_version": "2018-08-31"}})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "RequestLimitExceeded")


@pytest.mark.parametrize(("options", "arguments", "text"), [
    ("", ["up", "--host", "0.0.0.0"], "loopback only"),
    ("[heat_api]\nbind_host = example.com\n", ["api"], "loopback only"),
    ("[DEFAULT]\nauth_strategy = keystone\n", ["api"], "auth_encryption_key is not set"),
    ("[DEFAULT]\nauth_strategy = keystone\nauth_encryption_key = notgood but just long enough i t\n", ["engine"],
     "auth_encryption_key is the public key"),
    ("[DEFAULT]\nmax_files = many\n", ["engine"], "[DEFAULT] max_files"),
    ("[database]\nconnection = oracle://heat:MARKER@db/heat\n", ["engine"], "not the URL of a supported database"),
    ("[database]\nconnection = mysql://heat:MARKER@127.0.0.1:1/heat\n", ["engine"], "refused"),
    ("[database]\nconnection = postgresql://heat:MARKER@127.0.0.1:1/heat\n", ["api"], "refused"),
    ("[DEFAULT]\ntransport_url = redis://heat:MARKER@127.0.0.1:1/\n", ["engine"], "transport_url"),
])
def test_what_cannot_be_served_safely_is_not_served(home: Home, options: str, arguments: list[str], text: str) -> None:
    home.folder.mkdir()
    (home.folder / "isotherm.conf").write_text(options)
    code, out = home.run(*arguments)
    assert code == 1, out
    assert text in out
    assert "Traceback" not in out
    assert "MARKER" not in out


def test_a_port_that_is_taken(start: Start, tmp_path: Path) -> None:
    taken = start("api", "--port", "0").told["url"].rpartition(":")[2]
    code, out = Home(tmp_path / "other").run("up", "--port", taken)
    assert code == 1, out
    assert "in use" in out


def test_the_options_in_force(home: Home) -> None:
    home.folder.mkdir()
    (home.folder / "isotherm.conf").write_text("[DEFAULT]\nmax_files = 7\nauth_encryption_key = MARKER\nrpc_x = 1\n")
    told = home.ask("config")
    assert told["files"] == [str(home.folder / "isotherm.conf")]
    assert told["unknown"] == ["[DEFAULT] rpc_x"]
    options = {one["name"]: (one["value"], one["changed"]) for one in told["options"]}
    assert options["max_files"] == (7, True)
    assert options["bind_port"] == (8004, False)
    assert options["auth_encryption_key"] == ("***", True)
    assert "MARKER" not in home.run("config")[1]


# Case 7: the body of a request, as a socket sees it.


def spoken(url: str, head: str, chunks: Iterator[bytes]) -> bytes:
    """Return the answer of the service to raw bytes. The service may close the connection at any moment."""
    host, _, port = url.removeprefix("http://").partition(":")
    answer = b""
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(head.encode())
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for chunk in chunks:
                connection.sendall(chunk)
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


def test_bodies_that_lie_about_themselves(home: Home, start: Start, connect: Connect) -> None:
    home.folder.mkdir()
    (home.folder / "isotherm.conf").write_text("[DEFAULT]\nmax_json_body_size = 100000\n")
    api = start("api", "--port", "0")
    client = connect(api)
    url = api.told["url"]
    head = ("POST /v1/default/stacks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"X-Auth-Token: {(home.folder / 'token').read_text().strip()}\r\n")
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(10_000):
            sent += 0x4000
            yield b"4000\r\n" + b'{"a":"' + b"x" * (0x4000 - 6) + b"\r\n"

    answer = spoken(url, head + "Transfer-Encoding: chunked\r\n\r\n", endless())
    assert sent < 10_000 * 0x4000, "it hung up long before the end"
    assert not answer or (answer.startswith(b"HTTP/1.1 400") and b"RequestLimitExceeded" in answer), answer[:300]
    # Less than announced: a client that disconnects is not waited for. More: the rest is no request.
    body = b'{"stack_name": "s", "template": {"heat_template_version": "2018-08-31"}}'
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        connection.sendall((head + "Content-Length: 5000\r\n\r\n").encode() + body)
    assert client.http.get("/stacks").json() == {"stacks": []}
    answer = spoken(url, head + f"Content-Length: {len(body)}\r\n\r\n", iter([body + b"x" * 1000]))
    assert answer.count(b"HTTP/1.1") == 1
    # Packed: it is not unpacked.
    packed = gzip.compress(b'{"stack_name": "' + b"x" * 50_000_000 + b'"}')
    answer = spoken(url, head + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n", iter([packed]))
    assert answer.startswith(b"HTTP/1.1 400"), answer[:300]
    # Heads without an end.
    answer = spoken(url, head, (b"X-More: " + b"y" * 4000 + b"\r\n" for _ in range(1000)))
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer[:300]
    assert client.http.get("/stacks").status_code == 200
