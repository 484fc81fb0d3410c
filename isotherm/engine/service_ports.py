"""The ports that all services of the Orchestrator share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine import contexts
from isotherm.engine.cloud_binding import CloudBinding, OneCloud
from isotherm.engine.nested import inner_reads
from isotherm.engine.nested.shared_outputs import ProjectOutputs
from isotherm.engine.stack_lifecycle import StackLifecycle
from isotherm.engine.view_memory import ViewMemory
from isotherm.identity.requester import Requester
from isotherm.planning.planner import Planning
from isotherm.resources import cloud_lookups, contract
from isotherm.resources.registry import Registry
from isotherm.store.database.writer import Store


def _wake_nothing(*stack_ids: str) -> None:
    """Leave the operation to the workers' next search."""


def _no_cloud(requester: Requester) -> contract.Cloud | None:
    return None


@dataclass(frozen=True, slots=True)
class ServicePorts:
    """The ports of one process; one value serves all requests."""

    store: Store
    types: Registry
    clock: contract.Clock
    new_id: Callable[[], str]
    planning: Planning
    settings: Settings = Settings()  # noqa: RUF009 - frozen
    # Called with the ids of the stacks that have new work; without ids, any stack may have some.
    wake: Callable[..., None] = _wake_nothing
    # Returns the ports of resource types outside of the store; called when a request first asks a type.
    process_ports: Callable[[], contexts.ProcessPorts] = contexts.nothing

    # Returns the cloud with the credential of a request; None where no cloud is configured.
    cloud_of: Callable[[Requester], contract.Cloud | None] = _no_cloud

    # Binds stacks to the cloud that a request names.
    cloud_binding: CloudBinding = OneCloud()  # noqa: RUF009 - it has no state

    # The plug-ins that are asked before an operation is accepted.
    lifecycle: StackLifecycle = StackLifecycle()  # noqa: RUF009 - without plug-ins, it has no state

    # What views of large stacks remember.
    memory: ViewMemory = field(default_factory=ViewMemory)

    async def ask_cloud(
        self, requester: Requester, stack_id: str, questions: Iterable[cloud_lookups.Question]
    ) -> cloud_lookups.Answers:
        """Return the cloud's answers, asked with the credential of the request, or else with that of the stack."""
        process = self.process_ports()
        cloud = self.cloud_of(requester)
        if cloud is None and process.cloud is not None:
            cloud = process.cloud.of_stack(stack_id)
        try:
            return await process.lookups.answer(cloud, questions, self.clock.now())
        except errors.Temporary as error:
            raise errors.Unavailable(str(error), error.retry_after_s) from error

    def inner_reader(self, project: str) -> inner_reads.InnerStackReader:
        """Return a reader of nested stacks, for one request."""
        return inner_reads.InnerStackReader(self.inner_access(project))

    def inner_access(self, project: str) -> inner_reads.Access:
        return inner_reads.Access(self.store, self.planning, self.clock, project)

    def reading_context(self, project: str) -> contract.Context:
        """Return the context in which a request reads from resource types."""
        shared = contexts.shared(self.store, self.clock, self.process_ports(), self.settings,
                                 ProjectOutputs(self.inner_access(project)))
        return contexts.reading(shared, project, self.inner_reader(project))
