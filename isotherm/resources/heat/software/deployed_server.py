"""OS::Heat::DeployedServer: an existing server as the target of deployments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract, signal_access
from isotherm.resources.context import software, transports
from isotherm.resources.openstack.swift import agent_metadata
from isotherm.resources.schema import CACHE_NONE, DEPRECATED, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

NAME, TRANSPORT, SWIFT = "name", "software_config_transport", "deployment_swift_data"
_NOT_EMPTY = (constraints.Length(minimum=1),)


class DeployedServer(contract.RowOnly):
    """Represents a server that is not created or deleted here. Its metadata lists its deployments."""

    TYPE = "OS::Heat::DeployedServer"
    DESCRIPTION = "Stands for a server that exists already, so that software can be deployed to it."
    traits = contract.Traits(shows_deployments=True)
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        NAME: Schema(STRING, "The name of the server.", update_allowed=True),
        "metadata": Schema(
            MAP, "Passed over.", update_allowed=True,
            support=Support(DEPRECATED, "9.0.0", "This property will be ignored", Support(version="8.0.0"))),
        TRANSPORT: Schema(
            STRING, "How the server learns what to apply. POLL_SERVER_HEAT: from the Orchestration API. POLL_SERVER_CFN: "
            "from the CloudFormation API. POLL_TEMP_URL: from an object store. ZAQAR_MESSAGE: not available.",
            default=transports.CFN,
            update_allowed=True, constraints=(constraints.AllowedValues(allowed=transports.ALL),)),
        SWIFT: Schema(
            MAP, "Where in an object store to put what is to be applied, with POLL_TEMP_URL.", default={},
            update_allowed=True, support=Support(version="9.0.0"),
            schema={"container": Schema(STRING, "The name of the container.", constraints=_NOT_EMPTY),
                    "object": Schema(STRING, "The name of the object.", constraints=_NOT_EMPTY)}),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        NAME: AttributeSchema("The name of the server.", STRING),
        "os_collect_config": AttributeSchema(
            "What the agent on the server has to know to learn what to apply.", MAP, CACHE_NONE, Support(version="9.0.0")),
    }

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "its server reads its metadata at a URL that names its stack"

    async def handle_create(self) -> object:
        await self._prepare()
        await self._publish()
        self.physical_id = software.id_for(self.token)
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if changed.keys() & {TRANSPORT, SWIFT}:
            await self._prepare()
            if TRANSPORT in changed:
                transports.changed(self, before.get(TRANSPORT))
        await self._publish()
        return None

    async def handle_delete(self) -> object:
        await agent_metadata.delete(self)
        return None

    async def handle_suspend(self) -> object:
        await signal_access.enable(self, False)
        return None

    async def handle_resume(self) -> object:
        await signal_access.enable(self, True)
        return None

    async def attribute(self, name: str) -> object:
        if name == NAME:
            return self.properties[NAME] or self.physical_name
        if self.context.stack_users is None and self.properties[TRANSPORT] == transports.HEAT:
            # The agent was configured, with its login, when it was installed.
            return {transports.KEY: {"collectors": ["heat", "local"], "heat": {
                "stack_id": f"{self.stack_name}/{self.stack_id}", "resource_name": self.name}}}
        return {transports.KEY: await transports.collect_config(self, self.properties[TRANSPORT], first=())}

    async def _prepare(self) -> None:
        await transports.prepare(self, self.properties[TRANSPORT], transports.HEAT)
        if self.properties[TRANSPORT] == transports.TEMP_URL:
            await agent_metadata.prepare(self, self.properties[SWIFT])
        else:
            agent_metadata.retire(self)

    async def _publish(self) -> None:
        agent = await transports.collect_config(self, self.properties[TRANSPORT], first=())
        await agent_metadata.write(self, agent)
