"""One run: plays a history to its end, stops the faults, and checks that everything converges.

Each run ends with an update to the last shape of every stack, without its built-in failures. The update has to succeed from
any state that the faults left behind, without manual repair (I2, I12, I13).
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from isotherm.engine import contexts, orchestrator
from isotherm.planning.planner import Planning
from isotherm.resources.registry import Registry
from isotherm.sim import hosts
from isotherm.sim.checks import idle
from isotherm.sim.checks.evidence import UNFINISHED
from isotherm.sim.checks.observers.idle import ObserverProblems
from isotherm.sim.checks.observers.safety import ObserverChecks
from isotherm.sim.checks.witness import Witness
from isotherm.sim.clients import Clients
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import STACK, History, Request, Verb
from isotherm.sim.hosts import IDLE_S, Hosts, VirtualClock
from isotherm.sim.world import twin_records, types
from isotherm.sim.world.adversary import Adversary
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.cloud import Cloud
from isotherm.sim.world.faults import Faults
from isotherm.sim.world.loop import OutOfSteps, SimLoop
from isotherm.sim.world.store import DatabaseGone, SimStore
from isotherm.sim.world.threads import SimThreads
from isotherm.sim.world.twin import Twin
from isotherm.states import Action
from isotherm.store.memory import MemoryDatabase

# Virtual time within which all operations must end once faults have stopped (I13).
PATIENCE_S = 1200.0
# Virtual time within which observers must have recorded, repaired or given up all drift (I19).
OBSERVED_S = 3000.0
# An operation may end this much after its deadline: idle workers look at the tables in intervals.
GRACE_S = IDLE_S + 6.0


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    seed: int
    violations: list[str]
    lines: list[str]
    hit: Counter[tuple[str, str]]
    struck: int
    virtual_s: float
    steps: int
    commits: int
    calls: int

    @property
    def well(self) -> bool:
        return not self.violations


@functools.cache
def database() -> MemoryDatabase:
    return MemoryDatabase()


@functools.cache
def registry() -> Registry:
    return types.registry()


class _ErrorLogs(logging.Handler):
    """Reports what the engine logs as an error, unless the simulator has caused it."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        error = getattr(error, "original", error)
        if not isinstance(error, DatabaseGone):
            where = "".join(traceback.format_exception(error)[-4:]) if error is not None else ""
            self._write(f"{record.getMessage()}: {type(error).__name__}: {error}\n{where}")


@dataclass(slots=True)
class Log:
    """The readable history of a run."""

    clock: Callable[[], float]
    epoch: float
    lines: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        self.lines.append(f"{self.clock() - self.epoch:9.3f}  {line}")


class Run:
    """The world of one history: loop, store, cloud, hosts, clients and witness."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.chance = Chance(history.dice, history.rates, history.muted)
        self.loop = SimLoop(self.chance.schedule)
        self.epoch = self.loop.time()
        self.log = Log(self.loop.time, self.epoch)
        self.database = database()
        self.database.reset()
        self.faults = Faults(self.loop, self.chance, self.log.note)
        self.store = SimStore(self.database, self.loop, self.chance, self.faults)
        self.cloud = Cloud(self.loop.time, self.chance, self.faults, self.log.note)
        self.witness = Witness(self.database, self.cloud, self.loop.time, self.log.note)
        self.store.witness = self.witness
        self.cloud.witness = self.witness
        self.twin = Twin({twin_records.SERVICE: twin_records.Records(self.cloud, self.chance, self.faults)})
        self.hosts = Hosts(self.loop, self.chance, self.faults, self.store, self.cloud, self.twin)
        self.api = self._orchestrator()
        self.clients = Clients(self.loop, self.api, self.witness, self.cloud, self.chance, self.log.note)
        self.witness.on_wait = self.clients.signal_soon
        self.adversary: Adversary | None = None
        for foreign in shapes.FOREIGN:
            self.cloud.add_foreign(foreign, {"a": foreign})

    def _orchestrator(self, *, convergence: bool = True) -> orchestrator.Orchestrator:
        types, clock = registry(), VirtualClock(self.loop)
        process_ports = contexts.ProcessPorts(self.cloud, Random(0), threads=SimThreads())
        return orchestrator.Orchestrator(orchestrator.ServicePorts(
            self.store, types, clock, self.chance.new_id, Planning(self.store, types, clock),
            hosts.settings(self.history.watched, convergence=convergence), self.hosts.wake,
            lambda: process_ports,
        ))

    def play(self) -> Outcome:
        with self.reporting_errors():
            contextvars.copy_context().run(self._play)
        return Outcome(
            self.history.seed, self.witness.violations, self.log.lines, self.chance.hit, self.chance.struck,
            self.loop.time() - self.epoch, self.loop.steps, self.store.commits, self.cloud.calls,
        )  # fmt: skip

    @contextlib.contextmanager
    def reporting_errors(self) -> Iterator[None]:
        """Report the errors that the engine logs; close the loop in the end."""
        logger = logging.getLogger("isotherm")
        handler = _ErrorLogs(lambda text: self.witness.broken("engine", text))
        propagate, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        try:
            yield
        except OutOfSteps as error:
            self.witness.broken("I13", str(error))
        finally:
            self.loop.close()
            logger.removeHandler(handler)
            logger.propagate = propagate

    def _play(self) -> None:
        self.hosts.start(self.history.workers, self.history.concurrency, registry())
        self._watch()
        sent = [self.clients.send(request) for request in self.history.requests]
        last = max((request.at for request in self.history.requests), default=0.0)
        self.turn(lambda: all(task.done() for task in sent))
        self.turn(self._is_idle, within=120.0 if last else 0.0)
        self._stop_faults()
        for step in (self._settle, self._observe, self._unprotect, self._converge, self._no_change, self._delete):
            if self.witness.violations:
                return
            step()

    def _watch(self) -> None:
        watched = self.history.watched
        if not watched.observers:
            return
        self.witness.observer_checks = ObserverChecks(self.witness.evidence, watched, self.witness.protections)
        self.hosts.watch(watched.observers, hosts.settings(watched))
        if watched.fight is not None:
            self.adversary = Adversary(self.cloud, *watched.fight, self.log.note)
            self.loop.create_task(self.adversary.run(), context=contextvars.Context())

    # The end of a run.

    def _stop_faults(self) -> None:
        self.log.note("faults are over")
        self.chance.faultless = True
        self.hosts.restart()
        if any(shapes.gates(request.shape) for request in self.history.requests):
            self.clients.keep_signalling(self._waiting)

    def _waiting(self) -> list[tuple[str, str]]:
        """Return the handles that have got no signal, with their stacks."""
        heard = {row.resource_id for row in self.database.read_table("signals")}
        return [
            (row.stack_id, row.name) for row in self.database.read_table("resources")
            if row.type == "OS::Heat::WaitConditionHandle" and row.physical_id and row.id not in heard
        ]

    def _settle(self) -> None:
        for name in self.hosts.dead():
            self.witness.broken("engine", f"{name} ended without being killed")
        if not self.turn(self._is_idle, within=PATIENCE_S):
            self._stuck()
        if not self.witness.violations:
            idle.check(self.witness.evidence, drifted=self.witness.drifts.unresolved)

    def _observe(self) -> None:
        """I19: drift is repaired or recorded as the policies say, and then the observers change nothing more."""
        checks, watched = self.witness.observer_checks, self.history.watched
        if checks is None:
            return
        missed = ObserverProblems(self.witness.evidence, checks, watched.limit)
        end = self.loop.time() + OBSERVED_S
        # By then the observers know of each other, and share the budget.
        checks.together_at = self.loop.time() + 2 * hosts.BEAT_S
        done, problems = (-1, -1), ["no observer has looked"]
        while not self.witness.violations and (problems or done != self._done()):
            if self.loop.time() > end:
                what = problems[0] if problems else "observers go on, and there is nothing left to do"
                self.witness.broken("I19", f"{what}, after {OBSERVED_S:.0f} s in a world without faults")
            done = self._done()
            self._pass(watched.interval_s * 1.2)
            problems = missed.find() if self._is_idle() else ["something is under way"]
        if self.adversary is not None:
            self.adversary.stop()
        ending = self.hosts.dismiss_observers()
        if not self.turn(lambda: all(task.done() for task in ending), within=PATIENCE_S):
            self.witness.broken("I19", "an observer does not end")

    def _done(self) -> tuple[int, int]:
        return len(self.witness.operations.operations), self.cloud.calls

    def _pass(self, seconds: float) -> None:
        self.turn(lambda: False, within=seconds)

    @property
    def _looks(self) -> bool:
        """Return whether updates observe reality, because objects drift in this history."""
        drifted = any(request.verb is Verb.DRIFT for request in self.history.requests)
        drifted = drifted or self.witness.drifts.adopted_unfinished
        return drifted or "drift" in self.history.rates or bool(self.history.watched.observers)

    def _unprotect(self) -> None:
        """Lift every protection: what is protected may keep a stack from its shape for ever."""
        for stack_id, name in self.witness.protections.names():
            word = "" if name else STACK
            task = self.clients.send(Request(0.0, stack_id, Verb.UNPROTECT, resource=name, word=word))
            self.turn(task.done, within=PATIENCE_S)

    def _converge(self) -> None:
        """I2: an update to the last shape succeeds from any state."""
        looks = self._looks
        if self.witness.drifts.unresolved and not looks:
            self._ask_all(Verb.CHECK, must=False)
        if any(stack.action == Action.SUSPEND for stack in self._stacks()):
            self._ask_all(Verb.RESUME, must=False)
        self._ask_all(Verb.UPDATE, converge=looks)
        self.witness.drifts.unresolved = False
        for stack in self._stacks():
            operation = self.witness.operations.newest[stack.id]
            self.witness.compare(stack.id, stack.name, operation.shape)

    def _no_change(self) -> None:
        """I16, ledger S2.5: an update to the same shape calls nothing and leaves no rows behind."""
        before, calls = idle.counts(self.database), self.cloud.calls
        # An update that observes reality and finds no drift changes nothing either.
        self._ask_all(Verb.UPDATE, converge=self._looks)
        if self.witness.violations:
            return
        if self.cloud.calls != calls:
            self.witness.broken("I2", "an update without a change called the cloud")
        after = idle.counts(self.database)
        if after != before:
            grown = {table: (before[table], count) for table, count in after.items() if count != before[table]}
            self.witness.broken("I16", f"an update without a change left other numbers of rows: {grown}")

    def _delete(self) -> None:
        if self.history.ends_with_delete:
            self._ask_all(Verb.DELETE)

    def _ask_all(self, verb: Verb, *, must: bool = True, converge: bool = False) -> None:
        """Send this request for every stack, wait until it ends, and expect success."""
        for stack in self._stacks():
            wanted = shapes.feasible(self._last_shape(stack.name)) if verb is Verb.UPDATE else {}
            request = Request(0.0, stack.name, verb, wanted, converge=converge)
            while True:
                lost = self.witness.lost
                task = self.clients.send(request)
                if not self.turn(lambda task=task: task.done() and self._is_idle(), within=PATIENCE_S):  # type: ignore[misc]
                    self._stuck()
                    return
                ending = self.witness.operations.newest[stack.id].endings
                # A lost object fails the operation once, so that the user learns of it. Then the user repeats it.
                if ending == ["COMPLETE"] or self.witness.lost == lost:
                    break
            if must and ending != ["COMPLETE"]:
                self.witness.broken("I2", f"{verb.value} of {stack.name} ended {ending} in a world without faults")
        if not self.witness.violations and not self.witness.drifts.unresolved:
            idle.check(self.witness.evidence, drifted=self.witness.drifts.unresolved)

    def _last_shape(self, stack: str) -> shapes.Shape:
        if any(one.verb is Verb.MOVE for one in self.history.requests):
            # The requests do not tell what was moved: the newest operation does.
            newest = [one for one in self.witness.operations.newest.values() if one.stack == stack]
            return max(newest, key=lambda one: one.tick).whole
        asked = [one.shape for one in self.history.requests
                 if one.stack == stack and one.verb in (Verb.CREATE, Verb.UPDATE)]
        return asked[-1]

    def _stacks(self) -> list[Any]:
        """Return the stacks that are not nested."""
        return [stack for stack in self.witness.living_stacks() if stack.owner_id is None]

    # Running the loop.

    def _is_idle(self) -> bool:
        return idle.is_idle(self.database)

    def turn(self, until: Callable[[], bool], within: float | None = None) -> bool:
        """Run the loop until a condition holds or an invariant breaks; return False if that takes too long."""
        end = None if within is None else self.loop.time() + within
        seen = self.store.commits - 1
        state = False

        def over() -> bool:
            nonlocal seen, state
            if self.witness.violations or (end is not None and self.loop.time() > end):
                return True
            # The condition is about committed rows: check it once per commit.
            if seen != self.store.commits:
                seen, state = self.store.commits, until()
                self._deadlines()
            return until() if within is None else state

        self.loop.run(over)
        return bool(self.witness.violations) or until()

    def _deadlines(self) -> None:
        """I13: with a worker and the database up, operations end by their deadline."""
        now = self.loop.time()
        steady = self.hosts.steady_since
        if steady is None:
            return
        steady = max(steady, self.store.failed_at)
        for row in self.database.read_table("operations"):
            if row.state in UNFINISHED and row.deadline is not None and now > max(row.deadline, steady) + GRACE_S:
                self.witness.broken("I13", f"an operation is under way {now - row.deadline:.0f} s after its deadline")

    def _stuck(self) -> None:
        if not self.witness.violations:
            self.witness.broken("I13", f"no end within {PATIENCE_S:.0f} s, in a world without faults")


def play(history: History) -> Outcome:
    return Run(history).play()
