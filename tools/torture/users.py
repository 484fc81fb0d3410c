"""The users of the fault test: each reads a stack, sends a request to one of the APIs, and goes on to another stack.

They overlap on purpose: no user waits for the end of an operation. Only check, suspend and resume are sent to complete
stacks: they would supersede an operation in progress, whose template would then never be reached.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from tools.torture import book, shapes
from tools.torture.book import Book, Operation
from tools.torture.farm import LOOPBACK, Farm

TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class StackView:
    """A stack as the API shows it."""

    id: str
    name: str
    status: str
    reason: str
    edition: str
    updated: str

    @property
    def in_progress(self) -> bool:
        return self.status.endswith("_IN_PROGRESS")

    @classmethod
    def read(cls, listed: Mapping[str, Any]) -> StackView:
        tags = listed["tags"] or [""]
        return cls(listed["id"], listed["stack_name"], listed["stack_status"], listed["stack_status_reason"] or "", tags[0],
                   listed["updated_time"] or "")


class Unreachable(Exception):
    """No API answers."""


class ApiClient:
    """A client of all APIs: a request that one does not answer goes to the next."""

    def __init__(self, farm: Farm, dice: random.Random) -> None:
        self._farm = farm
        self._dice = dice
        self._clients = {
            api.name: httpx2.AsyncClient(base_url=f"http://{LOOPBACK}:{api.port}/v1/default", timeout=TIMEOUT_S,
                                         headers={"X-Auth-Token": farm.token}, follow_redirects=True)
            for api in farm.apis}

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def in_any_order(self) -> list[str]:
        return self._dice.sample(list(self._clients), len(self._clients))

    def lives(self) -> dict[str, int]:
        """Return how often each API was started."""
        return {api.name: api.lives for api in self._farm.apis}

    async def send(self, name: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        """Send a request. Raises ConnectError if nothing was sent, and HTTPError if its outcome is unknown."""
        return await self._clients[name].request(method, path, json=body)

    async def read(self, path: str) -> Any:
        """Return the answer of the first API that answers a GET; None for 404."""
        for name in self.in_any_order():
            try:
                answer = await self._clients[name].get(path)
            except httpx2.HTTPError:
                continue
            if answer.status_code == 404:
                return None
            if answer.status_code == 200:
                return answer.json()
        raise Unreachable(path)

    async def stack(self, name: str) -> StackView | None:
        found = await self.read(f"/stacks/{name}?resolve_outputs=false")
        return None if found is None else StackView.read(found["stack"])


class Users:
    """Several users at once, on shared stacks."""

    def __init__(self, farm: Farm, client: ApiClient, kept: Book, names: list[str], dice: random.Random) -> None:
        self._farm, self._client, self._book, self._names, self._dice = farm, client, kept, names, dice
        self._shapes: dict[str, shapes.Shape] = {}
        # Stacks that one user has for itself at the moment.
        self._alone: set[str] = set()
        self._busy: dict[str, int] = dict.fromkeys(names, 0)
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def run(self, count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(self._user())

    async def _user(self) -> None:
        while not self._stopped:
            name = self._dice.choice(self._names)
            if name not in self._alone:
                self._busy[name] += 1
                try:
                    await self._turn(name)
                except Unreachable:
                    await asyncio.sleep(0.3)
                finally:
                    self._busy[name] -= 1
            await asyncio.sleep(self._dice.uniform(0.05, 0.8))

    async def _turn(self, name: str) -> None:
        seen = await self._client.stack(name)
        kind = self._choose(name, seen)
        if kind in book.VISITS and seen is not None:
            await self._visit(name, kind)
        elif kind:
            await self._ask(name, kind, seen)

    def _choose(self, name: str, seen: StackView | None) -> str:
        if seen is None:
            return book.CREATE
        if seen.status.startswith("SUSPEND"):
            return self._dice.choice((book.RESUME, book.RESUME, book.RESUME, book.DELETE, book.UPDATE))
        if seen.in_progress and self._dice.random() < 0.25:
            cancels = (book.STAY, book.CANCEL) if rolls_back(name) else (book.STAY,)
            return self._dice.choice(cancels) if not seen.status.startswith("DELETE") else ""
        weights = {book.UPDATE: 75, book.DELETE: 12, book.CHECK: 8, book.SUSPEND: 5}
        (kind,) = self._dice.choices(list(weights), list(weights.values()))
        return kind

    async def _visit(self, name: str, kind: str) -> None:
        """Send a check, suspend or resume where no operation is in progress and no other user interferes."""
        if self._busy[name] > 1 or name in self._alone:
            return
        self._alone.add(name)
        try:
            seen = await self._client.stack(name)
            resting = seen is not None and (seen.status.startswith("SUSPEND_") or seen.status.endswith("_COMPLETE"))
            if resting and not self._book.unsettled(name, time.monotonic(), self._client.lives()):
                await self._ask(name, kind, seen)
        finally:
            self._alone.discard(name)

    async def _ask(self, name: str, kind: str, seen: StackView | None) -> Operation:
        shape = None
        if kind in (book.CREATE, book.UPDATE):
            shape = self._shapes[name] = shapes.change(self._dice, self._shapes.get(name, shapes.EMPTY))
        back = shape is not None and rolls_back(name) and self._dice.random() < 0.4
        operation = self._book.ask(name, kind, time.monotonic(), shape, rolls_back=back)
        await perform(self._client, self._farm.cloud, operation, shape, seen)
        return operation


def rolls_back(name: str) -> bool:
    """Return whether updates of the stack roll back; half of the stacks never return to an older edition."""
    return int(name[1:]) % 2 == 1


async def perform(
    client: ApiClient, cloud: str, operation: Operation, shape: shapes.Shape | None, seen: StackView | None
) -> None:
    """Send the request of an operation once, and record the answer."""
    method, path, body = _request(operation, shape, seen, cloud)
    for operation.via in client.in_any_order():
        operation.life = client.lives()[operation.via]
        try:
            answer = await client.send(operation.via, method, path, body)
        except httpx2.ConnectError:
            continue  # nothing was sent: try the next API
        except httpx2.HTTPError as error:
            operation.said = type(error).__name__
            return
        operation.said = f"{answer.status_code} {answer.text[:300] if answer.status_code >= 300 else ''}"
        if answer.status_code >= 500:
            return
        operation.outcome, operation.ended = book.ACCEPTED if answer.status_code < 300 else book.REFUSED, time.monotonic()
        return
    operation.outcome, operation.said, operation.ended = book.REFUSED, "not reached", time.monotonic()


def _request(operation: Operation, shape: shapes.Shape | None, seen: StackView | None, cloud: str) -> tuple[str, str, Any]:
    where = f"/stacks/{operation.stack}/{seen.id}" if seen is not None else "/stacks"
    if shape is not None:
        wanted = {**shapes.render(shape, operation.stack, cloud), "tags": operation.edition,
                  "disable_rollback": not operation.rolls_back}
        if operation.kind == book.CREATE:
            return "POST", where, {**wanted, "stack_name": operation.stack}
        return "PUT", where, wanted
    if operation.kind == book.DELETE:
        return "DELETE", where, None
    return "POST", f"{where}/actions", {operation.kind: None}
