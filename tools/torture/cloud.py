"""A cloud for the fault test: an HTTP service with objects in a store of its own.

    python -m tools.torture.cloud STORE PORT SEED

It takes time to answer, to build and to delete, answers 503 and 500, and at times does a call and drops the answer. It
refuses to delete an object that another one uses, to use a missing object, and to create two objects for one token. The
journal has every call but reads, in order, for the check. A call takes effect at once; the answer takes time.
"""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

# The text of an injected 500, so that it can be told from a real failure.
INJECTED = "injected trouble"
_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS objects (
  id TEXT PRIMARY KEY, token TEXT UNIQUE NOT NULL, stack TEXT NOT NULL, body TEXT NOT NULL,
  made_at REAL NOT NULL, ready_at REAL NOT NULL, gone_at REAL
);
CREATE TABLE IF NOT EXISTS calls (
  number INTEGER PRIMARY KEY, at REAL NOT NULL, method TEXT NOT NULL, id TEXT NOT NULL, token TEXT NOT NULL,
  stack TEXT NOT NULL, status INTEGER NOT NULL, trouble TEXT NOT NULL, wrong TEXT NOT NULL, body TEXT NOT NULL
);
"""


class Trouble(NamedTuple):
    """A fault of a call, with its number in a hundred calls. `done`: whether the call takes effect all the same."""

    name: str
    percent: float
    status: int = 0
    done: bool = True


TROUBLES = (
    Trouble("slow", 8.0), Trouble("dropped", 2.0), Trouble("busy", 3.0, 503, done=False), Trouble("busy, done", 0.5, 503),
    Trouble("broken", 0.15, 500, done=False), Trouble("broken, done", 0.1, 500),
)
FINE = Trouble("", 100.0)


class Answer(NamedTuple):
    status: int
    body: Any = None
    # The mistake of the engine, if the call should never have been made.
    wrong: str = ""
    stack: str = ""


class Store:
    """The objects, and the journal."""

    def __init__(self, file: Path, dice: random.Random) -> None:
        self._database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._database.executescript(_TABLES)
        self._lock = threading.Lock()
        self._dice = dice
        self.calm = False

    def close(self) -> None:
        self._database.close()

    def trouble(self) -> Trouble:
        if self.calm:
            return FINE
        thrown = self._dice.uniform(0, 100)
        for one in TROUBLES:
            thrown -= one.percent
            if thrown < 0:
                return one
        return FINE

    def call(self, method: str, path: str, token: str, body: str) -> tuple[Answer, Trouble]:
        """Do a call and write it into the journal; return the answer, and the fault of the answer."""
        trouble = self.trouble()
        url = urlsplit(path)
        id_ = url.path.removeprefix("/objects").strip("/")
        with self._lock, self._database:
            self._database.execute("BEGIN")
            if trouble.done:
                answer = self._answer(method, id_, token or "".join(parse_qs(url.query).get("token", [])), body)
            else:
                answer = Answer(trouble.status, stack=self._stack(id_, body))
            if method != "GET" or trouble.status == 500:
                status = trouble.status or answer.status
                self._database.execute(
                    "INSERT INTO calls (at, method, id, token, stack, status, trouble, wrong, body) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [time.time(), method, id_ or _id_in(answer), token, answer.stack or self._stack(id_, body), status,
                     trouble.name, answer.wrong, body])
        return answer, trouble

    def _stack(self, id_: str, body: str) -> str:
        if body:
            return str(json.loads(body).get("stack", ""))
        found = self._database.execute("SELECT stack FROM objects WHERE id = ?", [id_]).fetchone()
        return found[0] if found else ""

    def _answer(self, method: str, id_: str, token: str, body: str) -> Answer:
        if method == "POST":
            return self._make(token, json.loads(body))
        if not id_:
            found = self._database.execute(f"SELECT id FROM objects WHERE token = ? AND {_LIVES}", [token, time.time()])
            return Answer(200, [{"id": one} for (one,) in found])
        row = self._database.execute(
            f"SELECT body, ready_at, gone_at, stack FROM objects WHERE id = ? AND {_LIVES}", [id_, time.time()]).fetchone()
        if row is None:
            return Answer(404)
        if method == "PUT":
            return self._change(id_, json.loads(body))
        if method == "DELETE":
            return self._delete(id_, row)
        status = "READY" if row[1] <= time.time() else "BUILDING"
        return Answer(200, {"id": id_, "status": status, "object": json.loads(row[0])})

    def _make(self, token: str, body: dict[str, Any]) -> Answer:
        if not token:
            return Answer(400, wrong="a request to make something has no token")
        known = self._database.execute("SELECT id, body, gone_at FROM objects WHERE token = ?", [token]).fetchone()
        if known is not None and known[2] is not None:
            return Answer(410, "it was made, and deleted")
        if known is not None:
            return Answer(200, {"id": known[0]})
        if missing := self._missing(body):
            return Answer(409, f"there is no {missing}", wrong=f"made to use {missing}, which is not there")
        (count,) = self._database.execute("SELECT COUNT(*) FROM objects").fetchone()
        now, id_ = time.time(), f"o{count + 1}"
        ready = now if self.calm or self._dice.random() < 0.7 else now + self._dice.uniform(0.2, 1.5)
        self._database.execute("INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?, NULL)",
                               [id_, token, body.get("stack", ""), json.dumps(body), now, ready])
        return Answer(201, {"id": id_})

    def _change(self, id_: str, body: dict[str, Any]) -> Answer:
        if missing := self._missing(body):
            return Answer(409, f"there is no {missing}", wrong=f"changed to use {missing}, which is not there")
        self._database.execute("UPDATE objects SET body = ? WHERE id = ?", [json.dumps(body), id_])
        return Answer(200, {"id": id_})

    def _delete(self, id_: str, row: tuple[str, float, float | None, str]) -> Answer:
        if row[2] is not None:
            return Answer(202, stack=row[3])
        if users := self._users(id_):
            return Answer(409, f"used by {users}", wrong=f"deleted while {users} uses it", stack=row[3])
        later = not self.calm and self._dice.random() < 0.2
        gone = time.time() + (self._dice.uniform(0.2, 1.5) if later else 0.0)
        self._database.execute("UPDATE objects SET gone_at = ? WHERE id = ?", [gone, id_])
        return Answer(202 if later else 204, stack=row[3])

    def _missing(self, body: dict[str, Any]) -> str:
        living = {id_ for id_, _ in self._living()}
        return ", ".join(one for one in body.get("uses", ()) if one not in living)

    def _users(self, id_: str) -> str:
        return ", ".join(other for other, body in self._living() if id_ in json.loads(body).get("uses", ()))

    def _living(self) -> list[tuple[str, str]]:
        return self._database.execute(f"SELECT id, body FROM objects WHERE {_LIVES}", [time.time()]).fetchall()


_LIVES = "(gone_at IS NULL OR gone_at > ?)"


def _id_in(answer: Answer) -> str:
    return str(answer.body.get("id", "")) if isinstance(answer.body, dict) else ""


def handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            if self.path == "/calm":
                store.calm = True
                self.answer(204, None)
                return
            answer, trouble = store.call(self.command, self.path, self.headers.get("Idempotency-Key", ""), body)
            if trouble.name == "slow":
                time.sleep(random.uniform(0.2, 2.0))
            if trouble.name == "dropped":
                self.close_connection = True
            elif trouble.status:
                self.answer(trouble.status, INJECTED)
            else:
                self.answer(answer.status, answer.body)

        def answer(self, status: int, body: Any) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            # The caller may be dead by now.
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                if status == 503:
                    self.send_header("Retry-After", "1")
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - so the library wants it

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def main() -> None:
    file, port, seed = sys.argv[1:]
    server = Server(("127.0.0.1", int(port)), handler(Store(Path(file), random.Random(seed))))
    server.serve_forever()


if __name__ == "__main__":
    main()
