"""Reads all stacks through the API a few times a second: operations that end, times of recovery, and false reads (I14).

The recovery of a fault has two times. `next`: from its end until any operation ends. `all`: from its end until each
operation that was then in progress has ended or was superseded.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tools.torture import book
from tools.torture.book import Book
from tools.torture.users import ApiClient, StackView, Unreachable, rolls_back

PERIOD_S = 0.25


@dataclass(slots=True)
class Recovery:
    """The recovery that is awaited after a fault."""

    kind: str
    since: float
    # Unknown before the first read after the fault.
    under_way: dict[str, StackView] | None = None
    next_s: float | None = None
    all_s: float | None = None


@dataclass(slots=True)
class Watch:
    """The observed ends, recoveries and problems."""

    client: ApiClient
    book: Book
    seen: dict[str, StackView] = field(default_factory=dict)
    recoveries: list[Recovery] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ended: int = 0
    looks: int = 0

    def fault_ended(self, kind: str) -> None:
        self.recoveries.append(Recovery(kind, time.monotonic()))

    def recovery(self) -> dict[str, Any]:
        """Return the times of recovery, over all faults and by kind."""
        kinds = sorted({one.kind for one in self.recoveries})
        return {"next_s": percentiles([one.next_s for one in self.recoveries]),
                "all_s": percentiles([one.all_s for one in self.recoveries]),
                "by_kind": {kind: {
                    "next_s": percentiles([one.next_s for one in self.recoveries if one.kind == kind]),
                    "all_s": percentiles([one.all_s for one in self.recoveries if one.kind == kind])} for kind in kinds}}

    async def run(self) -> None:
        while True:
            with contextlib.suppress(Unreachable):
                await self.look()
            await asyncio.sleep(PERIOD_S)

    async def look(self) -> None:
        began = time.monotonic()
        listed = await self.client.read("/stacks")
        now = time.monotonic()
        found = {one.name: one for one in map(StackView.read, listed["stacks"])}
        self.looks += 1
        self._judge(found, began, now)
        ends = _ends(self.seen, found)
        self.ended += ends
        for one in self.recoveries:
            if one.since < began:
                _follow(one, found, now, ends > 0)
        self.seen = found

    def _judge(self, found: dict[str, StackView], began: float, now: float) -> None:
        """I14: after an accepting answer, reads show that operation or a later one; never one that was refused."""
        refused = self.book.refused()
        for seen in found.values():
            if seen.edition in refused:
                self._wrong(f"{seen.name} shows {seen.edition}, which was refused")
        for name in {one.stack for one in self.book.operations if not rolls_back(one.stack)}:
            self._judge_stack(name, found.get(name), began, now)

    def _judge_stack(self, name: str, seen: StackView | None, began: float, now: float) -> None:
        if seen is not None and seen.status.startswith("DELETE"):
            return  # it shows the edition before
        newest = list(self.book.newest(name, began))
        later = [one for one in self.book.of(name) if one.outcome != book.REFUSED and began <= one.began < now]
        allowed = {one.edition for one in (*newest, *later) if one.kind != book.DELETE}
        gone = any(one.kind == book.DELETE for one in (*newest, *later)) or self.book.may_never_have_been(name, began)
        if seen is None and not gone:
            self._wrong(f"{name} is not there, and nobody deleted it; it may be {sorted(allowed)}")
        if seen is not None and seen.edition not in allowed:
            self._wrong(f"{name} shows {seen.edition} {seen.status}; what was accepted allows {sorted(allowed)}")

    def _wrong(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


def _ends(before: dict[str, StackView], after: dict[str, StackView]) -> int:
    """Return the number of operations that ended between two reads, as far as the reads show."""
    ends = 0
    for name, one in before.items():
        now = after.get(name)
        ends += now is None or (not now.in_progress and (one.in_progress or one.updated != now.updated))
    return ends


def _follow(one: Recovery, found: dict[str, StackView], now: float, ended: bool) -> None:
    if one.under_way is None:
        one.under_way = {name: seen for name, seen in found.items() if seen.in_progress}
        return
    if one.next_s is None and ended:
        one.next_s = now - one.since
    if one.all_s is None and not any(found.get(name) == seen for name, seen in one.under_way.items()):
        one.all_s = now - one.since if one.under_way else None
        one.under_way = one.under_way if one.under_way else {}


def percentiles(values: Iterable[float | None]) -> dict[str, float | int]:
    ordered = sorted(one for one in values if one is not None)
    if not ordered:
        return {"count": 0}
    return {"count": len(ordered), "p50": round(ordered[(len(ordered) - 1) // 2], 2),
            "p99": round(ordered[-1 - len(ordered) // 100], 2), "max": round(ordered[-1], 2)}
