"""Serves metrics and health checks of engines and observers, which have no API."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Callable

import uvicorn
from starlette.applications import Starlette

from isotherm.api.monitoring import health
from isotherm.cli.service import listen_socket, serve, supervised, supervisor
from isotherm.cli.service.workers import WorkerPlan
from isotherm.config import Settings
from isotherm.engine.process import gauges
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics

# Requests at once. A scrape is one.
_MOST = 32


def listening(settings: Settings, port: int | None) -> socket.socket | None:
    """Return a listening socket at this port, or at that of the options; None for port 0."""
    chosen = settings.metrics_port if port is None else port
    return listen_socket.listening(settings, settings.metrics_host, chosen) if chosen else None


def supervise(plan: WorkerPlan, settings: Settings, port: int | None, ready: Callable[[], None]) -> int:
    """Supervise workers that share a socket for their metrics; return the exit code."""
    with listening(settings, port) or contextlib.nullcontext() as bound:
        return supervisor.run(dataclasses.replace(plan, listening=bound), settings, ready)


@contextlib.asynccontextmanager
async def serving(
    engine: Embedded, metrics: ServiceMetrics, parent: supervised.Parent, port: int | None
) -> AsyncIterator[None]:
    """Serve at this port, or at the socket of the supervisor, inside of the context."""
    bound = parent.listening if parent.is_there else listening(engine.settings, port)
    if bound is None:
        yield
        return
    routes = health.routes(lambda: gauges.gauge(engine), metrics, serves_metrics=engine.settings.metrics)
    server = serve.HttpServer(uvicorn.Config(
        Starlette(routes=routes), http="h11", ws="none", log_config=None, access_log=False, lifespan="off",
        server_header=False, limit_concurrency=_MOST, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
