"""Gives every request an id, a log line, metrics, and a span if OpenTelemetry is set up.

The inner application reports through the request's state: `route`, `rule`, `caller`, and `owner`, the project of an object
that an admin named by its id. Queries are never logged: the signature of a signed URL is in its query.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import Any

from opentelemetry import propagate, trace
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isotherm import logs
from isotherm.api.monitoring.metrics import OPERATIONS, RequestMetrics
from isotherm.engine.process.metrics import OTHER

log = logging.getLogger(__name__)

ID = "x-openstack-request-id"
_ID = re.compile("req-[0-9a-f-]{36}")


class RequestMonitor:
    """The outermost layer of the application."""

    def __init__(self, inner: ASGIApp, metrics: RequestMetrics, tracer: trace.Tracer | None = None) -> None:
        self._inner = inner
        self._metrics = metrics
        self._tracer = tracer or trace.get_tracer("isotherm.api")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        monitored = _MonitoredRequest(scope, send)
        given = logs.REQUEST.set(monitored.id)
        self._metrics.begun()
        try:
            with self._tracer.start_as_current_span(scope["method"], context=_context(scope), kind=trace.SpanKind.SERVER,
                                                    attributes={"isotherm.request_id": monitored.id}) as span:
                try:
                    await self._inner(scope, receive, monitored.send)
                finally:
                    _describe_span(span, monitored)
        finally:
            self._end(monitored)
            logs.REQUEST.reset(given)

    def _end(self, monitored: _MonitoredRequest) -> None:
        seconds = time.perf_counter() - monitored.begun
        self._metrics.answered(monitored.method, monitored.route, monitored.status, seconds)
        if monitored.status < 300 and monitored.state.get("rule") in OPERATIONS:
            self._metrics.accepted(monitored.state["rule"])
        # Health checks are frequent: log them at DEBUG.
        level = logging.DEBUG if monitored.route == OTHER and monitored.status == 200 else logging.INFO
        log.log(level, "request", extra={**monitored.log_fields(), "seconds": round(seconds, 6)})


class _MonitoredRequest:
    """One request."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.id = f"req-{uuid.uuid4()}"
        self.begun = time.perf_counter()
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.id
        # The status until a response begins.
        self.status = 500
        self.method: str = scope["method"]
        self._path: str = scope["path"]
        self._from = Headers(scope=scope).get(ID, "")
        self._send = send

    @property
    def route(self) -> str:
        return str(self.state.get("route", OTHER))

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (ID.encode(), self.id.encode())]
        await self._send(message)

    def log_fields(self) -> dict[str, Any]:
        caller = self.state.get("caller")
        who = {} if caller is None else {"project": caller.project, "user": caller.user_id}
        owner = {"owner": self.state["owner"]} if "owner" in self.state else {}
        outer = {"global_request_id": self._from} if _ID.fullmatch(self._from) else {}
        return {"method": self.method, "path": self._path[:1000], "status": self.status, **who, **owner, **outer}


def _context(scope: Scope) -> Any:
    return propagate.extract(Headers(scope=scope))


def _describe_span(span: trace.Span, monitored: _MonitoredRequest) -> None:
    if not span.is_recording():
        return
    span.update_name(f"{monitored.method} {monitored.route}")
    span.set_attributes({"http.request.method": monitored.method, "http.route": monitored.route,
                         "http.response.status_code": monitored.status})
    if monitored.status >= 500:
        span.set_status(trace.StatusCode.ERROR)
