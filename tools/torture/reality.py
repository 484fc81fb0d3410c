"""Reality, apart from the engine's tables: the objects of the cloud, its journal, and the journal of TestResources."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isotherm.resources.reality.journal import JournalReality


@dataclass(frozen=True, slots=True)
class Thing:
    """An object in the cloud."""

    id: str
    token: str
    stack: str
    path: str
    size: int
    uses: tuple[str, ...]
    names: tuple[str, ...]


class Reality:
    """The objects and journals at one time."""

    def __init__(self, cloud: Path, journal: Path) -> None:
        with contextlib.closing(sqlite3.connect(cloud)) as database:
            rows = database.execute("SELECT id, token, stack, body FROM objects WHERE gone_at IS NULL OR gone_at > ?",
                                    [time.time()]).fetchall()
            self.things = [_thing(*row) for row in rows]
            #: Texts of the calls that should never have been made.
            self.wrong: list[str] = [
                f"{method} of {id_} ({stack}): {wrong}" for method, id_, stack, wrong in database.execute(
                    "SELECT method, id, stack, wrong FROM calls WHERE wrong != '' ORDER BY number")]
            #: The stacks to which the cloud answered 500; the name is empty where the call names no stack.
            self.broken: set[str] = {one for (one,) in database.execute("SELECT stack FROM calls WHERE status = 500")}
            self.tally = _tally(database)
        with contextlib.closing(JournalReality(journal)) as tests:
            self.tests: dict[str, dict[str, Any]] = dict(tests.objects)

    def of(self, stack: str) -> list[Thing]:
        return [one for one in self.things if one.stack == stack]

    @property
    def tokens(self) -> dict[str, str]:
        """Return the token of every object, with the name of the object."""
        return {**{one.token: one.id for one in self.things}, **{one["token"]: id_ for id_, one in self.tests.items()}}


def _thing(id_: str, token: str, stack: str, body: str) -> Thing:
    found = json.loads(body)
    return Thing(id_, token, stack, found["path"], int(found["size"]), tuple(found["uses"]), tuple(found["names"]))


def _tally(database: sqlite3.Connection) -> dict[str, int]:
    calls = Counter(dict(database.execute("SELECT trouble, COUNT(*) FROM calls GROUP BY trouble").fetchall()))
    (made,), (gone,) = (database.execute(f"SELECT COUNT({what}) FROM objects").fetchone() for what in ("id", "gone_at"))
    (again,) = database.execute("SELECT COUNT(*) FROM calls WHERE method = 'POST' AND status = 200").fetchone()
    return {"made": made, "deleted": gone, "made_again": again, "calls": calls.total(),
            **{name.replace(", ", "_"): count for name, count in sorted(calls.items()) if name}}
