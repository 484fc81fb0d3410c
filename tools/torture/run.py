"""One run of the fault test: starts everything, runs users and faults, stops the faults, and checks the result."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.torture.book import Book
from tools.torture.farm import NONE, SQLITE, Farm, Plan
from tools.torture.faults import Faults
from tools.torture.idle import IdleCheck
from tools.torture.reality import Reality
from tools.torture.users import ApiClient, Users
from tools.torture.watch import Watch

USERS = 6
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run."""

    folder: Path
    database: str = SQLITE
    broker: str = NONE
    engines: int = 4
    stacks: int = 20
    seconds: float = 300.0
    seed: int = 0
    apis: int = 2
    # Seconds between two faults, and the longest cut.
    quiet_s: tuple[float, float] = (1.0, 5.0)
    longest_cut_s: float = 18.0
    # Whether the run goes on until every kind of fault was injected.
    every_kind: bool = False


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    options: Options
    took_s: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    recovery: dict[str, Any] = field(default_factory=dict)
    cloud: dict[str, int] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the result as JSON lines."""
        names = ("seed", "seconds", "database", "broker", "engines", "apis", "stacks")
        yield {"torture": "run", **{name: getattr(self.options, name) for name in names}, "took_s": round(self.took_s, 1)}
        yield {"torture": "faults", "total": sum(self.faults.values()), **self.faults, "cuts": self.cuts}
        yield {"torture": "operations", **self.operations}
        yield {"torture": "recovery", **self.recovery}
        yield {"torture": "cloud", **self.cloud}
        yield {"torture": "rest", **self.rest}
        yield {"torture": "result", "ok": not self.problems, "problems": self.problems}


async def torture(options: Options, note: Note) -> Outcome:
    plan = Plan(options.folder, options.database, options.broker, options.engines, options.apis, options.seed)
    farm, outcome = Farm(plan), Outcome(options)
    began = time.monotonic()
    try:
        note("starting")
        await farm.start()
        await _run(options, farm, outcome, note)
    finally:
        await farm.stop()
    outcome.took_s = time.monotonic() - began
    return outcome


async def _run(options: Options, farm: Farm, outcome: Outcome, note: Note) -> None:
    book, client = Book(), ApiClient(farm, random.Random(f"{options.seed} client"))
    names = [f"s{number:02}" for number in range(options.stacks)]
    watch = Watch(client, book)
    crowd = Users(farm, client, book, names, random.Random(f"{options.seed} users"))
    began = time.monotonic()

    def report(what: str) -> None:
        note(f"{time.monotonic() - began:4.0f} s  {len(book.operations)} asked  {watch.ended} ended  "
             f"{sum(faults.injected.values())} faults  {what}")

    faults = Faults(farm, watch, random.Random(f"{options.seed} faults"), report, options.longest_cut_s)
    watching = asyncio.create_task(watch.run())
    rest = IdleCheck(farm, client, book, names, report)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(crowd.run(USERS))
            group.create_task(faults.run(*options.quiet_s))
            await asyncio.sleep(options.seconds)
            if options.every_kind:
                await faults.all_came.wait()
            crowd.stop()
            faults.stop()
        await farm.calm()
        await rest.check()
    finally:
        watching.cancel()
        await client.close()
        (options.folder / "book.json").write_text("\n".join(json.dumps(dataclasses.asdict(one)) for one in book.operations))
    outcome.faults, outcome.cuts = dict(sorted(faults.injected.items())), dict(sorted(faults.cuts.items()))
    outcome.operations = book.tally()
    outcome.recovery = {**watch.recovery(), "operations_seen_to_end": watch.ended, "failed_starts": farm.failed_starts}
    outcome.cloud = Reality(farm.cloud_file, farm.hosts[0] / "reality.journal").tally
    outcome.rest = {**rest.counts, "seconds": rest.seconds}
    outcome.problems = [*farm.crashes, *watch.problems, *rest.problems]
