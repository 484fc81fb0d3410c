"""Metrics of requests.

Requests are counted by the pattern of the route, not by the path: paths are unbounded and reveal what users do. The metrics
of the engine and of the database are in `engine.process.metrics`.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from isotherm.engine.process.metrics import OTHER

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
# Rules of routes that begin an operation on a stack.
OPERATIONS = frozenset({
    "stacks:create", "stacks:update", "stacks:update_no_change", "stacks:delete", "stacks:abandon", "stacks:snapshot",
    "stacks:restore_snapshot",
})


class RequestMetrics:
    """The metrics of requests of one process."""

    def __init__(self, own: CollectorRegistry) -> None:
        self._requests = Counter("isotherm_requests", "Requests answered.", ["method", "route", "status"],
                                 registry=own)
        self._latency = Histogram("isotherm_request_seconds", "Time to answer a request.", ["method", "route"],
                                  buckets=_SECONDS, registry=own)
        self._running = Gauge("isotherm_requests_in_progress", "Requests being answered.", multiprocess_mode="livesum",
                              registry=own)
        self._operations = Counter("isotherm_operations", "Operations accepted, by policy rule.",
                                   ["rule"], registry=own)
        for rule in OPERATIONS:
            self._operations.labels(rule)

    def begun(self) -> None:
        self._running.inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in _METHODS else OTHER
        self._running.dec()
        self._requests.labels(method, route, status).inc()
        self._latency.labels(method, route).observe(seconds)

    def accepted(self, rule: str) -> None:
        self._operations.labels(rule).inc()
