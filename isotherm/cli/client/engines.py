"""Opens the engine that a command works with: the one on the home folder, or that of a service (`--remote`).

Commands get it as the port `port.EnginePort`, and do not know which one it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from isotherm import loading
from isotherm.cli.client import home, port

T = TypeVar("T")


def use(work: Callable[[port.EnginePort], Coroutine[Any, Any, T]]) -> T:
    """Open the engine, run the work, and close the engine."""
    if home.remote():
        return _at_service(work)
    # Imported here: the engine is slow to import, and a command of a service does not need it.
    return home.use(loading.load("isotherm.engine.process.embedded:Embedded"), work)


def read(work: Callable[[port.ReaderPort], Coroutine[Any, Any, T]]) -> T:
    """The same for work that only reads rows: the home folder is opened without an engine."""
    if home.remote():
        return _at_service(work)
    return home.use(loading.load("isotherm.engine.process.home:Folder"), work)


def _at_service(work: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
    remote = loading.load("isotherm.cli.remote.engine")

    async def whole() -> T:
        engine = remote.RemoteEngine(home.remote(), home.folder)
        try:
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(whole())
