"""The worker of the convergence architecture: claims due nodes, considers, begins, acts and reports; many nodes at a time.

One turn of its loop is one transaction: it settles the reports of steps that have ended, stores the intents of steps that
begin, and claims the nodes that are due. Steps run as tasks between turns, and none of them blocks the loop (ledger
S2.11). The worker keeps no state that is not in the database: if it is killed, another worker goes on (S0.4).

A claim walks through the methods of `Worker` in their order: `_consider`, `_dispatch`, then `_look_up` and `_consider`
again, or `_act_on_begun` after the next commit, `_act`, `_report`. The report is settled by the next turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.convergence import one_by_one, snapshot_cleanup
from isotherm.engine.steps import act, fail_early, hooks, outcomes
from isotherm.engine.steps.ports import EnginePorts, step_parts
from isotherm.planning import documents, masking
from isotherm.states import NodeState
from isotherm.store.database.writer import Connection
from isotherm.store.fairness.shares import START, Cursor
from isotherm.store.operations import settle, snapshots, stop
from isotherm.store.queue import choose
from isotherm.store.queue import claim as claiming
from isotherm.store.records import Begun, Claim, Operation, Report, Version

log = logging.getLogger(__name__)
# Operations that one turn claims for planning.
_PLANS = 4
# The pause before the next claim where a due node is over the limit of its project: a step elsewhere may end meanwhile.
_HELD_BACK_S = 0.1
# The pause before the next step of a node that was interrupted, if it still has to be done.
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """Timing and limits of a worker. The claims of a dead worker are idle for `lease_s`."""

    lease_s: float = 30.0
    # The number of nodes held at once, and of nodes that one turn claims.
    concurrency: int = 1000
    batch: int = 250
    # The longest sleep of an idle worker before it searches by itself: a message is only a hint.
    idle_s: float = 1.0


class HelperCalls(Protocol):
    """The part of the bus by which workers of several processes share work."""

    def call_for_help(self) -> None:
        """Say that more nodes are due than this worker can claim at once."""

    def capacity_changed(self) -> None:
        """Say that `Worker.has_capacity` has changed."""


class _NoHelpers:
    def call_for_help(self) -> None:
        """Do nothing: there are no other workers."""

    def capacity_changed(self) -> None:
        """Do nothing: there are no other workers."""


@dataclass(slots=True)
class _Held:
    """A claimed node, and the task of its step if one runs."""

    claim: Claim
    guard: act.LeaseGuard
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _Turn:
    """The result of one turn's transaction."""

    # The round-robin cursors over stacks: for nodes, and for operations to plan.
    cursors: tuple[Cursor, Cursor]
    # By claim: whether to act. Claims that are missing were superseded.
    begun: dict[tuple[int, int], Begun] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    snapshots: list[snapshots.UnwantedSnapshot] = field(default_factory=list)
    next_due: float = math.inf
    # More nodes are due now than were claimed.
    more: bool = False


class Worker:
    """One worker of the convergence engine."""

    def __init__(
        self, name: str, ports: EnginePorts, tuning: Tuning = Tuning(),  # noqa: B008 - frozen
        helpers: HelperCalls | None = None,
    ) -> None:
        self.name = name
        self._store = ports.store
        self._clock = ports.context.clock
        self._planning = ports.planning
        self._new_id = ports.new_id
        self._settings = ports.settings
        self._tuning = tuning
        self._helpers = helpers or _NoHelpers()
        parts = step_parts(ports)
        self._decider, self._facts, self._throttle = parts.decider, parts.facts, parts.throttle
        self._runner, self._masker = parts.runner, parts.masker
        self._one_by_one = one_by_one.OneByOne(ports.store, parts.masker, ports.new_id, self._clock.now)
        self._cleaner = snapshot_cleanup.SnapshotCleaner(ports, tuning.lease_s)
        self._held: dict[tuple[int, int], _Held] = {}
        # For the next turn: reports to settle, and beginnings to store.
        self._to_settle: list[Report] = []
        self._to_begin: list[outcomes.Begin] = []
        # Planning of operations, and deletion of snapshots.
        self._background: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._renew_at = 0.0
        # By the last transaction, nothing falls due before this time.
        self._next_due = 0.0
        # Stacks of which a newer operation may have superseded our steps.
        self._superseded: set[str] = set()
        # Calls of `take_turn` that wait for the next commit.
        self._callers: list[asyncio.Future[None]] = []
        self._had_capacity = True
        self._cursors = START, START

    def wake(self) -> None:
        """Search for due nodes now instead of after the sleep."""
        self._next_due = 0.0
        self._wake.set()

    def check_superseded(self, stack_ids: Iterable[str]) -> None:
        """Cancel the steps of these stacks that a newer operation has superseded, and search for due nodes."""
        self._superseded.update(stack_ids)
        self.wake()

    def has_capacity(self) -> bool:
        """Return whether the worker can hold more nodes."""
        return not self._stopping and len(self._held) < self._tuning.concurrency

    async def take_turn(self) -> None:
        """Take a turn for a process that called for help. Returns when the turn is committed or has failed."""
        if self._stopping:
            return
        called = asyncio.get_running_loop().create_future()
        self._callers.append(called)
        self.wake()
        await called

    def stop(self) -> None:
        """Claim nothing more. `run` returns when the steps under way are settled."""
        self._stopping = True
        self._wake.set()

    def load(self) -> tuple[int, int]:
        """Return the number of steps that run, and of nodes that are held."""
        steps = sum(one.task is not None and not one.task.done() for one in self._held.values())
        return steps, len(self._held)

    async def run(self) -> None:
        """Take turns until stopped."""
        while not (self._stopping and not self._held and not self._to_settle and not self._background):
            self._wake.clear()
            callers, self._callers = self._callers, []
            try:
                await self._turn()
            except Exception as error:
                # It is unknown whether the transaction was committed. Drop all claims, as if this worker had died: their
                # leases expire, and the next holder goes on by their intents.
                log.error("a turn failed; starting over", exc_info=masking.loggable(error), extra={"worker": self.name})
                self._drop_claims()
                await asyncio.sleep(self._tuning.idle_s)
            self._answer(callers)
            # Steps that need not wait end within this pass of the loop.
            await asyncio.sleep(0)
            if not self._to_settle and not self._to_begin:
                await self._sleep()

        self._answer(self._callers)

    def _answer(self, callers: Iterable[asyncio.Future[None]]) -> None:
        for called in callers:
            if not called.done():
                called.set_result(None)
        if self._had_capacity is not self.has_capacity():
            self._had_capacity = self.has_capacity()
            self._helpers.capacity_changed()

    def _drop_claims(self) -> None:
        for key, held in self._held.items():
            self._throttle.free(key)
            if held.task is not None:
                held.task.cancel()
        self._held, self._to_settle, self._to_begin = {}, [], []
        self._next_due = 0.0

    async def _sleep(self) -> None:
        """Sleep until the worker is woken, something falls due, or leases have to be renewed."""
        now = self._clock.now()
        until = min(now + self._tuning.idle_s, self._next_due)
        if self._held:
            until = min(until, max(self._renew_at, now))
        if until <= now or self._wake.is_set():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(until - now):
                await self._wake.wait()

    # A turn: settle, begin and claim in one transaction; then act on what was begun, and consider what was claimed.

    async def _turn(self) -> None:
        settled, self._to_settle = self._to_settle, []
        begins, self._to_begin = self._to_begin, []
        turn = await self._commit(settled, begins)
        for report in settled:
            self._held.pop(report.claim.key, None)
        self._act_on_begun(begins, turn.begun)
        self._next_due, self._cursors = turn.next_due, turn.cursors
        if turn.more:
            self._helpers.call_for_help()
        for work in (*map(self._plan, turn.operations), *map(self._cleaner.delete, turn.snapshots)):
            task = asyncio.create_task(work)
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        # Resolves the properties of up to `batch` claims here, on the loop: see docs/walks.md, "Limits of this design".
        for claim in turn.claims:
            self._held[claim.key] = _Held(claim, act.LeaseGuard(self._clock, claim.lease_until))
            self._consider(claim, None)
        await self._renew_leases()

    async def _commit(self, settled: list[Report], begins: list[outcomes.Begin]) -> _Turn:
        try:
            return await self._store.write(lambda connection: self._write_turn(connection, settled, begins))
        except errors.Unavailable:
            raise
        except Exception as error:
            # The database refused a statement, so nothing of the turn was written.
            if not settled and not begins:
                raise
            log.error("a turn cannot be written; writing its parts one by one", exc_info=masking.loggable(error),
                      extra={"worker": self.name})
            return _Turn(self._cursors, await self._one_by_one.write(settled, begins), next_due=0.0)

    def _write_turn(self, connection: Connection, settled: list[Report], begins: list[outcomes.Begin]) -> _Turn:
        now = self._clock.now()
        turn = _Turn(self._cursors)
        if settled:
            settle.reports(connection, settled, self._new_id(), now)
        ahead = claiming.ahead(connection)
        is_late = ahead.deadlines <= now
        if is_late:
            for operation_id in claiming.expired(connection, now):
                stop.time_out(connection, operation_id, self._new_id(), now)
        # After the deadlines: nothing begins for an operation that this transaction ends (I4).
        if begins:
            turn.begun = claiming.begin(connection, [b.beginning for b in begins], now)
        if is_late or len(turn.begun) < len(begins):
            # Superseded claims were given back, and nodes of ended operations are due otherwise.
            ahead = claiming.ahead(connection)
        if not self._stopping:
            capacity = min(self._tuning.batch, self._tuning.concurrency - len(self._held) + len(settled))
            self._claim_due(connection, turn, ahead, capacity, now)
        return turn

    def _claim_due(self, connection: Connection, turn: _Turn, ahead: claiming.Ahead, capacity: int, now: float) -> None:
        """Claim due nodes, operations to plan and snapshots to delete, and find out when the next one is due."""
        until = now + self._tuning.lease_s
        is_held_back = False
        cursor, plan_cursor = self._cursors
        if ahead.nodes <= now:
            request = choose.ClaimRequest(
                self.name, until, capacity, cursor, self._settings.max_parallel_steps_per_project)
            turn.claims, cursor, is_held_back = claiming.take(connection, request, now)
        if ahead.operations <= now:
            turn.operations, plan_cursor = claiming.operations_to_plan(connection, until, now, _PLANS, plan_cursor)
        if ahead.snapshots <= now:
            turn.snapshots = snapshots.due(connection, until, now)
        turn.cursors = cursor, plan_cursor
        if capacity <= 0:
            # The end of the next step wakes the worker; a search before that finds no capacity.
            return
        if turn.claims or turn.operations or turn.snapshots:
            ahead = claiming.ahead(connection)
        turn.next_due = min(ahead)
        turn.more = len(turn.claims) == capacity and turn.next_due <= now
        if is_held_back and not turn.claims:
            turn.next_due = now + _HELD_BACK_S

    async def _plan(self, operation: Operation) -> None:
        try:
            await self._planning.plan(operation)
        except errors.Superseded:
            pass
        except Exception as error:  # the lease of the operation expires, and a worker plans it again
            log.error("planning an operation failed", exc_info=self._masker.loggable_of(error, operation),
                      extra={"operation": operation.id})
        self.wake()

    # A step: consider, begin, act, report.

    def _consider(self, claim: Claim, facts: outcomes.Facts | None) -> None:
        """Decide what to do about the claim, and start that."""
        try:
            answer = hooks.before(claim, self._decider.consider(claim, facts))
        except Exception as error:
            log.error("considering a node failed", exc_info=self._masker.loggable(error, claim), extra=_keys(claim))
            answer = fail_early.raised(claim, error)
        waiting = self._throttle.take(claim, answer)
        if waiting is not None:
            self._report(waiting)
        else:
            self._dispatch(claim, answer)

    def _dispatch(self, claim: Claim, answer: outcomes.Answer) -> None:
        if isinstance(answer, Report):
            if self._masker.can_mask_now(answer):
                self._report(self._masker.mask_now(answer))
            else:
                self._spawn(claim, partial(self._report_masked, answer))
        elif isinstance(answer, outcomes.Begin):
            self._to_begin.append(answer)
            self._wake.set()
        elif isinstance(answer, outcomes.Continue):
            self._spawn(claim, partial(self._act, claim, answer.version, answer.intent, answer.target))
        elif isinstance(answer, outcomes.LookUp):
            self._spawn(claim, partial(self._look_up, claim, answer))
        else:
            self._spawn(claim, partial(self._republish, claim, answer))

    async def _look_up(self, claim: Claim, question: outcomes.LookUp) -> None:
        self._consider(claim, await self._facts.find(claim, question, self._held[claim.key].guard))

    def _act_on_begun(self, begins: list[outcomes.Begin], begun: Mapping[tuple[int, int], Begun]) -> None:
        """Act on the beginnings that were committed, and drop the claims that were superseded."""
        for begin in begins:
            # The report is about the row that was begun.
            claim = replace(begin.beginning.claim, version=begin.beginning.version)
            answer = begun.get(claim.key)
            if answer is not None and not answer.acts:
                self._spawn(claim, partial(self._report_masked, fail_early.not_begun(begin.beginning, answer)))
            elif answer is not None:
                self._spawn(claim, partial(self._act, claim, begin.beginning.version, begin.intent, begin.target))
            else:
                self._throttle.free(claim.key)
                self._held.pop(claim.key, None)

    async def _act(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None
    ) -> None:
        report = await self._runner.run(claim, version, intent, target, self._held[claim.key].guard)
        self._report(hooks.after(claim, await self._masker.mask(report, intent.after, intent.before)))

    async def _republish(self, claim: Claim, answer: outcomes.Republish) -> None:
        self._report(await self._runner.republish(claim, answer, self._held[claim.key].guard))

    async def _report_masked(self, report: Report) -> None:
        self._report(await self._masker.mask(report))

    def _report(self, report: Report) -> None:
        """End the step. The next turn settles the report."""
        self._throttle.free(report.claim.key)
        self._to_settle.append(replace(report, ended_at=self._clock.now()) if report.wake_in_s else report)
        self._wake.set()

    def _spawn(self, claim: Claim, step: Callable[[], Awaitable[None]]) -> None:
        """Run a part of a step in a task. The task itself calls it, since a task may never begin."""
        self._held[claim.key].task = asyncio.create_task(self._run_to_report(claim, step))

    async def _run_to_report(self, claim: Claim, step: Callable[[], Awaitable[None]]) -> None:
        """Run a part of a step. Every way out ends in a report, or in a lease that expires."""
        try:
            await step()
        except (errors.Superseded, asyncio.CancelledError):
            # Give the lease back; the intent stays for the next holder. A newer operation is taken up at once; a node of
            # this one after a pause, so that it does not loop.
            if claim.key in self._held:
                self._report(Report(claim, NodeState.SCHEDULED, wake_in_s=_AGAIN_S))
        except errors.Temporary as error:
            await self._report_masked(Report(claim, NodeState.WAITING, wake_in_s=error.retry_after_s, reason=str(error)))
        except Exception as error:
            report = await self._masker.mask(fail_early.raised(claim, error))
            log.error("a step failed in the engine", exc_info=self._masker.loggable(error, claim), extra=_keys(claim))
            self._report(report)

    async def _renew_leases(self) -> None:
        """Renew the leases of long steps, and cancel the steps that a newer operation has superseded."""
        now = self._clock.now()
        superseded, self._superseded = self._superseded, set()
        late = [one for one in self._held.values() if one.claim.stack_id in superseded]
        if now >= self._renew_at:
            self._renew_at = now + self._tuning.lease_s / 3
            late = [one for one in self._held.values() if one.guard.until - now < self._tuning.lease_s * 2 / 3
                    or one.claim.stack_id in superseded]
            if not self.has_capacity():
                self._helpers.call_for_help()
        if not late:
            return
        until = now + self._tuning.lease_s
        ours = await self._store.write(lambda c: claiming.renew(c, [one.claim for one in late], until, now))
        for held in late:
            if held.claim.key in ours:
                held.guard.until = until
            elif held.task is not None:
                held.task.cancel()


def _keys(claim: Claim) -> dict[str, object]:
    return {"node": claim.node_id, "resource": claim.name}
