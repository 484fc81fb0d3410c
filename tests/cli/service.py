"""A service for the command line, in a thread of the tests: API, engine and observer on a home, at a free port."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from isotherm.api.auth import standalone
from isotherm.cli.service import listen_socket, serve
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics

PATIENCE_S = 240.0


class Service:
    """A running service: its address, and the token of its home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.token = standalone.token(folder / "token")
        self._ready = threading.Event()
        self._stop = serve.StopRequest()
        self._loop = asyncio.new_event_loop()

    async def run(self) -> None:
        with contextlib.closing(Embedded(self.folder)) as engine:
            bound = listen_socket.listening(engine.settings, "127.0.0.1", 0)
            async with (engine.on_bus(), serve.listening(engine, bound, ServiceMetrics(engine.types.list())) as api,
                        engine.driving(), engine.observing()):
                self.url = f"{engine.address}/v1/{standalone.PROJECT}"
                self._ready.set()
                await api.serve(self._stop)

    def _main(self) -> None:
        try:
            self._loop.run_until_complete(self.run())
        finally:
            self._ready.set()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._main)
        thread.start()
        assert self._ready.wait(PATIENCE_S)
        assert self.url, "the service did not start"
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._stop.asked.set)
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
