"""Ports of a type's context that are implemented with the engine's store.

Each can be `guarded`: then whatever changes something happens inside the lease of the step that asks for it (I5). A
store that does not answer is no failure of the resource: it is asked again later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from isotherm import errors
from isotherm.config import Settings
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.context.servers import ServerRules, StackLevel
from isotherm.resources.context.signals import Inbox, Signal
from isotherm.resources.context.software import Config, Deployment, SoftwareTarget
from isotherm.secrets import is_sealed
from isotherm.states import Action
from isotherm.store import software, stack_paths
from isotherm.store.database.writer import Connection, Store
from isotherm.store.signals import signals

Check = Callable[[], None]
T = TypeVar("T")


def _free() -> None:
    """Check nothing: there is no lease."""


async def _answered(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except errors.IsothermError:
        raise
    except Exception as error:
        raise errors.Temporary(f"the store did not answer: {type(error).__name__}") from error


def server_rules(store: Store, settings: Settings) -> ServerRules:
    """Return the rules for servers that the options say."""

    async def path_of(stack_id: str) -> list[StackLevel]:
        found = await _answered(store.read(lambda connection: stack_paths.stack_path(connection, stack_id)))
        return [StackLevel(*one) for one in found]

    return ServerRules(settings.max_server_name_length, path_of if settings.stack_scheduler_hints else None)


class StoredSignals:
    """Inboxes, from the store."""

    def __init__(self, store: Store, check: Check = _free) -> None:
        self._store = store
        self._check = check

    def guarded(self, check: Check) -> StoredSignals:
        return StoredSignals(self._store, check)

    async def inbox(self, stack_id: str, reference: str, near: Sequence[int] = ()) -> Inbox | None:
        found = await _answered(
            self._store.read(lambda connection: signals.inbox(connection, stack_id, reference, near))
        )
        if found is None:
            return None
        kept = [Signal(number, key, documents.decode_any(text)) for number, key, text in found.signals]
        return Inbox(found.topic, found.type, found.seen, kept)

    async def clear(self, inbox: Inbox) -> None:
        self._check()
        await _answered(self._store.write(lambda connection: signals.clear(connection, inbox.topic, inbox.seen)))


class StoredSoftware:
    """Software configs and deployments, in the store."""

    def __init__(
        self, store: Store, clock: contract.Clock, settings: Settings = Settings(),  # noqa: B008 - frozen
        check: Check = _free,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._check = check

    def guarded(self, check: Check) -> StoredSoftware:
        return StoredSoftware(self._store, self._clock, self._settings, check)

    async def create_config(self, stack_id: str, config: Config) -> None:
        row = config_row(config)
        most = self._settings.max_software_configs_per_tenant
        await self._change(stack_id, lambda c, project: software.create_config(c, project, row, self._clock.now(), most))

    async def config(self, stack_id: str, config_id: str) -> Config | None:
        row = await self._read(stack_id, lambda c, project: software.config(c, project, config_id))
        return None if row is None else config_of(row)

    async def delete_config(self, stack_id: str, config_id: str) -> None:
        await self._change(stack_id, lambda c, project: software.delete_config(c, project, config_id))

    async def put_deployment(self, stack_id: str, deployment: Deployment) -> None:
        row = {**deployment_row(deployment), "stack_id": stack_id}
        most = self._settings.max_software_deployments_per_tenant
        await self._change(stack_id, lambda c, project: software.put_deployment(c, project, row, self._clock.now(), most))

    async def deployment(self, stack_id: str, deployment_id: str) -> Deployment | None:
        row = await self._read(stack_id, lambda c, project: software.deployment(c, project, deployment_id))
        return None if row is None else deployment_of(row)

    async def delete_deployment(self, stack_id: str, deployment_id: str) -> None:
        await self._change(stack_id, lambda c, project: software.delete_deployment(c, project, deployment_id))

    async def deployed(self, stack_id: str, server_id: str) -> Sequence[Config]:
        found = await self._read(stack_id, lambda c, project: software.deployed(c, project, server_id))
        return [config_of(row) for row in found]

    async def server(self, stack_id: str, server_id: str) -> SoftwareTarget | None:
        found = await self._read(stack_id, lambda c, project: software.server(c, project, server_id))
        if found is None or any(map(is_sealed, (found.data, found.metadata, found.intent or ""))):
            return None
        data, metadata = documents.decode(found.data, dict[str, Any]), documents.decode_any(found.metadata)
        # The metadata of an update under way are shown to the server already.
        intent = documents.decode(found.intent, documents.Intent) if found.intent else None
        is_changing = intent is not None and intent.action in (Action.CREATE, Action.UPDATE)
        return SoftwareTarget(found.token, data, intent.metadata if intent is not None and is_changing else metadata)

    async def _read(self, stack_id: str, unit: Callable[[Connection, str], Any]) -> Any:
        return await _answered(
            self._store.read(lambda connection: unit(connection, software.project_of(connection, stack_id)))
        )

    async def _change(self, stack_id: str, unit: Callable[[Connection, str], None]) -> None:
        self._check()
        await _answered(
            self._store.write(lambda connection: unit(connection, software.project_of(connection, stack_id)))
        )


def config_row(config: Config) -> dict[str, Any]:
    document = documents.encode([config.config, config.inputs, config.outputs, config.options])
    return {"id": config.id, "name": config.name, "group": config.group, "document": document}


def deployment_row(deployment: Deployment) -> dict[str, Any]:
    return {
        "id": deployment.id, "server_id": deployment.server_id, "config_id": deployment.config_id,
        "action": deployment.action, "status": deployment.status, "status_reason": deployment.status_reason,
        "input_values": documents.encode(deployment.input_values),
        "output_values": documents.encode(deployment.output_values),
    }


def config_of(row: Any) -> Config:
    config, inputs, outputs, options = documents.decode_any(row["document"])
    return Config(row["id"], row["name"], row["group"], config, inputs, outputs, options, row["created_at"])


def deployment_of(row: Any) -> Deployment:
    return Deployment(
        row["id"], row["server_id"], row["config_id"], row["action"], row["status"], row["status_reason"],
        documents.decode_any(row["input_values"]), documents.decode_any(row["output_values"]), row["created_at"],
        row["updated_at"],
    )
