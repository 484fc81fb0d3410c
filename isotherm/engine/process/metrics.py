"""The metrics of a service, in Prometheus' format: what its processes count, and the gauges of its database.

Workers of one supervisor write their numbers to files of a common folder (the multi-process mode of prometheus_client,
which reads `FOLDER` when it is imported). Each of them answers for all: totals include workers that have died, and never go
down.

No label names a project, a stack or a user: a type that is not built in or installed counts as `other`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric

from isotherm import bus
from isotherm.bus.ports import Counts
from isotherm.engine.process import committed
from isotherm.states import Action, NodeState, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from isotherm.engine.process.gauges import Gauges
    from isotherm.store.database.committed import Changes

#: The environment variable that names the folder of workers under one supervisor.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
OTHER = "other"
# Seconds between two readings of the counts of the bus.
_PERIOD_S = 5.0
# The states of a node that is being worked on.
_UNDER_WAY = (NodeState.SCHEDULED, NodeState.RUNNING, NodeState.WAITING)
_NO_OPERATION = (Action.INIT, Action.SIGNAL, Action.OBSERVE)
_ACTIONS = tuple(action.name for action in Action if action not in _NO_OPERATION)
_SUPERSEDED = "SUPERSEDED"
_ENDS = (Status.COMPLETE.name, Status.FAILED.name, _SUPERSEDED)
_SINKS, _MESSAGE_OUTCOMES = ("notifications", "webhook"), ("delivered", "failed", "dropped")
_OUTCOMES = (Status.COMPLETE.name, Status.FAILED.name)
# Figures of the observers of all processes: field of the gauges -> (metric, help).
_WATCHED = {
    "observers": ("observers", "Observers alive."),
    "watched": ("watched_stacks", "Stacks that are observed."),
    "lag_s": ("observer_lag_seconds", "How long the most overdue stack has been due for observation."),
    "drifted": ("drifted_resources", "Resources that differ from the last applied state, or are gone."),
    "unseen": ("unseen_resources", "Resources that could not be observed at the last attempt."),
    "given_up": ("given_up_resources", "Resources whose repair was given up, because something keeps undoing it."),
    "observations": ("observer_observations", "Observations of resources, in total."),
    "calls": ("observer_calls", "Calls made for observations, in total."),
    "repairs": ("observer_repairs", "Resources for which a repair was accepted, in total."),
    "trips": ("observer_give_ups", "Repairs given up, in total."),
}


def forget_process(folder: str, pid: int) -> None:
    """Drop the gauges of a worker that has ended. Its totals stay."""
    multiprocess.mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]  # the library has no types there


class ServiceMetrics:
    """The metrics of one process. All series that can be foreseen begin at 0, so that no increase is missed."""

    def __init__(self, types: Collection[str] = ()) -> None:
        self._types = frozenset(types)
        own = self.registry = CollectorRegistry()
        self._begun = Counter("isotherm_operations_begun", "Operations begun, by action.", ["action"], registry=own)
        self._ended = Counter("isotherm_operations_ended", "Operations ended, by action and end.", ["action", "end"],
                              registry=own)
        self._actions = Counter("isotherm_resource_actions", "Actions on resources that have ended, by type and outcome.",
                                ["type", "outcome"], registry=own)
        self._bus_up = Gauge("isotherm_bus_up", "1 if the connection to the message broker is up, else 0.",
                             multiprocess_mode="livemin", registry=own)
        self._bus = Gauge("isotherm_bus_messages", "Messages of the service, by outcome.", ["what"],
                          multiprocess_mode="sum", registry=own)
        self._messages = Counter("isotherm_messages", "Attempts to deliver messages to sinks, by kind of sink and outcome.",
                                 ["sink", "outcome"], registry=own)
        self._counts = dict.fromkeys((one.name for one in fields(Counts)), 0)
        for action in _ACTIONS:
            self._begun.labels(action)
            for end in _ENDS:
                self._ended.labels(action, end)
        for type_ in (*sorted(self._types), OTHER):
            for outcome in _OUTCOMES:
                self._actions.labels(type_, outcome)
        for kind in _SINKS:
            for outcome in _MESSAGE_OUTCOMES:
                self._messages.labels(kind, outcome)
        for what in self._counts:
            self._bus.labels(what)

    def count(self, changes: Changes) -> None:
        """Count what this process has committed to the history of stacks."""
        for one in changes.superseded:
            self._ended.labels(one.action.name, _SUPERSEDED).inc()
        for event in changes.events:
            if committed.is_of_stack(event) and event.status is Status.IN_PROGRESS:
                self._begun.labels(event.action.name).inc()
            elif committed.is_of_stack(event):
                self._ended.labels(event.action.name, event.status.name).inc()
            elif committed.is_end_of_step(event):
                self._actions.labels(event.type if event.type in self._types else OTHER, event.status.name).inc()

    def count_message(self, kind: str, outcome: str) -> None:
        """Count an attempt to deliver a message."""
        self._messages.labels(kind, outcome).inc()

    @asynccontextmanager
    async def counting(self, messages: bus.Bus) -> AsyncIterator[None]:
        """Read the counts of the bus inside of the context: another worker may be asked for them."""
        task = asyncio.create_task(self._read_repeatedly(messages))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _read_repeatedly(self, messages: bus.Bus) -> None:
        while True:
            self._bus_up.set(messages.connected)
            self._count_messages(asdict(messages.counts))
            await asyncio.sleep(_PERIOD_S)

    def _count_messages(self, counts: Mapping[str, int]) -> None:
        """Add the increase of each count: a worker with the number of a dead one continues its totals."""
        for what, count in counts.items():
            self._bus.labels(what).inc(count - self._counts[what])
        self._counts |= counts

    def text(self, found: Gauges | None) -> bytes:
        """Return all metrics; without those of the database if it does not answer."""
        whole = CollectorRegistry()
        if found is not None:
            self._bus_up.set(found.bus_up)
            self._count_messages(found.bus)
            whole.register(_DatabaseGauges(found))
        if FOLDER in os.environ:
            multiprocess.MultiProcessCollector(whole)  # type: ignore[no-untyped-call]  # as above
        else:
            whole.register(self.registry)
        return generate_latest(whole)


class _DatabaseGauges:
    """The gauges of the database: the same in every process, so they are not added up."""

    def __init__(self, found: Gauges) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        found = self._found
        nodes = GaugeMetricFamily("isotherm_nodes", "Nodes being worked on, by state.", labels=["state"])
        for state in _UNDER_WAY:
            nodes.add_metric([state.name], found.nodes.get(state, 0))
        stacks = GaugeMetricFamily("isotherm_stacks", "Stacks, by action and status.", labels=["action", "status"])
        for (action, status), count in found.stacks.items():
            stacks.add_metric([action.name, status.name], count)
        paths = GaugeMetricFamily("isotherm_stacks_by_path", "Stacks, by path: convergence or legacy.", labels=["path"])
        for path, count in found.paths.items():
            paths.add_metric([path], count)
        yield from (nodes, stacks, paths)
        yield GaugeMetricFamily("isotherm_queue_depth", "Nodes that are due and not claimed.", found.queue)
        yield GaugeMetricFamily("isotherm_queue_oldest_seconds", "How long the oldest due node has been due.",
                                found.oldest_s)
        yield GaugeMetricFamily("isotherm_stack_locks", "Stacks of the legacy path, locked or waiting for an engine.",
                                found.locked)
        yield GaugeMetricFamily("isotherm_workers", "Engine workers alive.", found.workers)
        for name, (metric, help_) in _WATCHED.items():
            yield GaugeMetricFamily(f"isotherm_{metric}", help_, getattr(found.watched, name))
