"""Shared by `isotherm up`, `api`, `engine` and `observer`: home, options, log, and a graceful shutdown.

The first SIGTERM or Ctrl-C shuts a service down gracefully: it accepts no new connections, finishes running requests and
steps, and leaves the rest to the next start. The second one stops it at once; no work is lost either way.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import uvicorn

from isotherm import config, logs, secrets
from isotherm.api import app, clouds
from isotherm.api.auth import standalone, strategy
from isotherm.api.browser import access
from isotherm.api.policy.enforcer import Enforcer
from isotherm.api.request.service import ApiPorts
from isotherm.cli import codes
from isotherm.cli.client import home
from isotherm.cli.service import connections, listen_socket, supervised
from isotherm.cli.service.workers import WorkerPlan
from isotherm.cli.show import console
from isotherm.config import Settings
from isotherm.engine.process import committed, gauges, service_list, service_load
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.engine.process.heartbeat import Load
from isotherm.engine.process.home import Folder, shown_database
from isotherm.engine.process.home_files import CONFIG
from isotherm.engine.process.metrics import ServiceMetrics
from isotherm.identity.credentials import CredentialStore
from isotherm.identity.delegation import Delegation
from isotherm.identity.page_sessions import SessionStore
from isotherm.states import ServiceKind

# Time for running requests to end.
GRACE_S = 30
# Time for clients of kept connections to send one more request, which is answered with `Connection: close`.
DRAIN_S = 1.0
# Python's thread switch interval.
SWITCH_S = 0.001
# The header that makes a client close a kept connection.
CLOSE = (b"connection", b"close")

host_option = click.option("--host", help="The address to listen on; by default bind_host of the configuration.")
port_option = click.option(
    "--port", type=int, help="The port to listen on; 0: any free port; by default bind_port of the configuration.")
metrics_port_option = click.option(
    "--metrics-port", type=click.IntRange(0, 65535), metavar="PORT",
    help="Serve /metrics and health checks at this port; 0: not at all; by default metrics_port of the configuration.")
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N",
    help="Run N processes under a supervisor that replaces dead ones. SIGHUP renews them one by one.")


class StopRequest:
    """The request to stop the service, by a signal or by the end of the supervisor."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.number = 0
        self.parent = supervised.Parent()

    def catch(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            self.number += 1
            self.asked.set()
            if self.number > 1 and task is not None:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        if self.parent.tie is not None:
            loop.add_reader(self.parent.tie, self._orphaned, self.parent.tie)

    def _orphaned(self, tie: socket.socket) -> None:
        """Stop when the socket to the supervisor closes: it never carries data to the worker."""
        asyncio.get_running_loop().remove_reader(tie)
        self.asked.set()


def run(
    files: Sequence[Path], work: Callable[[Embedded, StopRequest, ServiceMetrics], Coroutine[Any, Any, None]],
    log_file: str = "",
) -> int:
    """Open the home with these configuration files and run the work until it is stopped; return the exit code."""
    folder = home.folder()
    stop = StopRequest()
    # Keeps the API responsive while engine threads are busy.
    sys.setswitchinterval(SWITCH_S)

    async def whole(engine: Embedded) -> None:
        stop.catch()
        metrics = ServiceMetrics(engine.types.names())
        engine.committed.listeners += [committed.log_changes, metrics.count]
        async with engine.on_bus(), metrics.counting(engine.bus):
            await work(engine, stop, metrics)

    with contextlib.closing(Embedded(folder, files, home.cloud_name())) as engine:
        _checked(engine.settings)
        _name_broken_plugins(engine)
        with logs.configured(engine.settings, folder / log_file if log_file else None):
            try:
                asyncio.run(whole(engine))
            except asyncio.CancelledError:
                # The next start continues what was in progress.
                raise KeyboardInterrupt from None
    return codes.OK


def _name_broken_plugins(engine: Embedded) -> None:
    """Print a line for each plug-in that could not be loaded. On stderr: a program may read the start-up message."""
    for one in engine.plugins.broken:
        click.echo(f"The plug-in {one.name} ({one.group}) from {one.origin} could not be loaded: {one.error}", err=True)


def worker_plan(
    kind: str, files: Sequence[Path], number: Callable[[Settings], int]
) -> tuple[Settings, WorkerPlan] | None:
    """Return the settings and the worker plan of a supervisor; None in a worker, or if no supervisor is configured."""
    if supervised.is_child():
        return None

    def read() -> Settings:
        return _checked(config.load(home.folder() / CONFIG, *files))

    settings = read()
    if not number(settings):
        return None
    arguments = [kind, *(part for file in files for part in ("--config-file", str(file)))]
    return settings, WorkerPlan(arguments, lambda: number(read()))


def _checked(settings: Settings) -> Settings:
    if settings.auth_strategy != "standalone":
        secrets.check(settings)
    return settings


@contextlib.asynccontextmanager
async def listening(engine: Embedded, bound: socket.socket, metrics: ServiceMetrics) -> AsyncIterator[Api]:
    """Open the API of an engine at a socket, and register it as a service."""
    async with (strategy.delegation(engine.settings, CredentialStore(engine.store, engine.clock, new_id)) as delegation,
                strategy.sweeping(engine.clouds.stack_users)):
        api = Api(engine, delegation, bound, metrics)
        here = await engine.heartbeat.join(ServiceKind.API, api.load)
        try:
            yield api
        finally:
            await engine.heartbeat.leave(here)


class Api:
    """The API of an engine, bound to an address."""

    def __init__(
        self, engine: Embedded, delegation: Delegation, bound: socket.socket, metrics: ServiceMetrics
    ) -> None:
        settings = engine.settings
        policy = Enforcer.of(settings)
        authenticator = strategy.authenticator(settings, policy, engine.path)
        service = ApiPorts(
            lambda requester: engine.orchestrator_for(replace(requester, cloud=engine.cloud_name)),
            engine.types,
            settings,
            lambda: service_list.engines(engine),
            engine.feed,
            engine.signer,
            delegation=delegation,
            stack_users=engine.clouds.stack_users,
            gauges=lambda: gauges.gauge(engine),
            metrics=metrics,
            load=lambda: service_load.read(engine),
            key_ring=engine.ring,
        )
        page = access.of(settings, SessionStore(engine.store, engine.clock))
        self._guard = connections.Guard(connections.ConnectionLimits.of(settings))
        self._config = uvicorn.Config(
            app.build(service, authenticator, policy, page), http=connections.protocols(self._guard), ws="none",
            log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=settings.keep_alive_timeout, backlog=connections.AT_ONCE)
        self._engine = engine
        self._bound = bound
        engine.address = listen_socket.url_of(bound)
        self._server = HttpServer(self._config)

    def load(self) -> Load:
        """Return the number of requests being answered."""
        return Load(len(self._server.server_state.tasks))

    async def serve(self, stop: StopRequest) -> None:
        """Serve until `stop` is requested and running requests are answered."""
        self._server.ready = stop.parent.ready
        ending = asyncio.create_task(self._end(stop))
        try:
            async with self._guard.sweeping():
                await self._server.serve(sockets=[self._bound])
        finally:
            ending.cancel()

    async def _end(self, stop: StopRequest) -> None:
        await stop.asked.wait()
        await self._stop_accepting()
        # Event streams do not end by themselves.
        self._engine.feed.close()
        await self._drain_kept_connections()
        self._server.should_exit = True

    async def _stop_accepting(self) -> None:
        """Stop accepting connections. Other processes on the same socket still accept them."""
        asyncio.get_running_loop().remove_reader(self._bound)
        # A connection accepted just before must reach the server before it closes, or it is dropped.
        await asyncio.sleep(DRAIN_S / 20)
        for server in getattr(self._server, "servers", ()):
            server.close()

    async def _drain_kept_connections(self) -> None:
        """Answer requests that arrive on kept connections meanwhile, with `Connection: close`."""
        state = self._server.server_state
        for headers in (state.default_headers, self._config.encoded_headers):
            headers.append(CLOSE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while state.connections:
                    await asyncio.sleep(DRAIN_S / 20)


async def page_link(folder: Folder, url: str) -> str:
    """Return the address of the page; in standalone mode with a code that logs in once, within a minute."""
    if folder.settings.auth_strategy != "standalone":
        return f"{url}/ui/"
    code = await SessionStore(folder.store, folder.clock).new_code(standalone.PROJECT)
    return f"{url}/ui/#code={code}"


def announce_api(printer: console.Printer, folder: Path, settings: Settings, url: str, page: str = "") -> None:
    """Print the address of the API, and of the page if it is given. In standalone mode, write clouds.yaml for clients."""
    lines = [f"Isotherm listens on {url}. {_place(folder, settings)}"]
    facts = {"url": url, "folder": str(folder), "database": shown_database(folder, settings)}
    if settings.auth_strategy == "standalone":
        facts["clouds"] = str(clouds.write(folder, url, standalone.token(folder / "token")))
        lines += [f"  export OS_CLIENT_CONFIG_FILE={facts['clouds']}", "  openstack --os-cloud isotherm stack list"]
    if page:
        facts["page"] = page
        lines.append(f"Page: {page}")
        if "#" in page:
            lines.append("  The link logs in once, within a minute. `isotherm open` prints another.")
    announce(printer, facts, lines)


def announce_process(printer: console.Printer, kind: str, settings: Settings) -> None:
    """Print that an engine or an observer is running, and on which database."""
    folder = home.folder()
    announce(printer, {"folder": str(folder), "database": shown_database(folder, settings)}, [
        f"Isotherm {kind} is running. {_place(folder, settings)}"])


def _place(folder: Path, settings: Settings) -> str:
    database = f" Database: {shown_database(folder, settings)}" if settings.database_connection else ""
    return f"Home: {folder}{database}"


def announce(printer: console.Printer, facts: dict[str, str], lines: Sequence[str]) -> None:
    """Print the start-up message and flush it: a program may wait for it at a pipe."""
    if printer.as_json:
        printer.json(facts)
    else:
        printer.plain("\n".join(lines))
    sys.stdout.flush()


class HttpServer(uvicorn.Server):
    """A uvicorn server that leaves signals to `StopRequest` and calls `ready` after start-up."""

    ready: Callable[[], None] = staticmethod(lambda: None)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            # asyncio's backlog is the number accepted in one go; the socket's is the number that may wait.
            bound.listen(listen_socket.BACKLOG)
        self.ready()
