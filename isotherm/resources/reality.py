"""A reality for types that have no cloud behind them: objects in a journal file, apart from the engine's tables.

Each change is one line appended to the file by one write, so that what happened survives a kill of the process at any
point; several processes may append, and each reads what the others wrote before it answers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from isotherm import errors


class MemoryReality:
    """Objects by physical id, and by the token of whoever made them."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, str] = {}

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        if token in self.tokens or physical_id in self.objects:
            raise errors.Permanent(f"{physical_id} exists already")
        self._change({"id": physical_id, "kind": kind, "token": token, "properties": dict(properties)})

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        found = self.objects.get(physical_id)
        return None if found is None else found["properties"]

    async def find(self, token: str) -> str | None:
        return self.tokens.get(token)

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool:
        found = self.objects.get(physical_id)
        if found is None:
            return False
        self._change({**found, "properties": dict(properties)})
        return True

    async def delete(self, physical_id: str) -> bool:
        if physical_id not in self.objects:
            return False
        self._change({"id": physical_id})
        return True

    def _change(self, entry: dict[str, Any]) -> None:
        self._apply(entry)

    def _apply(self, entry: dict[str, Any]) -> None:
        if "token" in entry:
            self.objects[entry["id"]] = entry
            self.tokens[entry["token"]] = entry["id"]
        else:
            gone = self.objects.pop(entry["id"], None)
            if gone is not None:
                self.tokens.pop(gone["token"], None)


class JournalReality(MemoryReality):
    """The same, in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._read_to = 0
        self._catch_up()

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        self._catch_up()
        await super().create(kind, token, properties, physical_id)

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        self._catch_up()
        return await super().get(physical_id)

    async def find(self, token: str) -> str | None:
        self._catch_up()
        return await super().find(token)

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool:
        self._catch_up()
        return await super().update(physical_id, properties)

    async def delete(self, physical_id: str) -> bool:
        self._catch_up()
        return await super().delete(physical_id)

    def close(self) -> None:
        os.close(self._file)

    def _change(self, entry: dict[str, Any]) -> None:
        # Whoever was killed in the middle of a line must not spoil the next one: hence the first line end.
        torn = self._read_to < os.fstat(self._file).st_size
        os.write(self._file, (b"\n" if torn else b"") + msgspec.json.encode(entry) + b"\n")
        self._catch_up()

    def _catch_up(self) -> None:
        """Read what has been appended since, by whomever. A last line without its end is still being written."""
        size = os.fstat(self._file).st_size
        if size == self._read_to:
            return
        data = os.pread(self._file, size - self._read_to, self._read_to)
        end = data.rfind(b"\n") + 1
        for line in filter(None, data[:end].split(b"\n")):
            with contextlib.suppress(msgspec.DecodeError):  # torn: it never happened
                self._apply(msgspec.json.decode(line))
        self._read_to += end
