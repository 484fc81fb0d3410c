"""Reality for types without a cloud: objects in a journal file, apart from the engine's tables.

Each change is one line, appended by one write, so that it survives a kill at any point. Several processes may append;
each reads the lines of the others before it answers.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from isotherm import errors

Entry = dict[str, Any]
# Bytes that are read at once to get a line; most lines are shorter.
_CHUNK = 1024


class _Reality(ABC):
    """Objects by physical id and by token."""

    @abstractmethod
    def _entry(self, physical_id: str) -> Entry | None: ...

    @abstractmethod
    def _made_by(self, token: str) -> str | None: ...

    @abstractmethod
    def _change(self, entry: Entry) -> None:
        """Apply one change to the object; a change without a token removes it."""

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        if self._made_by(token) is not None or self._entry(physical_id) is not None:
            raise errors.Permanent(f"{physical_id} exists already")
        self._change({"id": physical_id, "kind": kind, "token": token, "properties": dict(properties)})

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        found = self._entry(physical_id)
        return None if found is None else found["properties"]

    async def find(self, token: str) -> str | None:
        return self._made_by(token)

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool:
        found = self._entry(physical_id)
        if found is not None:
            self._change({**found, "properties": dict(properties)})
        return found is not None

    async def delete(self, physical_id: str) -> bool:
        found = self._entry(physical_id)
        if found is not None:
            self._change({"id": physical_id})
        return found is not None


class MemoryReality(_Reality):
    """Reality in memory, for as long as the process lives."""

    def __init__(self) -> None:
        self.objects: dict[str, Entry] = {}
        self.tokens: dict[str, str] = {}

    def _entry(self, physical_id: str) -> Entry | None:
        return self.objects.get(physical_id)

    def _made_by(self, token: str) -> str | None:
        return self.tokens.get(token)

    def _change(self, entry: Entry) -> None:
        if "token" in entry:
            self.objects[entry["id"]] = entry
            self.tokens[entry["token"]] = entry["id"]
        else:
            self.tokens.pop(self.objects.pop(entry["id"])["token"], None)


class JournalReality(_Reality):
    """Reality in a file. In memory is only the position of each object's last line, so that a million objects fit."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines = path.open("rb")
        self._read_to = 0
        self._places: dict[str, int] = {}
        self._tokens: dict[str, int] = {}

    def close(self) -> None:
        self._lines.close()
        os.close(self._file)

    @property
    def objects(self) -> dict[str, Entry]:
        self._catch_up()
        return {physical_id: self._read_line(place) for physical_id, place in self._places.items()}

    def _entry(self, physical_id: str) -> Entry | None:
        self._catch_up()
        place = self._places.get(physical_id)
        return None if place is None else self._read_line(place)

    def _made_by(self, token: str) -> str | None:
        self._catch_up()
        place = self._tokens.get(token)
        return None if place is None else self._read_line(place)["id"]

    def _change(self, entry: Entry) -> None:
        # A process that was killed in the middle of a line must not spoil this one: hence the leading line end.
        torn = self._read_to < os.fstat(self._file).st_size
        line = msgspec.json.encode(entry) + b"\n"
        os.write(self._file, (b"\n" if torn else b"") + line)
        end = self._read_to + len(line)
        if os.fstat(self._file).st_size != end:
            self._catch_up()
            return
        # The file has grown by this line alone, so it need not be read.
        self._index(entry, self._read_to)
        self._read_to = end

    def _catch_up(self) -> None:
        """Read the lines appended since the last read. A last line without a newline is still being written."""
        size = os.fstat(self._file).st_size
        if size < self._read_to:
            raise errors.Permanent("the journal of objects has been cut short")
        if size == self._read_to:
            return
        self._lines.seek(self._read_to)
        for line in self._lines:
            if not line.endswith(b"\n"):
                self._lines.seek(self._read_to)
                return
            with contextlib.suppress(msgspec.DecodeError):  # torn: it never happened
                self._index(msgspec.json.decode(line), self._read_to)
            self._read_to += len(line)

    def _index(self, entry: Entry, place: int) -> None:
        if "token" in entry:
            self._places[entry["id"]] = self._tokens[entry["token"]] = place
        elif (before := self._places.pop(entry["id"], None)) is not None:
            self._tokens.pop(self._read_line(before)["token"], None)

    def _read_line(self, place: int) -> Entry:
        """Return the change in the line at this position."""
        line = b""
        while b"\n" not in line and (more := os.pread(self._file, _CHUNK, place + len(line))):
            line += more
        return msgspec.json.decode(line.partition(b"\n")[0], type=Entry)
