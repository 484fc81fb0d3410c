"""The port to an engine: the methods that commands call, wherever the engine is.

The engine inside the command fulfils it (`Embedded`, and `Folder` for commands that only read), and so does the client of a
service (`cli.remote`). Results are plain data in the form of the engine's queries; errors are those of `isotherm.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Slow to import: they load the language of templates.
    from isotherm.engine.operations.accept import Accepted, Request
    from isotherm.engine.operations.history import PastInput
    from isotherm.engine.operations.patch import Patch
    from isotherm.engine.ownership.export import Abandoned
    from isotherm.engine.queries.follow import Frame
    from isotherm.secrets.ring import KeyRing

Data = dict[str, Any]
Rows = list[Data]


class StackReadsPort(Protocol):
    async def list(self) -> Rows: ...

    async def find(self, name_or_id: str) -> Data: ...

    async def show(self, name_or_id: str) -> Data: ...

    async def drift_counts(self, stack_ids: Sequence[str]) -> dict[str, dict[str, int]]: ...


class StacksPort(StackReadsPort, Protocol):
    async def create(self, name: str, request: Request) -> Accepted: ...

    async def update(
        self, name_or_id: str, change: Request | Patch, *, generation: int | None = None
    ) -> Accepted: ...

    async def delete(self, name_or_id: str, *, force: bool = False) -> Accepted: ...

    async def rollback(self, name_or_id: str, *, to: int | None = None) -> Accepted: ...

    async def retry(self, name_or_id: str, names: Sequence[str] = ()) -> Accepted: ...

    async def cancel(self, name_or_id: str, *, rollback: bool = True) -> Accepted: ...

    async def check(self, name_or_id: str) -> Accepted: ...

    async def suspend(self, name_or_id: str) -> Accepted: ...

    async def resume(self, name_or_id: str) -> Accepted: ...


class ResourcesPort(Protocol):
    async def list(self, name_or_id: str, *, depth: int = 0) -> Rows: ...

    async def count(self, name_or_id: str) -> int: ...


class ResourceDetailsPort(ResourcesPort, Protocol):
    async def show(self, name_or_id: str, name: str) -> Data: ...


class EventsPort(Protocol):
    async def list(self, name_or_id: str, *, after: int = 0, last: int | None = None, depth: int = 0) -> Rows: ...


class InputsPort(Protocol):
    async def parameters(self, name_or_id: str) -> dict[str, str]: ...

    async def template(self, name_or_id: str) -> Any: ...

    async def environment(self, name_or_id: str) -> Data: ...

    async def files(self, name_or_id: str) -> dict[str, str]: ...


class OutputsPort(Protocol):
    async def list(self, name_or_id: str) -> Rows: ...


class SignalsPort(Protocol):
    async def send(self, name_or_id: str, resource: str, details: Any = None, *, signal_id: str = "") -> None: ...

    async def clear_hook(self, name_or_id: str, resource: str, hook: Any) -> None: ...

    async def hooks(self, name_or_id: str) -> Rows: ...

    async def mark_unhealthy(
        self, name_or_id: str, resource: str, unhealthy: bool = True, reason: str = ""
    ) -> None: ...


class SnapshotsPort(Protocol):
    async def take(self, name_or_id: str, snapshot_name: str | None = None) -> Accepted: ...

    async def list(self, name_or_id: str) -> Rows: ...

    async def show(self, name_or_id: str, snapshot: str, *, hidden: bool = False) -> Data: ...

    async def delete(self, name_or_id: str, snapshot: str) -> None: ...

    async def restore(self, name_or_id: str, snapshot: str) -> Accepted: ...


class ExportsPort(Protocol):
    async def export(self, name_or_id: str, *, hidden: bool = False) -> Data: ...

    async def abandon(self, name_or_id: str, *, hidden: bool = False, force: bool = False) -> Abandoned: ...

    async def adopt(self, name: str, data: bytes, change: Patch | None = None) -> Accepted: ...


class DriftPort(Protocol):
    async def show(self, name_or_id: str, *, whole: bool = False) -> Data: ...

    async def show_resource(self, name_or_id: str, name: str) -> Data: ...

    async def observe(self, name_or_id: str, name: str | None = None) -> None: ...

    async def converge_one(self, name_or_id: str, name: str) -> Accepted: ...

    async def set_watch(
        self, name_or_id: str, *, policy: str | None = "", interval: float | None = -1.0, mode: str = ""
    ) -> None: ...

    async def set_resource_policy(self, name_or_id: str, name: str, policy: str | None) -> None: ...

    async def project_mode(self) -> str: ...

    async def set_project_mode(self, mode: str) -> None: ...


class ProtectionPort(Protocol):
    async def show(self, name_or_id: str) -> Data: ...

    async def protect_stack(self, name_or_id: str) -> None: ...

    async def unprotect_stack(self, name_or_id: str) -> None: ...

    async def protect_resource(self, name_or_id: str, name: str, from_: Sequence[str]) -> None: ...

    async def unprotect_resource(self, name_or_id: str, name: str) -> None: ...


class ForgetPort(Protocol):
    async def stack(self, name_or_id: str, *, force: bool = False) -> Accepted: ...

    async def resource(self, name_or_id: str, name: str, *, force: bool = False) -> Accepted: ...


class MovesPort(Protocol):
    async def move(
        self, name_or_id: str, name: str, to: str, new_name: str = "", *, with_values: bool = False
    ) -> Data: ...


class ImportsPort(Protocol):
    async def plan(self, name: str, change: Request | Patch, objects: Mapping[str, str]) -> Data: ...

    async def take(
        self, name: str, change: Request | Patch, objects: Mapping[str, str], *, generation: int | None = None
    ) -> Accepted: ...

    async def template(self, objects: Mapping[str, str], types: Mapping[str, str]) -> Data: ...


class PlansPort(Protocol):
    async def plan(self, name: str, change: Request | Patch | PastInput) -> Data: ...


class HistoryPort(Protocol):
    async def list(self, name_or_id: str) -> Rows: ...

    async def diff(self, name_or_id: str, first: int | None = None, second: int | None = None) -> Data: ...


class CausesPort(Protocol):
    async def why(self, name_or_id: str, resource: str, *, with_worker: bool = False) -> Data: ...


class TimelinesPort(Protocol):
    async def operations(self, name_or_id: str, before: int | None, limit: int) -> Data: ...

    async def timeline(self, name_or_id: str, operation_id: str = "", most: int = 500) -> Data: ...


class FollowerPort(Protocol):
    """Follows one stack, for the live view."""

    async def frame(self, lines: int) -> Frame:
        """Return the stack of this moment, with at most so many resources."""
        ...

    async def events(self, after: int, depth: int = 0) -> Rows:
        """Return the next events after an id, oldest first."""
        ...


class OrchestratorPort(Protocol):
    """The services of an engine."""

    @property
    def stacks(self) -> StacksPort: ...

    @property
    def resources(self) -> ResourceDetailsPort: ...

    @property
    def events(self) -> EventsPort: ...

    @property
    def inputs(self) -> InputsPort: ...

    @property
    def outputs(self) -> OutputsPort: ...

    @property
    def signals(self) -> SignalsPort: ...

    @property
    def snapshots(self) -> SnapshotsPort: ...

    @property
    def exports(self) -> ExportsPort: ...

    @property
    def drift(self) -> DriftPort: ...

    @property
    def protection(self) -> ProtectionPort: ...

    @property
    def forget(self) -> ForgetPort: ...

    @property
    def imports(self) -> ImportsPort: ...

    @property
    def moves(self) -> MovesPort: ...

    @property
    def plans(self) -> PlansPort: ...

    @property
    def history(self) -> HistoryPort: ...

    @property
    def causes(self) -> CausesPort: ...

    @property
    def timelines(self) -> TimelinesPort: ...


class ReaderPort(Protocol):
    """The parts of an engine that commands need which only read rows."""

    @property
    def stacks(self) -> StackReadsPort: ...

    @property
    def resources(self) -> ResourcesPort: ...

    @property
    def events(self) -> EventsPort: ...

    async def is_driven(self) -> bool:
        """Return whether an engine works on the stacks."""
        ...


class EnginePort(ReaderPort, Protocol):
    """An engine, in this process or behind a service."""

    @property
    def orchestrator(self) -> OrchestratorPort: ...

    @property
    def ring(self) -> KeyRingSource: ...

    def driving(self) -> AbstractAsyncContextManager[None]:
        """Let this process work on operations inside of the context, if its engine is in it."""
        ...

    def follow(self, stack_id: str) -> FollowerPort: ...

    async def in_progress(self, besides: Sequence[str] = ()) -> list[str]:
        """Return the names of the stacks that this process left unfinished, except `besides`."""
        ...


class KeyRingSource(Protocol):
    """Returns the keys of this machine, which seal saved plans."""

    def __call__(self) -> KeyRing: ...
