"""Clients that hold connections and send little, against the service as a process that may open few descriptors."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from isotherm.cli.client.home import LOG
from tests.e2e.conftest import COMMAND, Home

PATIENCE_S = 240.0
DESCRIPTORS, HALVES = 400, 500
OPTIONS = """[heat_api]
client_header_timeout = {header}
client_body_timeout = {body}
keep_alive_timeout = {kept}
"""
TEMPLATE = {"heat_template_version": "2018-08-31", "resources": {"r": {"type": "OS::Heat::RandomString"}}}


class Service:
    """`isotherm up` with few descriptors and these deadlines."""

    def __init__(self, home: Home, **deadlines: int) -> None:
        home.folder.mkdir()
        known = {"header": 3600, "body": 3600, "kept": 3600, **deadlines}
        (home.folder / "isotherm.conf").write_text(OPTIONS.format(**known))
        limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh", *COMMAND, "up", "--port", "0", "--json"]
        self.process = subprocess.Popen(limited, env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line == "}\n":
                break
        self.url = json.loads(text)["url"]
        self.token = (home.folder / "token").read_text().strip()
        self.log = home.folder / LOG
        self.lines: list[socket.socket] = []

    def connect(self, data: bytes) -> socket.socket:
        where = urlsplit(self.url)
        line = socket.create_connection((where.hostname, where.port), timeout=PATIENCE_S)
        self.lines.append(line)
        line.sendall(data)
        return line

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return httpx2.request(method, f"{self.url}/v1/default{path}", headers={"X-Auth-Token": self.token},
                              timeout=PATIENCE_S, **more)

    def head(self, request: str, *headers: str) -> bytes:
        return "\r\n".join([f"{request} HTTP/1.1", "Host: x", f"X-Auth-Token: {self.token}", *headers, "", ""]).encode()

    def open_descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def expect_quiet(self) -> None:
        """The log tells that connections were dropped, in few words, and no accept has failed."""
        text = self.log.read_text()
        assert "connection limit reached" in text
        assert "accept" not in text
        assert len(text) < 20_000

    def close(self) -> None:
        for line in self.lines:
            line.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def serving(home: Home, **deadlines: int) -> Iterator[Service]:
    service = Service(home, **deadlines)
    try:
        yield service
    finally:
        service.close()


def all_of(line: socket.socket) -> bytes:
    """All that comes until the other side ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := line.recv(65536):
            found += piece
    return found


def test_many_half_requests_do_not_block_others(home: Home) -> None:
    """Deadlines do not help here, they are an hour away: silent connections are evicted."""
    with serving(home) as service:
        half = service.head("GET /v1/default/stacks")[:-2]
        for number in range(HALVES):
            service.connect(half)
            if number % 50 == 0:
                assert service.ask("GET", "/stacks").status_code == 200
        assert service.open_descriptors() < DESCRIPTORS
        answer = service.ask("POST", "/stacks", json={"stack_name": "s", "template": TEMPLATE})
        assert answer.status_code == 201
        until = time.monotonic() + PATIENCE_S
        while service.ask("GET", "/stacks").json()["stacks"][0]["stack_status"] != "CREATE_COMPLETE":
            assert time.monotonic() < until
            time.sleep(0.05)
        service.expect_quiet()


def test_many_half_requests_at_once_do_not_block_others(home: Home) -> None:
    """As many as can wait at the socket, while the process does nothing: it takes them a few at a time."""
    with serving(home) as service:
        service.process.send_signal(signal.SIGSTOP)
        half = service.head("GET /v1/default/stacks")[:-2]
        for _ in range(HALVES):
            service.connect(half)
        service.process.send_signal(signal.SIGCONT)
        assert service.ask("GET", "/stacks").status_code == 200
        assert service.open_descriptors() < DESCRIPTORS
        service.expect_quiet()


def test_late_headers_and_bodies_are_cut_and_told(home: Home) -> None:
    with serving(home, header=1, body=1) as service:
        silent, half = service.connect(b""), service.connect(service.head("GET /v1/default/stacks")[:-2])
        body = service.connect(service.head("POST /v1/default/stacks", "Content-Length: 1000000",
                                            "Content-Type: application/json") + b'{"stack_name": ')
        # It does come, byte by byte, and has not come in time all the same.
        while not select.select([body], [], [], 0.02)[0]:
            with contextlib.suppress(OSError):
                body.sendall(b" ")
        all_of(body)  # cut; whether the answer was lost on the way depends on what was sent meanwhile
        assert all_of(half).startswith(b"HTTP/1.1 408 ")
        assert all_of(silent) == b""
        assert service.ask("GET", "/stacks").json() == {"stacks": []}


def test_a_kept_connection_ends_and_a_stream_of_events_does_not(home: Home) -> None:
    with serving(home, header=1, body=1, kept=1) as service:
        stream = service.connect(service.head("GET /v1/default/events/stream"))
        assert b" 200 " in stream.recv(65536)
        # Begun after it, and cut before it: all deadlines have passed meanwhile.
        idle, half = service.connect(service.head("GET /v1/default/stacks")), service.connect(b"GET / HTTP/1.1\r\n")
        assert b'{"stacks":[]}' in all_of(idle)
        assert all_of(half).startswith(b"HTTP/1.1 408 ")
        service.ask("POST", "/stacks", json={"stack_name": "s", "template": TEMPLATE})
        told = b""
        while b"CREATE_COMPLETE" not in told:
            piece = stream.recv(65536)
            assert piece, "the stream was cut"
            told += piece
