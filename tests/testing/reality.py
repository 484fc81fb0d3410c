"""The objects of the examples, as they are outside of the engine."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from isotherm.resources.local import confinement, supervisor_client
from isotherm.resources.reality.journal import JournalReality
from isotherm.testing.lab import STACK


def _in_reality(folder: Path, work: Callable[[JournalReality], Any]) -> Any:
    with contextlib.closing(JournalReality(folder / "reality.journal")) as reality:
        return work(reality)


def _run(work: Coroutine[Any, Any, Any]) -> None:
    assert asyncio.run(work)


def simulated(folder: Path) -> list[str]:
    """Return the ids of the objects of simulated services."""
    return _in_reality(folder, lambda reality: list(reality.objects)) if (folder / "reality.journal").exists() else []


def delete_simulated(folder: Path, physical_id: str) -> None:
    _in_reality(folder, lambda reality: _run(reality.delete(physical_id)))


def update_simulated(folder: Path, physical_id: str) -> None:
    _in_reality(folder, lambda reality: _run(reality.update(physical_id, {"value": "other"})))


def paths(folder: Path) -> list[str]:
    """Return the files and folders that local resources have made."""
    base = folder / "local"
    return [str(one) for one in base.iterdir() if not one.name.startswith(".")] if base.is_dir() else []


def rows(folder: Path, table: str, column: str = "id", where: str = "1") -> list[str]:
    """Return a column of a table of the engine."""
    with contextlib.closing(sqlite3.connect(folder / "isotherm.db")) as database:
        return [str(one) for (one,) in database.execute(f"SELECT {column} FROM {table} WHERE {where}")]


def _stacks(folder: Path) -> list[str]:
    return rows(folder, "stacks", where=f"tomb = '' AND name != '{STACK}'")


def stacks_of_one(folder: Path) -> list[str]:
    """Return the stacks beside that of the example, each with the simulated object in it."""
    return [f"{stack} {one}" for stack, one in itertools.zip_longest(_stacks(folder), simulated(folder))]


def processes(folder: Path) -> list[str]:
    """Return the tokens of the commands that run."""
    return [token for token, state in _supervised(folder) if state.is_kept or state.is_running]


def end_process(folder: Path, token: str) -> None:
    """Kill a command and its supervisor, and wait until both have ended."""
    state = dict(_supervised(folder))[token]
    for one in (state.keeper, state.child):
        if one is not None:
            os.kill(one[0], signal.SIGKILL)
    while state.has_keeper or state.is_running:
        pass


def _supervised(folder: Path) -> Iterator[tuple[str, supervisor_client.State]]:
    base = folder / "local"
    for one in base.glob(".isotherm/processes/*.json"):
        if (state := supervisor_client.state(confinement.Confined(base), one.stem)) is not None:
            yield one.stem, state


class Service:
    """A service with objects that have ids of its own and are found by their keys."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        #: Documents by their paths; they stay.
        self.documents: dict[str, Any] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        # Not closed when it stops: tests of a module may run in two parts, with others between them.
        atexit.register(self._server.server_close)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()

    def _answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        id_ = path.rpartition("/")[2]
        if path in self.documents:
            return 200, self.documents[path]
        if method == "POST":
            id_ = f"o{len(body['key'])}-{body['key']}"
            self.objects[id_] = body
            return 201, {"id": id_}
        if "?key=" in path:
            key = path.rpartition("=")[2]
            return 200, [{"id": one} for one, object_ in self.objects.items() if object_["key"] == key]
        if id_ not in self.objects:
            return 404, None
        if method == "DELETE":
            del self.objects[id_]
            return 204, None
        if method == "PUT":
            self.objects[id_].update(body)
        return 200, self.objects[id_]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = service._answer(self.command, self.path, json.loads(body) if body else None)
                content = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - so the library wants it

            def log_message(self, *_: object) -> None:
                pass

        return Handler
