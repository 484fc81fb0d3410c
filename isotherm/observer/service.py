"""The observer: takes the stacks whose turn it is, looks at some of their resources, and has mended what is to be.

Several share the work: each takes what is due, under a lease, and if one dies its stacks are due again when the lease has
run out. It keeps nothing that the database does not have. A hint only makes a stack due; whoever loses one looks later.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isotherm import errors
from isotherm.config import Settings
from isotherm.observer import policies
from isotherm.observer.observe import Finding, RealityReader, StackRef
from isotherm.observer.rate_limit import RateLimit
from isotherm.observer.record import DriftRecorder, Result, WatchState, is_to_repair, watch_state
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.states import DriftPolicy, Sight, WatchMode
from isotherm.store.database.writer import Connection, Store
from isotherm.store.watch import goals, repair_records, resources
from isotherm.store.watch import schedule as watching
from isotherm.store.watch.resources import Target
from isotherm.store.watch.schedule import Watch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How an observer works. `lease_s` is how long a dead one's stacks are not looked at."""

    lease_s: float = 30.0
    # So many stacks are looked at side by side.
    concurrency: int = 32
    # How long an idle one sleeps before it looks whether something is due; how often it looks for new stacks.
    idle_s: float = 0.25
    enrol_s: float = 1.0
    beat_s: float = 5.0


class Repairer(Protocol):
    """Accepts repairs for the stacks of a project."""

    async def repair(
        self, goal: goals.Goal, names: Sequence[str], also: Callable[[Connection, str, float], None]
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What is to be looked at now, and whether the round ends with it."""

    standing: WatchState
    targets: Sequence[Target]
    fresh: Sequence[Target]
    last: bool
    hinted: bool


class Observer:
    """One observer of all stacks of a store."""

    def __init__(  # noqa: PLR0913 - the ports of an observer, one each
        self, name: str, store: Store, context: contract.Context, types: Callable[[str], type[contract.Resource]],
        planning: Planning, menders: Callable[[str], Repairer], settings: Settings,
        tuning: Tuning = Tuning(), chance: random.Random | None = None,  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self._store = store
        self._clock = context.clock
        self._planning = planning
        self._menders = menders
        self._settings = settings
        self._tuning = tuning
        self._chance = chance or random.Random()
        self.budget = RateLimit(settings.observer_rate)
        self._looking = RealityReader(types, context, self.budget, tuning.lease_s * 0.6)
        self._record = DriftRecorder(settings)
        self._intervals = policies.Intervals(settings)
        self._tally = repair_records.Tally()
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._enrol_at = self._beat_at = 0.0

    def wake(self) -> None:
        """Something may be due: look now rather than later."""
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    def load(self) -> int:
        """How many stacks it is looking at."""
        return len(self._tasks)

    async def run(self) -> None:
        """Until it is stopped; what is under way then ends first."""
        recalled = False
        while not self._stopping:
            self._wake.clear()
            try:
                if not recalled:
                    await self._store.write(self._recall)
                recalled = True
                await self._turn()
            except errors.Unavailable:
                log.warning("the database does not answer; trying again")
            await self._sleep()
        await asyncio.gather(*self._tasks)
        try:
            await self._store.write(self._leave)
        except errors.Unavailable:
            log.warning("the database does not answer; others will find out that this observer has gone")

    def _recall(self, connection: Connection) -> None:
        now = self._clock.now()
        watching.recall(connection, now, now + self._intervals.round(None) * (1 + self._settings.observer_jitter))

    async def _sleep(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), self._tuning.idle_s)
        except TimeoutError:
            return

    async def _turn(self) -> None:
        now = self._clock.now()
        free = self._tuning.concurrency - len(self._tasks)
        enrols, beats = now >= self._enrol_at, now >= self._beat_at
        if not await self._store.read(lambda c: watching.is_anything(c, now, enrols=enrols)) and not beats:
            return

        def unit(connection: Connection) -> tuple[list[Watch], int]:
            if enrols:
                watching.enrol(connection, now)
            count = repair_records.beat(connection, self.name, tally, now, 3 * self._tuning.lease_s) if beats else 0
            return watching.take(connection, self.name, now, self._tuning.lease_s, free) if free else [], count

        tally = self._take_tally() if beats else repair_records.Tally()
        taken, count = await self._store.write(unit)
        self._enrol_at = now + self._tuning.enrol_s if enrols else self._enrol_at
        if beats:
            self._beat_at = now + self._tuning.beat_s
            self.budget.share(count)
        for watch in taken:
            task = asyncio.create_task(self._attend(watch))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()

    def _take_tally(self) -> repair_records.Tally:
        tally = self._tally
        self._tally = repair_records.Tally()
        tally.looks, tally.calls = self._looking.looks, self._looking.calls
        self._looking.looks = self._looking.calls = 0
        return tally

    def _leave(self, connection: Connection) -> None:
        now = self._clock.now()
        repair_records.beat(connection, self.name, self._take_tally(), now, 3 * self._tuning.lease_s)
        repair_records.leave(connection, self.name, now)

    # One stack.

    async def _attend(self, watch: Watch) -> None:
        try:
            async with asyncio.timeout(self._tuning.lease_s * 0.8):
                await self._look(watch)
        except (TimeoutError, errors.Unavailable) as error:
            # Its lease runs out, and somebody has another try.
            log.warning("a look at a stack was cut short", extra={"stack_id": watch.stack_id, "reason": repr(error)})
        except Exception:
            log.exception("a look at a stack failed", extra={"stack_id": watch.stack_id})

    async def _look(self, watch: Watch) -> None:
        chunk = await self._store.read(lambda connection: self._chunk(connection, watch))
        looks = await self._looking.look(StackRef(watch.project, watch.stack_name), chunk.targets)
        looks = await self._discreet(watch, looks)
        went_on = self._after(watch, chunk)

        def unit(connection: Connection) -> Result | None:
            if not watching.is_ours(connection, watch, self.name):
                # The stack has moved on: what was seen may be neither the old nor the new.
                watching.give_back(connection, watch, self.name, due=self._clock.now())
                return None
            # Once in a round, so that what fails is not tried again and again without a pause.
            failed = goals.failed(connection, watch) if chunk.last else ()
            result = self._record(connection, watch, chunk.standing, looks, self._clock.now(), failed)
            if not result.to_repair:
                watching.give_back(connection, watch, self.name, **went_on)
            return result

        result = await self._store.write(unit)
        if result is not None:
            self._tally.trips += len(result.given_up)
            if result.to_repair:
                await self._repair(watch, result.to_repair, went_on)

    def _chunk(self, connection: Connection, watch: Watch) -> _Chunk:
        standing = watch_state(connection, watch, self._settings)
        if standing.mode is WatchMode.PAUSED:
            return _Chunk(standing, (), (), last=True, hinted=False)
        most = self._most()
        if watch.hints:
            found = resources.named(connection, watch.stack_id, watch.hints)
            return _Chunk(standing, self._wanted(watch, standing, found, due_only=False), found, last=False, hinted=True)
        found = resources.after(connection, watch.stack_id, watch.cursor, most)
        return _Chunk(standing, self._wanted(watch, standing, found, due_only=True), found, last=len(found) < most,
                      hinted=False)

    def _most(self) -> int:
        """As many as can be looked at well before the lease ends."""
        rate = self.budget.rate
        within = int(rate * self._tuning.lease_s / 3) if rate else self._settings.observer_batch
        return max(1, min(self._settings.observer_batch, within))

    def _wanted(self, watch: Watch, standing: WatchState, found: Sequence[Target], *, due_only: bool) -> list[Target]:
        now = self._clock.now()
        return [
            one for one in found
            if policies.of(one.name, one.metadata, watch.overrides, standing.policy) is not DriftPolicy.IGNORE
            and not (due_only and self._is_fresh(watch, one, now))
        ]

    def _is_fresh(self, watch: Watch, target: Target, now: float) -> bool:
        if target.seen_at is None or (watch.asked_at is not None and target.seen_at < watch.asked_at):
            return False
        interval_s = self._intervals.of(target.type, watch.interval_s) * (1 - self._settings.observer_jitter)
        return now - target.seen_at < interval_s * 0.9

    def _after(self, watch: Watch, chunk: _Chunk) -> dict[str, Any]:
        """How the watch goes on when this chunk is done."""
        now = self._clock.now()
        if chunk.hinted:
            return {"due": now, "hints": watch.hints}
        if not chunk.last:
            return {"due": now, "cursor": chunk.fresh[-1].name, "began_at": watch.began_at or now}
        jitter = self._settings.observer_jitter * (2 * self._chance.random() - 1)
        interval_s = self._intervals.round(watch.interval_s) * (1 + jitter)
        began_at = watch.began_at or now
        return {"due": max(now, began_at + interval_s), "cursor": "", "began_at": None, "looked_at": now}

    async def _discreet(self, watch: Watch, looks: list[Finding]) -> list[Finding]:
        """Why something could not be seen may quote anything."""
        if not any(one.observation.sight is Sight.UNSEEN for one in looks):
            return looks
        secrets = await self._planning.all_secrets(watch.stack_id)
        return [
            dataclasses.replace(one, observation=resources.with_reason(
                one.observation, secrets.text(one.observation.reason))) for one in looks
        ]

    async def _repair(self, watch: Watch, needs: Sequence[goals.Need], went_on: dict[str, Any]) -> None:
        """One ordinary operation. It is counted, and the stack given back, in the transaction that accepts it."""
        names = [one.name for one in needs]
        goal = await self._store.read(lambda connection: goals.of(connection, watch, names))
        later = {**went_on, "due": self._clock.now() + watching.BUSY_S}

        def also(connection: Connection, operation_id: str, now: float) -> None:
            if not watching.is_held(connection, watch, self.name):
                raise errors.Superseded("another observer has this stack now")
            self._expect_wanted(connection, watch, needs, now)
            repairs = repair_records.of_stack(connection, watch.stack_id)
            repair_records.write(connection, watch.stack_id, self._record.count(repairs, names, now))
            watching.give_back(connection, watch, self.name, **{**went_on, "due": now})
            watching.mark_repair(connection, {watch.stack_id, goal.stack_id if goal else watch.stack_id}, operation_id)
            watching.hint(connection, watch.stack_id, names, now)

        try:
            if goal is not None:
                await self._menders(watch.project).repair(goal, names, also)
                self._tally.repairs += len(names)
                return
        except errors.IsothermError as error:
            # Somebody was faster, or the stack cannot be updated: it is seen again, and decided again.
            log.info("a repair was not accepted", extra={"stack_id": watch.stack_id, "reason": str(error)})
        await self._store.write(lambda connection: watching.give_back(connection, watch, self.name, **later))

    def _expect_wanted(self, connection: Connection, watch: Watch, needs: Sequence[goals.Need], now: float) -> None:
        """Refuse what is not to be repaired any more: the project, or a stack around this one, may be paused by now."""
        fresh = watching.one(connection, watch.stack_id, now)
        standing = watch_state(connection, fresh, self._settings)
        if not all(is_to_repair(fresh, standing, one) for one in needs):
            raise errors.Superseded("how the stack is watched has changed")
