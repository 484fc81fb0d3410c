"""Health checks and metrics. They need no token and reveal nothing about projects, stacks or users."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from isotherm import errors
from isotherm.api.http import responses
from isotherm.engine.process.gauges import Gauges
from isotherm.engine.process.metrics import ServiceMetrics

# Time limit of reading the gauges; a slower database counts as not ready.
PATIENCE_S = 5.0
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ALIVE, READY, METRICS = "/healthcheck", "/health/ready", "/metrics"


def routes(
    gauges: Callable[[], Awaitable[Gauges]], metrics: ServiceMetrics, *, serves_metrics: bool
) -> list[StarletteRoute]:
    """Return the routes that need no token."""
    probes = Probes(gauges, metrics)
    open_ = [StarletteRoute(ALIVE, probes.alive), StarletteRoute(READY, probes.ready)]
    return [*open_, StarletteRoute(METRICS, probes.metrics)] if serves_metrics else open_


class Probes:
    """The endpoints that need no token."""

    def __init__(self, gauges: Callable[[], Awaitable[Gauges]], metrics: ServiceMetrics) -> None:
        self._gauges = gauges
        self._metrics = metrics

    async def alive(self, _request: Request) -> Response:
        """Answer 200 with an empty body, as Heat does: the process is alive."""
        return Response(b"", 200, responses.SAFE, "text/plain")

    async def ready(self, _request: Request) -> Response:
        """Answer 200 if the database answers, otherwise 503."""
        found = await self._read_gauges()
        if found is None:
            return responses.json({"ready": False, "database": "does not answer"}, 503, {"Retry-After": "1"})
        return responses.json({"ready": True, "database": "answers", "workers": found.workers})

    async def metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(await self._read_gauges()), 200, responses.SAFE, _CONTENT_TYPE)

    async def _read_gauges(self) -> Gauges | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._gauges()
        except (TimeoutError, errors.Unavailable):
            return None
