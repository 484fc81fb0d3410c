"""Webhooks of real processes: what is killed loses no message, and another process sends the rest."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.conftest import Home
from tests.e2e.test_service import Client, Service
from tests.e2e.test_workers import configure, template, until, workers

COUNT = 6


class Receiver(ThreadingHTTPServer):
    """Keeps the documents that it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.documents: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Receiver)
        self.server.documents.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def begin(home: Home) -> Iterator[Callable[..., Service]]:
    """Begins services, and stops them at the end."""
    begun: list[Service] = []

    def start(*arguments: str) -> Service:
        begun.append(Service(home, *arguments))
        return begun[-1]

    yield start
    for service in begun:
        service.end()
        assert service.process.stdout is not None
        service.process.stdout.close()


@pytest.mark.long
def test_every_end_is_called_about_though_engines_are_killed(
    home: Home, begin: Callable[..., Service], receiver: Receiver
) -> None:
    configure(home, f"[webhooks]\nurls = {receiver.url}\nsecret = {'x' * 32}\nallowed_networks = 127.0.0.0/8\n")
    api, engine = begin("api", "--port", "0"), begin("engine", "--workers", "2")
    client = Client(home, api.told["url"])
    for number in range(COUNT):
        client.create(f"s{number}", template("one"))
        if number % 2:
            until(lambda: receiver.documents)
            for pid in workers(engine):
                os.kill(pid, signal.SIGKILL)
            until(lambda: len(workers(engine)) == 2)
    wanted = {f"s{number}" for number in range(COUNT)}
    until(lambda: {one["stack"]["name"] for one in receiver.documents} == wanted)
    # A doubled call has the same id: one for each stack.
    assert len({one["id"] for one in receiver.documents}) == COUNT
    assert {one["type"] for one in receiver.documents} == {"operation.ended"}
    client.http.close()
