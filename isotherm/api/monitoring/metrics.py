"""Numbers about the service in Prometheus' form. None of them names a project, a stack or a user.

Requests are counted by the route's pattern and not by its path: paths are without number, and tell what users do.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from isotherm.engine.process.gauges import Gauges
from isotherm.states import NodeState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
# A node under way is in one of these states.
_UNDER_WAY = (NodeState.SCHEDULED, NodeState.RUNNING, NodeState.WAITING)
OTHER = "other"
# What the observers of all processes have written down; sums since the database was made are called so.
_WATCHED = {
    "observers": ("observers", "Observers that are there."),
    "watched": ("watched_stacks", "Stacks that are watched."),
    "lag_s": ("observer_lag_seconds", "For how long the first stack has been waiting for its turn."),
    "drifted": ("drifted_resources", "Resources that are not what was made of them, or are gone."),
    "unseen": ("unseen_resources", "Resources that could not be seen at the last look."),
    "given_up": ("given_up_resources", "Resources that are not repaired any more, because somebody undoes it."),
    "looks": ("observer_looks", "Looks at resources, in all."),
    "calls": ("observer_calls", "Calls that were made for them, in all."),
    "repairs": ("observer_repairs", "Resources for which a repair was accepted, in all."),
    "trips": ("observer_give_ups", "How often a repair was given up, in all."),
}


class Metrics:
    """The numbers of one process, and those of the database that it looks at."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter("isotherm_requests", "Requests that were answered.", ["method", "route", "status"],
                                 registry=own)
        self._latency = Histogram("isotherm_request_seconds", "How long answers took.", ["method", "route"],
                                  buckets=_SECONDS, registry=own)
        self._running = Gauge("isotherm_requests_in_progress", "Requests that are being answered.", registry=own)
        self._operations = Counter("isotherm_operations", "Operations on stacks that were accepted, by what was asked.",
                                   ["rule"], registry=own)
        self._nodes = Gauge("isotherm_nodes", "Nodes under way, by state.", ["state"], registry=own)
        self._queue = Gauge("isotherm_queue_depth", "Nodes that a worker could take now.", registry=own)
        self._oldest = Gauge("isotherm_queue_oldest_seconds", "How long the first of those has been lying there.",
                             registry=own)
        self._stacks = Gauge("isotherm_stacks", "Stacks that are there, by action and status.", ["action", "status"],
                             registry=own)
        self._paths = Gauge("isotherm_stacks_by_path", "Stacks that are there, by the path that they are on.", ["path"],
                            registry=own)
        self._locked = Gauge("isotherm_stack_locks", "Stacks of the legacy path that an engine has, or waits for one.",
                             registry=own)
        self._workers = Gauge("isotherm_workers", "Workers of the engine that are alive.", registry=own)
        self._bus_up = Gauge("isotherm_bus_up", "Whether messages to other processes go out.", registry=own)
        self._bus = Gauge("isotherm_bus_messages", "What became of messages of this process.", ["what"], registry=own)
        self._watched = {name: Gauge(f"isotherm_{told}", help_, registry=own) for name, (told, help_) in _WATCHED.items()}

    def begun(self) -> None:
        self._running.inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in _METHODS else OTHER
        self._running.dec()
        self._requests.labels(method, route, status).inc()
        self._latency.labels(method, route).observe(seconds)

    def accepted(self, rule: str) -> None:
        self._operations.labels(rule).inc()

    def seen(self, gauges: Gauges) -> None:
        """What the database looks like now."""
        for state in _UNDER_WAY:
            self._nodes.labels(state.name).set(gauges.nodes.get(state, 0))
        self._queue.set(gauges.queue)
        self._oldest.set(gauges.oldest_s)
        self._stacks.clear()
        for (action, status), count in gauges.stacks.items():
            self._stacks.labels(action.name, status.name).set(count)
        for path, count in gauges.paths.items():
            self._paths.labels(path).set(count)
        self._locked.set(gauges.locked)
        self._workers.set(gauges.workers)
        self._bus_up.set(gauges.bus_up)
        for what, count in gauges.bus.items():
            self._bus.labels(what).set(count)
        for name, gauge in self._watched.items():
            gauge.set(getattr(gauges.watched, name))

    def text(self) -> bytes:
        return generate_latest(self._registry)
