"""Metrics in Prometheus' format. No label names a project, a stack or a user.

Requests are counted by the pattern of the route, not by the path: paths are unbounded and reveal what users do.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from isotherm.engine.process.gauges import Gauges
from isotherm.states import NodeState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
# The states of a node that is being worked on.
_UNDER_WAY = (NodeState.SCHEDULED, NodeState.RUNNING, NodeState.WAITING)
OTHER = "other"
# Figures of the observers of all processes: field of the gauges -> (metric, help).
_WATCHED = {
    "observers": ("observers", "Observers alive."),
    "watched": ("watched_stacks", "Stacks that are observed."),
    "lag_s": ("observer_lag_seconds", "How long the most overdue stack has been due for observation."),
    "drifted": ("drifted_resources", "Resources that differ from the last applied state, or are gone."),
    "unseen": ("unseen_resources", "Resources that could not be observed at the last attempt."),
    "given_up": ("given_up_resources", "Resources whose repair was given up, because something keeps undoing it."),
    "looks": ("observer_looks", "Observations of resources, in total."),
    "calls": ("observer_calls", "Calls made for observations, in total."),
    "repairs": ("observer_repairs", "Resources for which a repair was accepted, in total."),
    "trips": ("observer_give_ups", "Repairs given up, in total."),
}


class Metrics:
    """The metrics of one process, and the gauges of its database."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter("isotherm_requests", "Requests answered.", ["method", "route", "status"],
                                 registry=own)
        self._latency = Histogram("isotherm_request_seconds", "Time to answer a request.", ["method", "route"],
                                  buckets=_SECONDS, registry=own)
        self._running = Gauge("isotherm_requests_in_progress", "Requests being answered.", registry=own)
        self._operations = Counter("isotherm_operations", "Operations accepted, by policy rule.",
                                   ["rule"], registry=own)
        self._nodes = Gauge("isotherm_nodes", "Nodes being worked on, by state.", ["state"], registry=own)
        self._queue = Gauge("isotherm_queue_depth", "Nodes that are due and not claimed.", registry=own)
        self._oldest = Gauge("isotherm_queue_oldest_seconds", "How long the oldest due node has been due.",
                             registry=own)
        self._stacks = Gauge("isotherm_stacks", "Stacks, by action and status.", ["action", "status"],
                             registry=own)
        self._paths = Gauge("isotherm_stacks_by_path", "Stacks, by path: convergence or legacy.", ["path"],
                            registry=own)
        self._locked = Gauge("isotherm_stack_locks", "Stacks of the legacy path, locked by an engine or waiting for one.",
                             registry=own)
        self._workers = Gauge("isotherm_workers", "Engine workers alive.", registry=own)
        self._bus_up = Gauge("isotherm_bus_up", "1 if the connection to the message broker is up, else 0.", registry=own)
        self._bus = Gauge("isotherm_bus_messages", "Messages of this process, by outcome.", ["what"], registry=own)
        self._watched = {name: Gauge(f"isotherm_{metric}", help_, registry=own)
                         for name, (metric, help_) in _WATCHED.items()}

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
        """Set the gauges of the database."""
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
