"""Checks after the faults, from outside and without manual repair (I1, I2, I13, I14, I16).

1. Every stack becomes idle by itself.
2. Its state is that of an operation that may be the newest accepted one, and the cloud has exactly its objects. A failure
   is accepted only where the cloud gave the reason, or where a user cancelled.
3. Every object in the cloud is owned by a row of the database, and no rows are left over.
4. An ordinary update repairs every failed stack; after all stacks are deleted, nothing is left.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from isotherm.states import OperationState
from isotherm.store import tables as t
from tools.torture import book, shapes, users
from tools.torture.book import Book
from tools.torture.cloud import INJECTED
from tools.torture.farm import Farm
from tools.torture.reality import Reality, Thing
from tools.torture.users import ApiClient, StackView, Unreachable

# Time for leases, retries with back-off, and a busy machine.
PATIENCE_S = 240.0
UNFINISHED = (OperationState.PLANNING, OperationState.UPDATING, OperationState.CLEANING)
CANCELLED = "cancelled"


@dataclass(slots=True)
class IdleCheck:
    """The checks in the idle state, and the problems that they found."""

    farm: Farm
    client: ApiClient
    book: Book
    names: list[str]
    note: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    async def check(self) -> None:
        if not await self._settled("rest"):
            return
        reality = self._look()
        self.problems += reality.wrong
        stacks = {name: await self.client.stack(name) for name in self.names}
        failed = []
        for name, seen in stacks.items():
            found = list(self._judge(name, seen, reality))
            if not found and seen is not None and seen.status.endswith("_COMPLETE"):
                found += await self._compare_api(seen, reality)
            self.problems += [f"{name}: {text}" for text in found]
            self.counts["gone" if seen is None else "failed" if seen.status.endswith("_FAILED") else "equal"] += 1
            if seen is not None and seen.status.endswith("_FAILED"):
                failed.append(seen)
        self.problems += self._unowned(reality)
        self.problems += self._piled_up()
        if not self.problems:
            await self._mend(failed)
        if not self.problems:
            await self._delete_all()

    def _look(self) -> Reality:
        return Reality(self.farm.cloud_file, self.farm.hosts[0] / "reality.journal")

    # To come to rest.

    async def _settled(self, what: str) -> bool:
        """Return whether all stacks, nested ones included, became idle."""
        began = noted = time.monotonic()
        busy: list[str] = ["no API answers"]
        while time.monotonic() < began + PATIENCE_S:
            try:
                listed = await self.client.read("/stacks?show_nested=true")
                busy = [f"{one.name} is {one.status}: {one.reason}" for one in map(StackView.read, listed["stacks"])
                        if one.in_progress]
            except Unreachable:
                busy = ["no API answers"]
            if not busy:
                self.seconds[what] = round(time.monotonic() - began, 1)
                return True
            if time.monotonic() > noted + 3:
                noted = time.monotonic()
                self.note(f"coming to rest: {len(busy)} in progress")
            await asyncio.sleep(0.5)
        self.problems += [f"not at rest after {PATIENCE_S:.0f} s: {one}" for one in busy]
        return False

    # What a stack may be.

    def _judge(self, name: str, seen: StackView | None, reality: Reality) -> Iterator[str]:
        newest = list(self.book.newest(name))
        candidates = ", ".join(f"{one.kind} {one.edition} {one.outcome}" for one in newest)
        if seen is None:
            if not self.book.may_never_have_been(name) and not any(one.kind == book.DELETE for one in newest):
                yield f"it is gone, but what may be the newest is {candidates}"
            yield from (f"it is gone, and {one.id} ({one.path}) is not" for one in reality.of(name))
            return
        broke = bool(reality.broken & {name, ""})
        back = any(one.kind == book.CANCEL or (one.rolls_back and broke) for one in newest)
        allowed = {one.edition for one in newest if one.kind != book.DELETE}
        if back:
            allowed |= {"", *(one.edition for one in self.book.of(name) if one.outcome != book.REFUSED)}
        # A failed delete leaves the edition as it was.
        deleting = seen.status.startswith("DELETE_") and any(one.kind == book.DELETE for one in newest)
        if seen.edition not in allowed and not deleting:
            yield f"it is {seen.edition} {seen.status}, but what may be the newest is {candidates}"
        if seen.status.endswith("_FAILED"):
            stayed = CANCELLED in seen.reason and any(one.kind == book.STAY for one in self.book.of(name))
            if INJECTED not in seen.reason and not stayed:
                yield f"{seen.status} for no reason that anybody gave: {seen.reason}"
            return
        yield from compare(shapes.expected(self.book.editions[seen.edition]), reality.of(name))

    async def _compare_api(self, seen: StackView, reality: Reality) -> list[str]:
        """Compare the resources that the API shows with the objects in the cloud."""
        listed = await self.client.read(f"/stacks/{seen.name}/{seen.id}/resources?nested_depth=5")
        rows = {one["resource_name"]: one for one in listed["resources"] if not one.get("parent_resource")}
        owned = {one["physical_resource_id"] for one in listed["resources"]
                 if one["resource_type"] == "Isotherm::Http::Object"}
        there = {one.id: one.path for one in reality.of(seen.name)}
        found = [f"the API says {sorted(owned)}, the cloud has {sorted(there)}"] if owned != there.keys() else []
        for name, size, needs in shapes.tests(self.book.editions[seen.edition]):
            live = reality.tests.get(rows[name]["physical_resource_id"] if name in rows else "")
            value = [] if live is None else live["properties"]["value"].split()
            if value[:1] != [str(size)] or sorted(there.get(one, one) for one in value[1:]) != sorted(needs):
                found.append(f"{name} should be {size} {needs}, and is {value}")
        return found

    # The database.

    def _unowned(self, reality: Reality) -> list[str]:
        """I1: every object has a row."""
        engine = sa.create_engine(self.farm.database_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            owned = set(connection.execute(sa.select(t.resources.c.token)).scalars())
        return [f"nobody owns {id_}" for token, id_ in reality.tokens.items() if token not in owned]

    def _piled_up(self) -> list[str]:
        """I16, I10: no rows are left over, and no operation is left in progress."""
        questions = {
            "operations have not ended": sa.select(sa.func.count()).select_from(t.operations)
            .where(t.operations.c.state.in_(UNFINISHED)),
            "edges lead nowhere": sa.select(sa.func.count()).select_from(t.edges)
            .where(~sa.exists().where(t.nodes.c.id == t.edges.c.src)),
            "rows are left of stacks that are gone": sa.select(sa.func.count()).select_from(t.resources).join(
                t.stacks, t.stacks.c.id == t.resources.c.stack_id).where(t.stacks.c.tomb != ""),
            "texts are kept that nobody uses": sa.select(sa.func.count()).select_from(t.blobs)
            .where(~sa.exists().where(t.uses.c.hash == t.blobs.c.hash)),
        }
        engine = sa.create_engine(self.farm.database_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            found = {text: connection.execute(question).scalar_one() for text, question in questions.items()}
        return [f"{count} {text}" for text, count in found.items() if count]

    # Afterwards.

    async def _mend(self, failed: list[StackView]) -> None:
        asleep = [seen for seen in failed if seen.status.startswith("SUSPEND")]
        for seen in asleep:
            await self._ask(seen, book.RESUME)
        if asleep and not await self._settled("resumed"):
            return
        for seen in failed:
            await self._ask(seen, book.UPDATE, self.book.editions[seen.edition])
        if not failed or not await self._settled("mended"):
            return
        reality = self._look()
        for seen in failed:
            now = await self.client.stack(seen.name)
            if now is None or not now.status.endswith("_COMPLETE"):
                self.problems.append(f"{seen.name}: an update did not put it right: {now}")
            else:
                found = compare(shapes.expected(self.book.editions[now.edition]), reality.of(seen.name))
                self.problems += [f"{seen.name}: after an update, {text}" for text in found]
            self.counts["mended"] += 1
        self.problems += self._unowned(reality)

    async def _delete_all(self) -> None:
        for name in self.names:
            if (seen := await self.client.stack(name)) is not None:
                await self._ask(seen, book.DELETE)
        if not await self._settled("deleted"):
            return
        listed = await self.client.read("/stacks?show_nested=true")
        self.problems += [f"{one['stack_name']} was deleted, and is {one['stack_status']}" for one in listed["stacks"]]
        reality = self._look()
        self.problems += reality.wrong
        self.problems += [f"all was deleted, and {id_} is left" for id_ in reality.tokens.values()]
        self.problems += self._piled_up()

    async def _ask(self, seen: StackView, kind: str, shape: shapes.Shape | None = None) -> None:
        operation = self.book.ask(seen.name, kind, time.monotonic(), shape)
        await users.perform(self.client, self.farm.cloud, operation, shape, seen)
        if operation.outcome != book.ACCEPTED:
            self.problems.append(f"{seen.name}: with all at rest, {kind} was answered {operation.said}")


def compare(wanted: dict[str, shapes.Expected], there: list[Thing]) -> Iterator[str]:
    """Yield the differences between the expected and the existing objects."""
    by_path: dict[str, list[Thing]] = {}
    for thing in there:
        by_path.setdefault(thing.path, []).append(thing)
    for path, things in by_path.items():
        if path not in wanted:
            yield f"{path} is there ({', '.join(one.id for one in things)}) and is not wanted"
        elif len(things) > 1:
            yield f"{path} is there {len(things)} times: {', '.join(one.id for one in things)}"
    ids = {one.id: one.path for one in there}
    for path, one in wanted.items():
        if path not in by_path:
            yield f"{path} is missing"
            continue
        live = by_path[path][0]
        uses, names = (sorted(ids.get(id_, f"{id_}?") for id_ in some) for some in (live.uses, live.names))
        if (live.size, uses, names) != (one.size, sorted(one.uses), sorted(one.names)):
            yield f"{path} ({live.id}) is {live.size} {uses} {names}, and should be {one}"
