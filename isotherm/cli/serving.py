"""What `isotherm up`, `isotherm api` and `isotherm engine` share: a home, options, a log, and an end in good order.

The first SIGTERM or Ctrl-C ends a service in good order: no new connection is taken, requests and steps that are under
way end, and what remains is left to the next start. The second one ends it at once, which does no harm either.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import uvicorn

from isotherm import errors, logs, secrets
from isotherm.api import app, clouds
from isotherm.api.auth import choosing, standalone
from isotherm.api.lending import Lending
from isotherm.api.policy import Enforcer
from isotherm.api.service import Service
from isotherm.cli import home, show
from isotherm.config import Settings
from isotherm.engine import gauging, roll
from isotherm.engine.custody import Custody
from isotherm.engine.embedded import Embedded, new_id

# How long requests that are under way have to end.
GRACE_S = 30
# How long one thread may keep the others waiting.
SWITCH_S = 0.001

host_option = click.option("--host", help="The address to listen on; otherwise bind_host of the options.")
port_option = click.option("--port", type=int, help="The port to listen on, 0: any; otherwise bind_port of the options.")


class Stop:
    """Whether the service has been asked to end."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.number = 0

    def catch(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            self.number += 1
            self.asked.set()
            if self.number > 1 and task is not None:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)


def run(
    files: Sequence[Path], work: Callable[[Embedded, Stop], Coroutine[Any, Any, None]], log_file: str = ""
) -> None:
    """Open the home with these files of options, and do the work until somebody ends it."""
    folder = home.folder()
    stop = Stop()
    # Whoever waits for an answer has its turn soon, however busy the engine is beside it.
    sys.setswitchinterval(SWITCH_S)

    async def whole(engine: Embedded) -> None:
        stop.catch()
        await work(engine, stop)

    with contextlib.closing(Embedded(folder, files)) as engine:
        if engine.settings.auth_strategy != "standalone":
            secrets.check(engine.settings)
        with logs.kept(engine.settings, folder / log_file if log_file else None):
            try:
                asyncio.run(whole(engine))
            except asyncio.CancelledError:
                # What was under way is left to whoever comes next.
                raise KeyboardInterrupt from None


@contextlib.asynccontextmanager
async def listening(engine: Embedded, host: str | None, port: int | None) -> AsyncIterator[Api]:
    """The API of an engine, at an address; otherwise where the options say."""
    async with choosing.lending(engine.settings, Custody(engine.store, engine.clock, new_id)) as lending:
        yield Api(engine, lending, host, port)


class Api:
    """The API of an engine, bound to an address."""

    def __init__(self, engine: Embedded, lending: Lending, host: str | None, port: int | None) -> None:
        settings = engine.settings
        host, port = host or settings.bind_host, settings.bind_port if port is None else port
        if settings.auth_strategy == "standalone":
            _refuse_beyond_loopback(host)
        policy = Enforcer.of(settings)
        authenticator = choosing.authenticator(settings, policy, engine.path)
        service = Service(engine.orchestrator_for, engine.types, settings, lambda: roll.engines(engine), engine.feed,
                          engine.signer, lending=lending, gauges=lambda: gauging.gauge(engine))
        config = uvicorn.Config(app.build(service, authenticator, policy), host, port, log_config=None, access_log=False,
                                lifespan="off", server_header=False, timeout_graceful_shutdown=GRACE_S)
        self._engine = engine
        self._server = _Server(config)
        self._bound = _bind(config)
        # From here on nobody is turned away: whoever comes before we are ready waits.
        self._bound.listen(config.backlog)
        self.url = engine.address = _url(*self._bound.getsockname()[:2])

    def tell(self, terminal: show.Terminal) -> None:
        """Say where it is, and write what clients need to know."""
        lines = [f"Isotherm listens on {self.url}. Stacks live in {self._engine.path}."]
        told = {"url": self.url, "folder": str(self._engine.path)}
        if self._engine.settings.auth_strategy == "standalone":
            token = standalone.token(self._engine.path / "token")
            told["clouds"] = str(clouds.write(self._engine.path, self.url, token))
            lines += [f"  export OS_CLIENT_CONFIG_FILE={told['clouds']}", "  openstack --os-cloud isotherm stack list"]
        tell(terminal, told, lines)

    async def serve(self, stop: Stop) -> None:
        """Until it is asked to end, and what is under way has been answered."""
        ending = asyncio.create_task(self._end(stop))
        try:
            await self._server.serve(sockets=[self._bound])
        finally:
            ending.cancel()

    async def _end(self, stop: Stop) -> None:
        await stop.asked.wait()
        # Streams of events would go on for ever.
        self._engine.feed.close()
        self._server.should_exit = True


def tell(terminal: show.Terminal, told: dict[str, str], lines: Sequence[str]) -> None:
    """Print what there is to know at the start, whole lines at once: somebody may be waiting for them at a pipe."""
    if terminal.as_json:
        terminal.json(told)
    else:
        terminal.plain("\n".join(lines))
    sys.stdout.flush()


class _Server(uvicorn.Server):
    """Leaves signals alone: the process has more to end than this."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bind(config: uvicorn.Config) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        # Named, so that asyncio knows that it is TCP, and sends at once: else a reply on a kept connection waits 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((config.host, config.port))
    except OSError as error:
        raise errors.UserError(f"{config.host}:{config.port}: {error.strerror or error}", kind="NotSupported",
                               hint="--port 0 takes a port that is free.") from error
    bound.set_inheritable(True)
    return bound


def _refuse_beyond_loopback(host: str) -> None:
    try:
        inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise errors.UserError(f"{host}: in standalone mode the API listens on loopback only.", kind="NotSupported",
                               hint="Set auth_strategy = keystone to be there for others, or listen on 127.0.0.1.")


def address(settings: Settings) -> str:
    """Where the API of another process is, as far as the options tell."""
    return _url(settings.bind_host, settings.bind_port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
