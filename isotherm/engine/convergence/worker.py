"""The worker: takes what is due, decides, makes intents durable, acts, and reports; many at a time, in few commits.

One turn of its loop is one transaction: the reports of steps that have ended, the intents of what was decided in the turn
before, and the claim of what is due next. Steps run as tasks between turns, and none of them keeps the loop (ledger
S2.11). The worker keeps nothing that the database does not have: kill it anywhere, and another goes on (S0.4).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.convergence import one_by_one, snapshot_cleanup
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps import act, consider, fail_early, hooks, lookup, outcomes
from isotherm.engine.steps import reports as reports_steps
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.planning import documents
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.states import NodeState
from isotherm.store.database.writer import Connection, Store
from isotherm.store.fairness.shares import START, Place
from isotherm.store.operations import settle, snapshots, stop
from isotherm.store.queue import claim as claiming
from isotherm.store.records import Claim, Operation, Report, Version

log = logging.getLogger(__name__)
# How many operations are taken in one turn to be planned.
_PLANS = 4
# When to look again where something is due that its project may not have yet: the end of a step elsewhere may let it go on.
_HELD_BACK_S = 0.1
# When to look again at what was given up, and is still ours to do.
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a worker works. `lease_s` is how long a dead worker's work lies idle."""

    lease_s: float = 30.0
    # How many steps may be under way at once, and how many nodes one turn takes.
    concurrency: int = 1000
    batch: int = 250
    # How long an idle worker sleeps at most before it looks by itself: a message is only a hint.
    idle_s: float = 1.0


@dataclass(slots=True)
class _Running:
    claim: Claim
    guard: act.LeaseGuard
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _Turn:
    """What one transaction brought."""

    # Where the looks at the stacks that share ended: for nodes, and for operations to plan.
    places: tuple[Place, Place]
    begun: dict[tuple[int, int], bool] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    snapshots: list[snapshots.Doomed] = field(default_factory=list)
    next_due: float = math.inf
    # There is more that is due now.
    more: bool = False


class Worker:
    """One worker of the convergence engine."""

    def __init__(  # noqa: PLR0913 - the ports of a worker, one each
        self, name: str, store: Store, context: contract.Context, types: outcomes.Types, planning: Planning,
        new_id: Callable[[], str], tuning: Tuning = Tuning(), nesting: InnerStacksFactory | None = None,  # noqa: B008 - frozen
        settings: Settings = Settings(), slots: TypeThrottle | None = None,  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self._store = store
        self._clock = context.clock
        self._planning = planning
        self._new_id = new_id
        self._tuning = tuning
        self._settings = settings
        self._slots = slots or TypeThrottle.of(settings, context)
        self._consider = consider.Decider(types, new_id, tolerant=settings.tolerates_unseen)
        self._act = act.StepRunner(types, context, nesting)
        self._tell = reports_steps.ReportMasker(planning, types)
        self._apart = one_by_one.OneByOne(store, self._tell, new_id, self._clock.now)
        self._find_out = lookup.FactFinder(self._act, planning, self._tell)
        self._running: dict[tuple[int, int], _Running] = {}
        self._reports: list[Report] = []
        self._begins: list[outcomes.Begin] = []
        self._forgetting = snapshot_cleanup.SnapshotCleaner(store, context, types, planning, tuning.lease_s)
        # Plans of operations, and deletions of snapshots.
        self._chores: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._renew_at = 0.0
        # Nothing falls due before this, as far as the last look at the database told.
        self._next_due = 0.0
        # What others have been told to do with these stacks may have overtaken our steps.
        self._overtaken: set[str] = set()
        # Whoever waits for the next turn to be committed.
        self._callers: list[asyncio.Future[None]] = []
        self._had_room = True
        self._places = START, START
        # Called when more is ready than this worker takes at once, and when its room has come or gone.
        self.surplus: Callable[[], None] = lambda: None
        self.room_changed: Callable[[], None] = lambda: None

    def wake(self) -> None:
        """There may be something to do: look now rather than later."""
        self._next_due = 0.0
        self._wake.set()

    def overtaken(self, stack_ids: Iterable[str]) -> None:
        """Something newer may have been asked of these stacks: look, and give up the steps that it overtakes."""
        self._overtaken.update(stack_ids)
        self.wake()

    def has_room(self) -> bool:
        return not self._stopping and len(self._running) < self._tuning.concurrency

    async def come(self) -> None:
        """Take a turn for somebody who has too much. Returns when it has been committed, or was in vain."""
        if self._stopping:
            return
        called = asyncio.get_running_loop().create_future()
        self._callers.append(called)
        self.wake()
        await called

    def stop(self) -> None:
        """Take nothing more. `run` returns when what is under way has been recorded; leases of the rest run out."""
        self._stopping = True
        self._wake.set()

    def load(self) -> tuple[int, int]:
        """How many steps are under way, and how many nodes it holds."""
        steps = sum(one.task is not None and not one.task.done() for one in self._running.values())
        return steps, len(self._running)

    async def run(self) -> None:
        while not (self._stopping and not self._running and not self._reports and not self._chores):
            self._wake.clear()
            callers, self._callers = self._callers, []
            try:
                await self._turn()
            except Exception as error:
                # Whether the transaction took place is not known, so everything is forgotten, as if this worker had
                # died: the leases run out, and what was begun is taken up by its intent.
                log.error("a turn failed; starting over", exc_info=reports_steps.quiet(error), extra={"worker": self.name})
                self._forget()
                await asyncio.sleep(self._tuning.idle_s)
            self._answer(callers)
            # Steps that need not wait end within this one pass of the loop.
            await asyncio.sleep(0)
            if not self._reports and not self._begins:
                await self._rest()

        self._answer(self._callers)

    def _answer(self, callers: Iterable[asyncio.Future[None]]) -> None:
        for called in callers:
            if not called.done():
                called.set_result(None)
        if self._had_room is not self.has_room():
            self._had_room = self.has_room()
            self.room_changed()

    def _forget(self) -> None:
        for key, running in self._running.items():
            self._slots.free(key)
            if running.task is not None:
                running.task.cancel()
        self._running, self._reports, self._begins = {}, [], []
        # What was known of the database is forgotten too: there may be something to do at once.
        self._next_due = 0.0

    async def _turn(self) -> None:
        reports, self._reports = self._reports, []
        begins, self._begins = self._begins, []
        turn = await self._written(reports, begins)
        for report in reports:
            self._running.pop(report.claim.key, None)
        self._start(begins, turn.begun)
        self._next_due, self._places = turn.next_due, turn.places
        if turn.more:
            self.surplus()
        for chore in (*map(self._plan, turn.operations), *map(self._forgetting, turn.snapshots)):
            task = asyncio.create_task(chore)
            self._chores.add(task)
            task.add_done_callback(self._chores.discard)
        for claim in turn.claims:
            guard = act.LeaseGuard(self._clock, claim.lease_until)
            self._running[claim.key] = _Running(claim, guard)
            self._take(claim, None)
        await self._renew()

    async def _written(self, reports: list[Report], begins: list[outcomes.Begin]) -> _Turn:
        try:
            return await self._store.write(lambda connection: self._work(connection, reports, begins))
        except errors.Unavailable:
            raise
        except Exception as error:
            # The database refused something, so that nothing of this was written.
            if not reports and not begins:
                raise
            log.error("a turn cannot be written; trying each part of it alone", exc_info=reports_steps.quiet(error),
                      extra={"worker": self.name})
            return _Turn(self._places, await self._apart(reports, begins), next_due=0.0)

    def _work(self, connection: Connection, reports: list[Report], begins: list[outcomes.Begin]) -> _Turn:
        now = self._clock.now()
        turn = _Turn(self._places)
        if reports:
            settle.reports(connection, reports, self._new_id(), now)
        ahead = claiming.ahead(connection)
        is_late = ahead.deadlines <= now
        if is_late:
            for operation_id in claiming.expired(connection, now):
                stop.time_out(connection, operation_id, self._new_id(), now)
        # After that: nothing is begun for an operation that this very transaction ends (I4).
        if begins:
            turn.begun = claiming.begin(connection, [b.beginning for b in begins], now)
        if is_late or len(turn.begun) < len(begins):
            # What was overtaken has been given back, and what was ended goes on otherwise.
            ahead = claiming.ahead(connection)
        if not self._stopping:
            room = min(self._tuning.batch, self._tuning.concurrency - len(self._running) + len(reports))
            self._collect(connection, turn, ahead, room, now)
        return turn

    def _collect(self, connection: Connection, turn: _Turn, ahead: claiming.Ahead, room: int, now: float) -> None:
        """Take what is due, as far as there is room for it, and see what comes next."""
        until = now + self._tuning.lease_s
        is_held_back = False
        place, place_to_plan = self._places
        if ahead.nodes <= now:
            lease = claiming.Lease(self.name, until, room, place, self._settings.max_parallel_steps_per_project)
            turn.claims, place, is_held_back = claiming.take(connection, lease, now)
        if ahead.operations <= now:
            turn.operations, place_to_plan = claiming.operations_to_plan(connection, until, now, _PLANS, place_to_plan)
        if ahead.snapshots <= now:
            turn.snapshots = snapshots.due(connection, until, now)
        turn.places = place, place_to_plan
        if room <= 0:
            # No more can be carried. The next step that ends wakes us; to look again before that is in vain.
            return
        if turn.claims or turn.operations or turn.snapshots:
            ahead = claiming.ahead(connection)
        turn.next_due = min(ahead)
        turn.more = len(turn.claims) == room and turn.next_due <= now
        if is_held_back and not turn.claims:
            turn.next_due = now + _HELD_BACK_S

    def _start(self, begins: list[outcomes.Begin], begun: Mapping[tuple[int, int], bool]) -> None:
        for begin in begins:
            # As the database has it now: what comes of it is told of the row that was begun.
            claim = replace(begin.beginning.claim, version=begin.beginning.version)
            if claim.key in begun and not begun[claim.key]:
                self._report(begin.forgotten())
            elif claim.key in begun:
                self._spawn(claim, self._step(claim, begin.beginning.version, begin.intent, begin.target))
            else:
                self._slots.free(claim.key)
                self._running.pop(claim.key, None)

    def _take(self, claim: Claim, facts: outcomes.Facts | None) -> None:
        try:
            answer = hooks.before(claim, self._consider(claim, facts))
        except Exception as error:
            log.error("considering a node failed", exc_info=reports_steps.quiet(error),
                      extra={"node": claim.node_id, "resource": claim.name})
            answer = fail_early.raised(claim, error)
        if (waits := self._slots.take(claim, answer)) is not None:
            self._report(waits)
        elif isinstance(answer, Report):
            if self._tell.knows(answer):
                self._report(self._tell.masked(answer))
            else:
                self._spawn(claim, self._told(answer))
        elif isinstance(answer, outcomes.Begin):
            self._begins.append(answer)
            self._wake.set()
        elif isinstance(answer, outcomes.Continue):
            self._spawn(claim, self._step(claim, answer.version, answer.intent, answer.target))
        elif isinstance(answer, outcomes.LookUp):
            self._spawn(claim, self._look_up(claim, answer))
        else:
            self._spawn(claim, self._republish(claim, answer))

    def _report(self, report: Report) -> None:
        self._slots.free(report.claim.key)
        self._reports.append(replace(report, ended_at=self._clock.now()) if report.wake_in_s else report)
        self._wake.set()

    async def _told(self, report: Report) -> None:
        self._report(await self._tell(report))

    def _spawn(self, claim: Claim, work: object) -> None:
        running = self._running[claim.key]
        running.task = asyncio.create_task(self._guarded(claim, work))

    async def _guarded(self, claim: Claim, work: object) -> None:
        """Every way out of a step ends in a report, or in a lease that runs out."""
        try:
            await work  # type: ignore[misc]
        except (errors.Superseded, asyncio.CancelledError):
            # Give the lease back; the intent stays for whoever comes next. What is newer is taken up at once, and what is
            # still ours after some time: nobody turns in circles.
            if claim.key in self._running:
                self._report(Report(claim, NodeState.SCHEDULED, wake_in_s=_AGAIN_S))
        except errors.Temporary as error:
            await self._told(Report(claim, NodeState.WAITING, wake_in_s=error.retry_after_s, reason=str(error)))
        except Exception as error:
            log.error("a step failed in the engine", exc_info=reports_steps.quiet(error),
                      extra={"node": claim.node_id, "resource": claim.name})
            await self._told(fail_early.raised(claim, error))

    async def _step(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None
    ) -> None:
        report = await self._act.step(claim, version, intent, target, self._running[claim.key].guard)
        self._report(hooks.after(claim, await self._tell(report, intent.after, intent.before)))

    async def _republish(self, claim: Claim, answer: outcomes.Republish) -> None:
        self._report(await self._act.republish(claim, answer, self._running[claim.key].guard))

    async def _look_up(self, claim: Claim, question: outcomes.LookUp) -> None:
        self._take(claim, await self._find_out(claim, question, self._running[claim.key].guard))

    async def _plan(self, operation: Operation) -> None:
        try:
            await self._planning.plan(operation)
        except errors.Superseded:
            pass
        except Exception as error:  # the operation's lease runs out, and somebody tries again
            log.error(
                "planning an operation failed", exc_info=reports_steps.quiet(error), extra={"operation": operation.id}
            )
        self.wake()

    async def _renew(self) -> None:
        """Keep the leases of steps that take long; give up those that have been overtaken."""
        now = self._clock.now()
        overtaken, self._overtaken = self._overtaken, set()
        late = [r for r in self._running.values() if r.claim.stack_id in overtaken]
        if now >= self._renew_at:
            self._renew_at = now + self._tuning.lease_s / 3
            late = [r for r in self._running.values() if r.guard.until - now < self._tuning.lease_s * 2 / 3
                    or r.claim.stack_id in overtaken]
            if not self.has_room():
                self.surplus()
        if not late:
            return
        until = now + self._tuning.lease_s
        ours = await self._store.write(lambda connection: claiming.renew(connection, [r.claim for r in late], until, now))
        for running in late:
            if running.claim.key in ours:
                running.guard.until = until
            elif running.task is not None:
                running.task.cancel()

    async def _rest(self) -> None:
        """Sleep until something happens, something falls due, or it is time to look."""
        now = self._clock.now()
        until = min(now + self._tuning.idle_s, self._next_due)
        if self._running:
            until = min(until, max(self._renew_at, now))
        if until <= now or self._wake.is_set():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(until - now):
                await self._wake.wait()
