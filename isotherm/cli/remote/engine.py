"""The engine of a service, as commands see it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from isotherm import config, errors
from isotherm.cli.remote import access
from isotherm.cli.remote.contents import RemoteEvents, RemoteInputs, RemoteOutputs, RemoteResources, RemoteSignals
from isotherm.cli.remote.follow import RemoteFollower
from isotherm.cli.remote.overview import RemoteCauses, RemoteDrift, RemoteHistory, RemotePlans, RemoteTimelines
from isotherm.cli.remote.ownership import RemoteForget, RemoteImports, RemoteMoves, RemoteProtection
from isotherm.cli.remote.session import Session
from isotherm.cli.remote.stacks import RemoteExports, RemoteSnapshots, RemoteStacks, StackAddresses
from isotherm.engine.process import key_file
from isotherm.engine.process.home_files import CONFIG

# The kind of the error of a service without a live engine.
_NO_ENGINES = "HTTPServiceUnavailable"


class RemoteOrchestrator:
    """The services of an engine, over its API."""

    def __init__(self, finder: StackAddresses) -> None:
        self.stacks = RemoteStacks(finder)
        self.resources = RemoteResources(finder)
        self.events = RemoteEvents(finder)
        self.inputs = RemoteInputs(finder)
        self.outputs = RemoteOutputs(finder)
        self.signals = RemoteSignals(finder)
        self.snapshots = RemoteSnapshots(finder)
        self.exports = RemoteExports(finder)
        self.drift = RemoteDrift(finder)
        self.protection = RemoteProtection(finder)
        self.forget = RemoteForget(finder)
        self.imports = RemoteImports(finder)
        self.moves = RemoteMoves(finder)
        self.plans = RemotePlans(finder)
        self.history = RemoteHistory(finder)
        self.causes = RemoteCauses(finder)
        self.timelines = RemoteTimelines(finder)


class RemoteEngine:
    """An engine behind a service, for one command."""

    def __init__(self, name: str, folder: Callable[[], Path]) -> None:
        """`folder` returns the home of this machine, made where it does not exist."""
        self._session = Session(access.of(name))
        self._finder = StackAddresses(self._session)
        self._followers: list[RemoteFollower] = []
        self.orchestrator = RemoteOrchestrator(self._finder)
        self.stacks = self.orchestrator.stacks
        self.resources = self.orchestrator.resources
        self.events = self.orchestrator.events
        #: The keys of this machine: a saved plan can be applied where it was made.
        self.ring = functools.cache(lambda: key_file.ring(folder(), config.load(folder() / CONFIG)))

    async def close(self) -> None:
        for follower in self._followers:
            await follower.close()
        await self._session.close()

    @asynccontextmanager
    async def driving(self) -> AsyncIterator[None]:
        """Do nothing: the engines of the service work."""
        yield

    def follow(self, stack_id: str) -> RemoteFollower:
        follower = RemoteFollower(self._finder, stack_id, self._finder.last_events.get(stack_id, 0))
        self._followers.append(follower)
        return follower

    async def in_progress(self, besides: Sequence[str] = ()) -> list[str]:
        """Return no stacks: the service continues all of them."""
        return []

    async def is_driven(self) -> bool:
        """Return whether an engine of the service lives. Only its operators may know; others are told that one does."""
        try:
            found = (await self._session.get("/services"))["services"]
        except errors.UserError as error:
            return error.kind != _NO_ENGINES
        return any(one["status"] == "up" for one in found)
