"""Calls lifecycle plug-ins: before an operation on a root stack is accepted, and after it has ended.

Plug-ins may block, so they run on a thread of their own, one call after the other. A process without such plug-ins has no
thread, reads nothing and calls nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from isotherm import errors
from isotherm.plugins import lifecycle
from isotherm.plugins.lifecycle import Lifecycle, StackOperation
from isotherm.states import Action
from isotherm.store.database.writer import Connection, Store, Unit
from isotherm.store.operations import ends
from isotherm.store.reads import lookups
from isotherm.store.records import NewStack

log = logging.getLogger(__name__)
T = TypeVar("T")


class StackLifecycle:
    """The lifecycle plug-ins of a process."""

    def __init__(self, plugins: Sequence[Lifecycle] = ()) -> None:
        self._plugins = plugins
        self._threads = {name: ThreadPoolExecutor(1, f"lifecycle-{name}") for name in ("before", "after") if plugins}

    async def before_create(self, stack: NewStack, action: Action) -> None:
        """Ask the plug-ins about a new stack. Raises UserError if one refuses."""
        if self._plugins:
            await self._before(StackOperation(stack.project, stack.id, stack.name, action.name))

    async def before(self, store: Store, project: str, stack_id: str, action: Action) -> None:
        """Ask the plug-ins about an operation on a stack, unless it is nested. Raises UserError if one refuses."""
        if not self._plugins:
            return
        stack = await store.read(lambda connection: lookups.stack(connection, project, stack_id))
        if stack is not None and stack["depth"] == 0:
            await self._before(StackOperation(project, stack_id, stack["name"], action.name))

    async def _before(self, operation: StackOperation) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads["before"], lifecycle.before, self._plugins, operation)
        except ValueError as error:
            raise errors.UserError(str(error)) from error
        except Exception as error:
            log.exception("a lifecycle plug-in failed", extra={"stack": operation.stack_id})
            raise errors.UserError(
                f"A lifecycle plug-in failed: {type(error).__name__}: {error}",
                hint="`isotherm plugin list` shows the plug-ins; the log of the service has the details.") from error

    def watched(self, store: Store) -> Store:
        """Return a store that calls the plug-ins after each operation that is ended through it."""
        return _WatchedStore(store, self) if self._plugins else store

    def report_end(self, ended: ends.EndedOperation) -> None:
        """Call the plug-ins on their thread, and do not wait for them."""
        project, stack_id, name, action, failure = ended
        operation = StackOperation(project, stack_id, name, action.name, failure)
        self._threads["after"].submit(lifecycle.after, self._plugins, operation)

    def close(self) -> None:
        """Wait for the calls that were begun."""
        for pool in self._threads.values():
            pool.shutdown()


class _WatchedStore:
    """A store that reports the operations which its committed units have ended."""

    def __init__(self, store: Store, reporter: StackLifecycle) -> None:
        self._store = store
        self._reporter = reporter

    async def write(self, unit: Unit[T]) -> T:
        ended: list[ends.EndedOperation] = []

        def watched(connection: Connection) -> T:
            # A unit may run more than once before its transaction is committed.
            ended.clear()
            with ends.noted(connection, ended):
                return unit(connection)

        answer = await self._store.write(watched)
        for one in ended:
            self._reporter.report_end(one)
        return answer

    async def read(self, unit: Unit[T]) -> T:
        return await self._store.read(unit)
