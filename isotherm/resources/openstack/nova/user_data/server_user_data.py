"""The user data of one server: as given, or wrapped with what the agents in the guest need."""

from __future__ import annotations

import json
import uuid
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import transports
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.user_data import boot_parts, ignition, message
from isotherm.resources.openstack.swift import agent_metadata

METADATA_FILE = "cfn-init-data"


class ServerUserData:
    """Builds the user data of a server."""

    def __init__(self, server: contract.Resource) -> None:
        self._server = server

    @property
    def is_collected(self) -> bool:
        """Return whether an agent on the server applies deployments."""
        return bool(self._server.properties[names.FORMAT] == names.SOFTWARE_CONFIG)

    async def prepare(self) -> None:
        """Create what the user data refers to: the user of the agent. Called before the server is asked for."""
        if not self.is_collected:
            return
        transport = self._server.properties[names.TRANSPORT]
        # The default is allowed always: many servers have this format and no deployments.
        await transports.prepare(self._server, transport, transports.CFN)
        if transport == transports.TEMP_URL:
            await agent_metadata.prepare(self._server, self._server.properties[names.SWIFT])
        else:
            agent_metadata.retire(self._server)

    async def publish(self) -> None:
        """Write the metadata where the agent reads it, if that is not an API."""
        if self.is_collected:
            agent = await transports.collect_config(self._server, self._server.properties[names.TRANSPORT])
            await agent_metadata.write(self._server, agent)

    async def text(self) -> str:
        """Return the user data."""
        given = str(self._server.properties[names.USER_DATA] or "")
        match self._server.properties[names.FORMAT]:
            case names.RAW:
                return await self._config_or(given)
            case names.SOFTWARE_CONFIG:
                return await self._collected(await self._config_or(given))
        return self._cfntools(given)

    async def metadata(self) -> dict[str, Any]:
        """Return the metadata of the resource, with the configuration of the agent if there is one."""
        server = self._server
        if not self.is_collected:
            return dict(server.metadata or {})
        agent = await transports.collect_config(server, server.properties[names.TRANSPORT])
        return {**(server.metadata or {}), transports.KEY: agent}

    async def _collected(self, given: str) -> str:
        metadata = json.dumps({"deployments": [], **await self.metadata()})
        config = ignition.parsed(given)
        if config is not None:
            return ignition.with_metadata(config, metadata)
        own = message.parts_of(given) if given else ()
        return self._message([*boot_parts.preparation(), *own, boot_parts.stored(METADATA_FILE, metadata)])

    def _cfntools(self, given: str) -> str:
        parts = [*boot_parts.preparation(), boot_parts.stored("cfn-userdata", given), boot_parts.runner()]
        metadata = dict(self._server.metadata or {})
        if metadata:
            parts.append(boot_parts.stored(METADATA_FILE, json.dumps(metadata)))
        url = self._server.context.signal_urls.cfn_url()
        if url:
            parts += [boot_parts.stored("cfn-metadata-server", url.removesuffix("/v1/")),
                      boot_parts.stored("cfn-boto-cfg", boot_parts.boto_config(url, verify=True))]
        return self._message(parts)

    def _message(self, parts: list[message.Part]) -> str:
        return message.of(parts, f"==={uuid.uuid5(uuid.NAMESPACE_OID, self._server.token).hex}==")

    async def _config_or(self, given: str) -> str:
        """Return the content of the software config of this id; anything else is user data itself."""
        if not _is_id(given) or self._server.context.software is None:
            return given
        found = await self._server.context.software.config(self._server.stack_id, given)
        if found is None:
            return given
        if not isinstance(found.config, str):
            raise errors.Permanent(f"Software config {given} is not a text, and cannot be the user data of a server.")
        return found.config


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
