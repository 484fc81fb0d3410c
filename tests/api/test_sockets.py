"""Requests with wrong lengths, over real sockets: case 7 of the abuse cases. Each is cut, and others are served."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest
import uvicorn

from isotherm.api import app
from isotherm.api.request.service import ApiPorts
from isotherm.engine.process import service_list
from tests.api.conftest import PATIENCE_S, TOKEN, Api, serving

LIMIT = 100_000
CHUNK = b"2710\r\n" + b"x" * 10_000 + b"\r\n"


class Server:
    """The API on a port, set up as the command does."""

    def __init__(self, api: Api) -> None:
        engine = api.engine
        service = ApiPorts(engine.orchestrator_for, engine.types, engine.settings, lambda: service_list.engines(engine),
                          signer=engine.signer)
        config = uvicorn.Config(app.build(service, api.doorkeeper, api.rules), "127.0.0.1", 0, log_config=None,
                                access_log=False, lifespan="off", server_header=False, ws="none")
        self._server = uvicorn.Server(config)
        self._socket = config.bind_socket()
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve(sockets=[self._socket])))
        self._thread.start()
        until = time.monotonic() + PATIENCE_S
        while not self._server.started:
            assert time.monotonic() < until
            time.sleep(0.005)

    def close(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(PATIENCE_S)
        self._socket.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def goes_on(self) -> None:
        """Assert that a proper request is answered at once."""
        start = time.monotonic()
        answer = httpx2.get(f"http://127.0.0.1:{self.port}/v1/default/stacks", headers={"X-Auth-Token": TOKEN},
                            timeout=PATIENCE_S)
        assert answer.status_code == 200
        assert time.monotonic() - start < PATIENCE_S / 2  # on a busy machine


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served"), max_json_body_size=LIMIT) as api:
        it = Server(api)
        yield it
        it.close()


def head(*lines: str, method: str = "POST", path: str = "/v1/default/software_configs") -> bytes:
    given = [f"{method} {path} HTTP/1.1", "Host: x", f"X-Auth-Token: {TOKEN}", "Content-Type: application/json", *lines]
    return "\r\n".join([*given, "", ""]).encode("latin-1")


def sent(server: Server, data: bytes) -> bytes:
    """Return everything the server sends."""
    with server.connect() as line:
        with contextlib.suppress(OSError):  # it may have been cut already
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
        return read(line)


def read(line: socket.socket) -> bytes:
    found = b""
    try:
        while piece := line.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def status(answer: bytes) -> int | None:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def configs(server: Server) -> list[str]:
    """Return the names of all software configs."""
    answer = httpx2.get(f"http://127.0.0.1:{server.port}/v1/default/software_configs", headers={"X-Auth-Token": TOKEN})
    return [one["name"] for one in answer.json()["software_configs"]]


def test_case_7_more_is_promised_than_comes(server: Server) -> None:
    """Nothing is done with half a body."""
    answer = sent(server, head("Content-Length: 1000") + b'{"name": "half"}')
    assert status(answer) in (None, 400)
    assert set(configs(server)) <= {"whole"}
    server.goes_on()


def test_case_7_more_comes_than_was_promised(server: Server) -> None:
    """Bytes beyond Content-Length are a second request, and a bad one."""
    answer = sent(server, head("Content-Length: 16") + b'{"name": "whole"}trailing rubbish\r\n\r\n')
    assert b"500 Internal" not in answer
    assert set(configs(server)) <= {"whole"}
    server.goes_on()


@pytest.mark.parametrize("lines", [
    ("Content-Length: 16", "Content-Length: 17"), ("Content-Length: -1",), ("Content-Length: 1e3",), ("Content-Length: x",),
    ("Content-Length: 99999999999999999999999999",), ("Content-Length: 5, 6",),
    ("Transfer-Encoding: chunked", "Content-Length: 16"), ("Transfer-Encoding: chunked, identity",),
    ("Transfer-Encoding: gzip",), ("Transfer-Encoding: xchunked",),
], ids=", ".join)
def test_case_7_lengths_that_make_no_sense(server: Server, lines: tuple[str, ...]) -> None:
    answer = sent(server, head(*lines) + b'{"name": "lied"}')
    assert status(answer) in (None, 400, 501), answer
    assert set(configs(server)) <= {"whole"}
    server.goes_on()


@pytest.mark.parametrize("chunk", [b"zz\r\nxx\r\n", b"-1\r\nx\r\n", b"f" * 100 + b"\r\n", b"5\r\nxxxxxxxxxx\r\n"], ids=repr)
def test_case_7_chunks_that_make_no_sense(server: Server, chunk: bytes) -> None:
    answer = sent(server, head("Transfer-Encoding: chunked") + chunk)
    assert status(answer) in (None, 400), answer
    server.goes_on()


@pytest.mark.parametrize(("path", "expected"), [
    ("/v1/default/software_configs", 400), ("/v1/default/stacks", 400), ("/v1/default/validate", 400),
    ("/v1/elsewhere/nothing", 404), ("/v1/default/signal/x/y", 403), ("/v1/default/build_info", 405), ("/nowhere", 404),
])
@pytest.mark.parametrize("length", ["Transfer-Encoding: chunked", "Content-Length: 9999999999"])
def test_case_7_a_body_without_end(server: Server, path: str, expected: int, length: str) -> None:
    """The response comes at the limit and the connection is closed, also if the body was never read."""
    with server.connect() as line:
        line.sendall(head(length, path=path) + CHUNK)
        server.goes_on()
        gone, answer = 0, b""
        line.settimeout(0.01)
        until = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < until:
                line.sendall(CHUNK)
                gone += len(CHUNK)
                try:
                    if not (piece := line.recv(65536)):
                        break
                    answer += piece
                except TimeoutError:
                    continue
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert time.monotonic() < until
    assert gone < LIMIT + 20_000_000  # what lies in the buffers of both sides
    if answer:  # it is lost if the line is cut while we are sending
        assert status(answer) == expected
        assert expected != 400 or json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["type"] == "RequestLimitExceeded"
    server.goes_on()


def test_case_7_many_that_send_nothing_more(server: Server) -> None:
    lines = [server.connect() for _ in range(50)]
    try:
        for line in lines:
            line.sendall(head("Content-Length: 1000") + b'{"na')
        server.goes_on()
    finally:
        for line in lines:
            line.close()
    server.goes_on()


def test_case_7_a_bomb_of_gzip_is_not_unpacked(server: Server) -> None:
    bomb = gzip.compress(b'{"name": "' + b"x" * 50_000_000 + b'"}')
    assert len(bomb) < LIMIT
    for lines in (("Content-Encoding: gzip",), ()):
        start = time.monotonic()
        answer = sent(server, head(f"Content-Length: {len(bomb)}", "Connection: close", *lines) + bomb)
        assert status(answer) == 400
        assert time.monotonic() - start < PATIENCE_S / 2
    assert set(configs(server)) <= {"whole"}


@pytest.mark.parametrize("data", [
    b"GET /v1/default/stacks/../../../../etc/passwd HTTP/1.1\r\n", b"GET /v1/default/stacks/\x00 HTTP/1.1\r\n",
    b"GET /v1/default/stacks/\xff\xfe HTTP/1.1\r\n", b"GET /v1/default/stacks/%00%ff%zz HTTP/1.1\r\n",
    b"GET http://elsewhere/v1/default/stacks HTTP/1.1\r\n", b"GET * HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\r\n",
    b"G\x00T / HTTP/1.1\r\n", b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n", b"GET / HTTP/9.9\r\n", b"\r\n\r\n",
    b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n", b"GET /v1/default/stacks HTTP/1.1\r\nA: " + b"x" * 2_000_000 + b"\r\n",
    b"GET /v1/default/stacks HTTP/1.1\r\nA: a\x00b\r\n", b"GET /v1/default/stacks HTTP/1.1\r\nX-Auth-Token: \xff\xfe\r\n",
    b"GET /v1/default/stacks HTTP/1.1\r\nHost: a b<script>\r\n", b"GET / HTTP/1.1\r\nHost: \xff\r\n",
], ids=lambda data: repr(data[:40]))
def test_what_is_hardly_http(server: Server, data: bytes) -> None:
    answer = sent(server, data + f"X-Auth-Token: {TOKEN}\r\nConnection: close\r\n\r\n".encode())
    assert (status(answer) or 0) < 500, answer
    assert b"root:" not in answer
    server.goes_on()
