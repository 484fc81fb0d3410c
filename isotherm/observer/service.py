"""The observer process: takes stacks that are due, and observes, compares, records and repairs for each of them.

Several observers share the work. Each takes due stacks under a lease; if an observer dies, its stacks are due again when
the lease has expired. An observer keeps no state that is not in the database. A hint only makes a stack due sooner.
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
from isotherm.observer import policies, watch_state
from isotherm.observer.observe import Finding, RealityReader, StackRef
from isotherm.observer.rate_limit import RateLimit
from isotherm.observer.record import DriftRecorder, Recorded
from isotherm.observer.repair import PlannedRepair
from isotherm.observer.watch_state import WatchState
from isotherm.planning import masking
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.states import DriftPolicy, ObservationResult, WatchMode
from isotherm.store.database.writer import Connection, Store
from isotherm.store.watch import goals, repair_records, resources, schedule
from isotherm.store.watch.resources import WatchedResource
from isotherm.store.watch.schedule import Watch

log = logging.getLogger(__name__)


class Repairer(Protocol):
    """Accepts repairs for the stacks of one project. The orchestrator does."""

    async def repair(self, goal: goals.Goal, names: Sequence[str], planned: PlannedRepair) -> object:
        """Accept an update that repairs these resources, and call `planned.record_acceptance` in its transaction."""
        ...


@dataclass(frozen=True, slots=True)
class ObserverPorts:
    """The ports of an observer. `repairers` returns the Repairer of a project."""

    store: Store
    context: contract.Context
    types: Callable[[str], type[contract.Resource]]
    planning: Planning
    repairers: Callable[[str], Repairer]
    settings: Settings


@dataclass(frozen=True, slots=True)
class Tuning:
    """Timing and limits of an observer. The stacks of a dead observer are not observed for `lease_s`."""

    lease_s: float = 30.0
    # Stacks that are observed at the same time.
    concurrency: int = 32
    # Pauses between two searches for due stacks, between two searches for new stacks, and between two heartbeats.
    idle_s: float = 0.25
    enrol_s: float = 1.0
    beat_s: float = 5.0


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The resources of a stack to observe now. The round through the stack ends with the `last` chunk."""

    state: WatchState
    targets: Sequence[WatchedResource]
    # All resources that the cursor passes, with those that need no observation yet.
    passed: Sequence[WatchedResource]
    last: bool
    hinted: bool


class Observer:
    """One observer of all stacks of a store."""

    def __init__(
        self, name: str, ports: ObserverPorts, tuning: Tuning = Tuning(),  # noqa: B008 - frozen
        chance: random.Random | None = None,
    ) -> None:
        self.name = name
        self._store = ports.store
        self._clock = ports.context.clock
        self._planning = ports.planning
        self._repairers = ports.repairers
        self._settings = ports.settings
        self._tuning = tuning
        self._chance = chance or random.Random()
        self.rate_limit = RateLimit(ports.settings.observer_rate)
        self._reader = RealityReader(ports.types, ports.context, self.rate_limit, tuning.lease_s * 0.6)
        self._recorder = DriftRecorder(ports.settings)
        self._intervals = policies.Intervals(ports.settings)
        self._tally = repair_records.Tally()
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._enrol_at = self._beat_at = 0.0

    def wake(self) -> None:
        """Search for due stacks now instead of after the idle pause."""
        self._wake.set()

    def stop(self) -> None:
        """Take no more stacks. `run` returns when the observations under way have ended."""
        self._stopping = True
        self._wake.set()

    def load(self) -> int:
        """Return the number of stacks that are being observed."""
        return len(self._tasks)

    async def run(self) -> None:
        """Take due stacks until stopped."""
        recalled = False
        while not self._stopping:
            self._wake.clear()
            try:
                if not recalled:
                    await self._store.write(self._recall)
                recalled = True
                await self._take_due_stacks()
            except errors.Unavailable:
                log.warning("the database does not answer; trying again")
            await self._sleep()
        await asyncio.gather(*self._tasks)
        try:
            await self._store.write(self._leave)
        except errors.Unavailable:
            log.warning("the database does not answer; the row of this observer expires by itself")

    def _recall(self, connection: Connection) -> None:
        now = self._clock.now()
        schedule.recall(connection, now, now + self._intervals.round(None) * (1 + self._settings.observer_jitter))

    async def _sleep(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), self._tuning.idle_s)
        except TimeoutError:
            return

    def _leave(self, connection: Connection) -> None:
        now = self._clock.now()
        repair_records.beat(connection, self.name, self._take_tally(), now, 3 * self._tuning.lease_s)
        repair_records.leave(connection, self.name, now)

    async def _take_due_stacks(self) -> None:
        """Enrol new stacks, write the heartbeat, and start a task for each due stack that was taken."""
        now = self._clock.now()
        free = self._tuning.concurrency - len(self._tasks)
        enrols, beats = now >= self._enrol_at, now >= self._beat_at
        if not await self._store.read(lambda c: schedule.is_anything(c, now, enrols=enrols)) and not beats:
            return

        def unit(connection: Connection) -> tuple[list[Watch], int]:
            if enrols:
                schedule.enrol(connection, now)
            count = repair_records.beat(connection, self.name, tally, now, 3 * self._tuning.lease_s) if beats else 0
            return schedule.take(connection, self.name, now, self._tuning.lease_s, free) if free else [], count

        tally = self._take_tally() if beats else repair_records.Tally()
        taken, count = await self._store.write(unit)
        self._enrol_at = now + self._tuning.enrol_s if enrols else self._enrol_at
        if beats:
            self._beat_at = now + self._tuning.beat_s
            self.rate_limit.share(count)
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
        tally.observations, tally.calls = self._reader.observations, self._reader.calls
        self._reader.observations = self._reader.calls = 0
        return tally

    # One stack: choose resources, observe and compare them, record, repair.

    async def _attend(self, watch: Watch) -> None:
        try:
            async with asyncio.timeout(self._tuning.lease_s * 0.8):
                await self._observe_stack(watch)
        except (TimeoutError, errors.Unavailable) as error:
            # The lease expires, and the stack is due again.
            log.warning("an observation of a stack was cut short",
                        extra={"stack_id": watch.stack_id, "reason": str(error) or "it took too long"})
        except Exception as error:
            log.error("an observation of a stack failed", exc_info=await self._loggable(watch, error),
                      extra={"stack_id": watch.stack_id})

    async def _loggable(self, watch: Watch, error: Exception) -> BaseException:
        """Return an error as it may be logged: masked, or without its message if the secrets cannot be read."""
        try:
            secrets = await self._planning.all_secrets(watch.stack_id)
        except Exception:  # noqa: BLE001 - the loop would log it with the first error, unmasked
            return masking.loggable(error)
        return masking.loggable(error, secrets.text(str(error)))

    async def _observe_stack(self, watch: Watch) -> None:
        chunk = await self._store.read(lambda connection: self._choose_targets(connection, watch))
        findings = await self._reader.observe(StackRef(watch.project, watch.stack_name), chunk.targets)
        try:
            findings = await self._mask_reasons(watch, findings)
        except errors.Overtaken:
            # The stack was deleted, or a newer operation has replaced the input whose secrets are masked.
            due = self._clock.now() + schedule.BUSY_S
            await self._store.write(lambda connection: schedule.give_back(connection, watch, self.name, due=due))
            return
        next_turn = self._next_turn(watch, chunk)
        recorded = await self._store.write(lambda c: self._record(c, watch, chunk, findings, next_turn))
        if recorded is None:
            return
        self._tally.trips += len(recorded.given_up)
        if recorded.to_repair:
            await self._repair(watch, recorded.to_repair, next_turn)

    def _choose_targets(self, connection: Connection, watch: Watch) -> _Chunk:
        """Return the hinted resources, or those after the cursor, without those that need no observation."""
        state = watch_state.read(connection, watch, self._settings)
        if state.mode is WatchMode.PAUSED:
            return _Chunk(state, (), (), last=True, hinted=False)
        most = self._chunk_size()
        if watch.hints:
            found = resources.named(connection, watch.stack_id, watch.hints)
            return _Chunk(state, self._wanted(watch, state, found, due_only=False), found, last=False, hinted=True)
        found = resources.after(connection, watch.stack_id, watch.cursor, most)
        return _Chunk(state, self._wanted(watch, state, found, due_only=True), found, last=len(found) < most, hinted=False)

    def _chunk_size(self) -> int:
        """Return how many resources can be observed well before the lease expires."""
        rate = self.rate_limit.rate
        within = int(rate * self._tuning.lease_s / 3) if rate else self._settings.observer_batch
        return max(1, min(self._settings.observer_batch, within))

    def _wanted(
        self, watch: Watch, state: WatchState, found: Sequence[WatchedResource], *, due_only: bool
    ) -> list[WatchedResource]:
        now = self._clock.now()
        return [
            one for one in found
            if policies.of(one.name, one.metadata, watch.overrides, state.policy) is not DriftPolicy.IGNORE
            and not (due_only and self._is_fresh(watch, one, now))
        ]

    def _is_fresh(self, watch: Watch, target: WatchedResource, now: float) -> bool:
        if target.seen_at is None or (watch.requested_at is not None and target.seen_at < watch.requested_at):
            return False
        interval_s = self._intervals.of(target.type, watch.interval_s) * (1 - self._settings.observer_jitter)
        return now - target.seen_at < interval_s * 0.9

    async def _mask_reasons(self, watch: Watch, findings: list[Finding]) -> list[Finding]:
        """Mask secrets in the reasons of unseen objects: a type may quote any value there."""
        if not any(one.observation.result is ObservationResult.UNSEEN for one in findings):
            return findings
        secrets = await self._planning.all_secrets(watch.stack_id)
        return [
            dataclasses.replace(one, observation=resources.with_reason(
                one.observation, secrets.text(one.observation.reason))) for one in findings
        ]

    def _next_turn(self, watch: Watch, chunk: _Chunk) -> dict[str, Any]:
        """Return the columns with which the watch goes on after this chunk."""
        now = self._clock.now()
        if chunk.hinted:
            return {"due": now, "hints": watch.hints}
        if not chunk.last:
            return {"due": now, "cursor": chunk.passed[-1].name, "began_at": watch.began_at or now}
        jitter = self._settings.observer_jitter * (2 * self._chance.random() - 1)
        interval_s = self._intervals.round(watch.interval_s) * (1 + jitter)
        began_at = watch.began_at or now
        return {"due": max(now, began_at + interval_s), "cursor": "", "began_at": None, "observed_at": now}

    def _record(
        self, connection: Connection, watch: Watch, chunk: _Chunk, findings: Sequence[Finding], next_turn: dict[str, Any]
    ) -> Recorded | None:
        """Record the findings, and give the watch back unless a repair follows. Return None if the stack has changed."""
        if not schedule.is_ours(connection, watch, self.name):
            # The observation may show neither the old nor the new state of the stack.
            schedule.give_back(connection, watch, self.name, due=self._clock.now())
            return None
        # Once in a round, so that a failed repair is not repeated without a pause.
        failed = goals.failed(connection, watch) if chunk.last else ()
        recorded = self._recorder.record(connection, watch, chunk.state, findings, self._clock.now(), failed)
        if not recorded.to_repair:
            schedule.give_back(connection, watch, self.name, **next_turn)
        return recorded

    async def _repair(self, watch: Watch, needs: Sequence[goals.Need], next_turn: dict[str, Any]) -> None:
        """Have one update accepted that repairs these resources, or give the watch back if that is not possible."""
        names = [one.name for one in needs]
        goal = await self._store.read(lambda connection: goals.of(connection, watch, names))
        later = {**next_turn, "due": self._clock.now() + schedule.BUSY_S}
        try:
            if goal is not None:
                planned = PlannedRepair(goal, watch, self.name, needs, next_turn, self._settings)
                await self._repairers(watch.project).repair(goal, names, planned)
                self._tally.repairs += len(names)
                return
        except errors.IsothermError as error:
            # Another operation came first, or the stack cannot be updated: it is observed and decided again.
            log.info("a repair was not accepted", extra={"stack_id": watch.stack_id, "reason": str(error)})
        await self._store.write(lambda connection: schedule.give_back(connection, watch, self.name, **later))
