"""Software configs and deployments that users keep outside of stacks. Resources keep theirs in the same tables.

References and limits are checked in the transaction that writes, so they hold for concurrent requests. The agent of a
server may read an object of Swift instead of the API: each change is written there before the request is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from isotherm import errors
from isotherm.engine import contexts, stored_ports
from isotherm.engine.queries import views
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.resources import properties
from isotherm.resources.context import software
from isotherm.resources.heat.software import software_config as types
from isotherm.resources.openstack.swift import agent_metadata
from isotherm.store import software as rows
from isotherm.store.database.writer import Connection


class SoftwareService:
    """Keeps the software configs and deployments of one project."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project

    async def configs(self, *, limit: int | None = None, marker: str | None = None,
                      everywhere: bool = False) -> list[dict[str, Any]]:
        """Return configs, newest first; `everywhere`: of all projects."""
        project = None if everywhere else self._project
        found = await self._ports.store.read(lambda connection: rows.configs(connection, project, limit, marker))
        return [{"id": row["id"], "name": row["name"], "group": row["group"],
                 "creation_time": views.time(row["created_at"]), "project": row["project"]} for row in found]

    async def config(self, id_: str) -> dict[str, Any]:
        found = await self._ports.store.read(lambda connection: rows.config(connection, self._project, id_))
        if found is None:
            raise _no_config(id_)
        return software.shown(stored_ports.config_of(found))

    async def create_config(self, config: software.Config) -> dict[str, Any]:
        """Create a config with a new id. Inputs and outputs are validated and normalised."""
        config = msgspec.structs.replace(
            config, id=self._ports.new_id(), created_at=self._ports.clock.now(),
            inputs=types.kept_inputs([_with_value(one) for one in config.inputs]),
            outputs=types.kept_outputs([_checked("outputs", types.OUTPUT.schema, one) for one in config.outputs]))

        row, most = stored_ports.config_row(config), self._ports.settings.max_software_configs_per_tenant
        await self._ports.store.write(
            lambda connection: rows.create_config(connection, self._project, row, config.created_at, most))
        return software.shown(config)

    async def delete_config(self, id_: str) -> None:
        def unit(connection: Connection) -> None:
            if rows.config(connection, self._project, id_) is None:
                raise _no_config(id_)
            if rows.is_used(connection, id_):
                raise errors.Conflict(f"Software config with id {id_} can not be deleted as it is referenced.",
                                      kind="InvalidRestrictedAction", hint="Delete its deployments first.")
            rows.delete_config(connection, self._project, id_)

        await self._ports.store.write(unit)

    async def deployments(self, server_id: str | None = None) -> list[dict[str, Any]]:
        found = await self._ports.store.read(lambda connection: rows.deployments(connection, self._project, server_id))
        return [views.software_deployment(stored_ports.deployment_of(row)) for row in found]

    async def server_metadata(self, server_id: str) -> list[dict[str, Any]]:
        """Return the configs that a server is to apply, ordered by name."""
        found = await self._ports.store.read(lambda connection: rows.deployed(connection, self._project, server_id))
        return [software.shown(stored_ports.config_of(row)) for row in found]

    async def deployment(self, id_: str) -> dict[str, Any]:
        found = await self._ports.store.read(lambda connection: rows.deployment(connection, self._project, id_))
        if found is None:
            raise _no_deployment(id_)
        return views.software_deployment(stored_ports.deployment_of(found))

    async def create_deployment(self, deployment: software.Deployment) -> dict[str, Any]:
        made = msgspec.structs.replace(deployment, id=self._ports.new_id(), created_at=self._ports.clock.now())
        row, most = stored_ports.deployment_row(made), self._ports.settings.max_software_deployments_per_tenant

        def unit(connection: Connection) -> None:
            self._expect_config(connection, made.config_id)
            rows.put_deployment(connection, self._project, row, made.created_at, most)

        await self._ports.store.write(unit)
        try:
            await self._publish(made.server_id)
        except errors.Unavailable:
            # Repeated by its sender, the request would create a second one.
            await self._ports.store.write(lambda connection: rows.delete_deployment(connection, self._project, made.id))
            raise
        return views.software_deployment(made)

    async def update_deployment(self, id_: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the named fields, and wake a resource that waits for the deployment."""

        def unit(connection: Connection) -> software.Deployment:
            row, now = rows.deployment(connection, self._project, id_), self._ports.clock.now()
            if row is None:
                raise _no_deployment(id_)
            if "config_id" in changes:
                self._expect_config(connection, changes["config_id"])
            after = msgspec.structs.replace(stored_ports.deployment_of(row), updated_at=now, **changes)
            rows.put_deployment(connection, self._project, stored_ports.deployment_row(after), now)
            rows.wake(connection, row, now)
            return after

        found = await self._ports.store.write(unit)
        self._ports.wake()
        if "config_id" in changes:
            await self._publish(found.server_id)
        return views.software_deployment(found)

    async def delete_deployment(self, id_: str) -> None:
        def unit(connection: Connection) -> str | None:
            row = rows.deployment(connection, self._project, id_)
            if row is None:
                raise _no_deployment(id_)
            rows.delete_deployment(connection, self._project, id_)
            rows.wake(connection, row, self._ports.clock.now())
            server_id: str | None = row["server_id"]
            return server_id

        server_id = await self._ports.store.write(unit)
        self._ports.wake()
        await self._publish(server_id)

    async def _publish(self, server_id: str | None) -> None:
        """Have the agent of a server learn of its deployments, if it reads an object. Raises Unavailable."""
        if not server_id:
            return
        server = await self._ports.store.read(lambda connection: rows.server(connection, self._project, server_id))
        if server is None:
            return
        context = self._ports.reading_context(self._project)
        context = replace(context, cloud=contexts.cloud_of(context, server.stack_id))
        try:
            await agent_metadata.publish(context, server.stack_id, server_id)
        except errors.CloudError as error:
            raise errors.Unavailable(f"The agent of the server {server_id} cannot be told: {error}") from error

    def _expect_config(self, connection: Connection, id_: str) -> None:
        if rows.config(connection, self._project, id_) is None:
            raise errors.UserError(f"Data supplied was not valid: Software config with id {id_} not found", kind="Invalid")


def _with_value(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a validated input; its value is not part of the schema."""
    value = {"value": given["value"]} if "value" in given else {}
    rest = {name: inner for name, inner in given.items() if name != "value"}
    return {**_checked("inputs", types.INPUT.schema, rest), **value}


def _checked(where: str, schema: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return properties.convert(schema, given, path=where, rules=properties.Rules())
    except errors.UserError as error:
        raise errors.UserError(str(error), kind="ValueError") from error


def _no_config(id_: str) -> errors.NotFound:
    return errors.NotFound(f"Software config with id {id_} not found", kind="NotFound")


def _no_deployment(id_: str) -> errors.NotFound:
    return errors.NotFound(f"Deployment with id {id_} not found", kind="NotFound")
