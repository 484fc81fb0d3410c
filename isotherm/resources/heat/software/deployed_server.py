"""OS::Heat::DeployedServer: an existing server as the target of deployments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.schema import CACHE_NONE, DEPRECATED, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

NAME, TRANSPORT, SWIFT = "name", "software_config_transport", "deployment_swift_data"
CFN, HEAT, TEMP_URL, ZAQAR = "POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"
_NEEDS = {CFN: "an API that takes signed requests (the CloudFormation API)", TEMP_URL: "an object store",
          ZAQAR: "a message queue"}
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
            STRING, "How the server learns what to apply. POLL_SERVER_HEAT: from the Orchestration API. The others need "
            "services of a cloud.", default=CFN, update_allowed=True,
            constraints=(constraints.AllowedValues(allowed=(CFN, HEAT, TEMP_URL, ZAQAR)),)),
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

    async def handle_create(self) -> object:
        self._require_transport()
        self.physical_id = software.id_for(self.token)
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        self._require_transport()
        return None

    async def attribute(self, name: str) -> object:
        if name == NAME:
            return self.properties[NAME] or self.physical_name
        return {"os-collect-config": {"collectors": ["heat", "local"], "heat": {
            "stack_id": f"{self.stack_name}/{self.stack_id}", "resource_name": self.name}}}

    def _require_transport(self) -> None:
        transport = self.properties[TRANSPORT]
        if transport != HEAT:
            raise errors.Permanent(f"software_config_transport {transport} needs {_NEEDS[transport]}, and there is none "
                                   f"here. Use {HEAT}.")
