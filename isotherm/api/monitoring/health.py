"""How it is going, for those who watch over the service: no token needed, and nothing told that would need one."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Place

from isotherm import errors
from isotherm.api.http import answers
from isotherm.api.monitoring.metrics import CONTENT_TYPE, Metrics
from isotherm.api.request.service import Service
from isotherm.engine.process.gauges import Gauges

# A database that takes longer than this to say a word is not ready.
PATIENCE_S = 5.0
ALIVE, READY, METRICS = "/healthcheck", "/health/ready", "/metrics"


def places(service: Service, metrics: Metrics) -> list[Place]:
    doors = Doors(service, metrics)
    open_ = [Place(ALIVE, doors.alive), Place(READY, doors.ready)]
    return [*open_, Place(METRICS, doors.metrics)] if service.settings.metrics else open_


class Doors:
    """What can be asked without being anybody."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self._service = service
        self._metrics = metrics

    async def alive(self, _request: Request) -> Response:
        """The process answers: that is all, as in Heat."""
        return Response(b"", 200, answers.SAFE, "text/plain")

    async def ready(self, _request: Request) -> Response:
        """Whether a request would be answered: whether the database does."""
        found = await self._look()
        if found is None:
            return answers.json({"ready": False, "database": "does not answer"}, 503, {"Retry-After": "1"})
        return answers.json({"ready": True, "database": "answers", "workers": found.workers})

    async def metrics(self, _request: Request) -> Response:
        found = await self._look()
        if found is not None:
            self._metrics.seen(found)
        return Response(self._metrics.text(), 200, answers.SAFE, CONTENT_TYPE)

    async def _look(self) -> Gauges | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._service.gauges()
        except (TimeoutError, errors.Unavailable):
            return None
