"""AWS::EC2::Instance: a server of Nova under the names of EC2.

The class is that of OS::Nova::Server, and sees the server's properties; those of the template are in `given`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from isotherm.resources import contract
from isotherm.resources.aws.ec2 import instance_columns as columns
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.cinder import attachments
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.nova import server_attributes
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.schema import Support

# What Heat shows for a server without an address.
_NO_ADDRESS = "0.0.0.0"


class Instance(Server):
    """A server."""

    TYPE = "AWS::EC2::Instance"
    DESCRIPTION = "A virtual server, under the names of EC2."
    support = Support()
    traits = replace(Server.traits, supports_snapshot_delete=False, shows_deployments=False)
    properties_schema = columns.PROPERTIES
    attributes_schema = columns.ATTRIBUTES
    translation_rules = columns.RULES

    def __init__(self, state: contract.ResourceState, context: contract.Context) -> None:
        super().__init__(state, context)
        self.given = state.properties
        self.properties = columns.server_properties(state.properties) if state.properties else {}

    # Decisions.

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from columns.problems(properties)

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the subnets of the template, where Nova chooses the network."""
        if properties.get(columns.SUBNET) or properties.get(columns.INTERFACES):
            return ()
        return [one.name for one in others.of_type("OS::Neutron::Subnet")]

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any], changed: Mapping[str, Any]) -> str | None:
        return None

    # Create: the volumes are attached once the server is active.

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        answer = await super().check_create_complete(progress)
        if answer is not True:
            return answer
        asked = list((progress or {}).get("attached", ()))
        waits = await self._attach_volumes(asked)
        return contract.Wait(reason=waits, progress={"finished": True, "attached": asked}) if waits else True

    async def _attach_volumes(self, asked: list[str]) -> str:
        """Go one step on; return what is waited for, or an empty text when all volumes are attached."""
        compute = self.other_service("compute", finders.COMPUTE)
        server = str(self.physical_id)
        for one in self.given.get(columns.VOLUMES) or ():
            volume = one[columns.VOLUME]
            answer = await self.other_service("block-storage", finders.BLOCK_STORAGE).get(f"/volumes/{rest.part(volume)}")
            found = answer["volume"]
            if found["status"] == "in-use" and server in attachments.servers_of(found):
                continue
            if not await attachments.is_attached(compute, server, volume):
                for holder in attachments.servers_of(found):
                    # The server that this one replaces has it until then.
                    if holder != server and self._is_predecessor(holder):
                        return await _released(compute, holder, found)
                if volume in asked:
                    raise attachments.attach_failed(server, volume)
                await attachments.attach(compute, server, volume, one[columns.DEVICE])
                asked.append(volume)
            return f"the volume {volume} is being attached"
        return ""

    # Update.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        targets = {columns.CHANGES[name] for name in changed if name in columns.CHANGES}
        return await super().handle_update(
            columns.server_properties(before), {name: self.properties[name] for name in targets})

    # Snapshot: an instance has none.

    async def handle_snapshot(self) -> object:
        return None

    async def check_snapshot_complete(self, progress: Any) -> bool | contract.Wait:
        return True

    @classmethod
    def restored_properties(cls, properties: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
        return properties

    # Reality.

    async def handle_get_reality(self) -> contract.LiveState:
        return self._under_own_names(await super().handle_get_reality())

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        found = await super().observe_many(context, many)
        return [cls(one, context)._under_own_names(live) for one, live in zip(many, found, strict=True)]

    def _under_own_names(self, live: contract.LiveState) -> contract.LiveState:
        """Return the live state of the server with the properties of the instance. One that has them stays as it is."""
        if not isinstance(live, contract.Seen):
            return live
        shown = {name: value for name, value in live.properties.items() if name in columns.PROPERTIES}
        for name, target in columns.CHANGES.items():
            if target in live.properties and self.given.get(name):
                is_wanted = live.properties[target] == self.properties[target]
                shown[name] = self.given[name] if is_wanted else _own(name, live.properties[target])
        return replace(live, properties=shown)

    # Attributes.

    async def attribute_in(self, name: str, found: Found) -> object:
        if name == columns.ZONE:
            return found.get("OS-EXT-AZ:availability_zone")
        if name in columns.ATTRIBUTES:
            return server_attributes.first_address(found) or _NO_ADDRESS
        return await super().attribute_in(name, found)


async def _released(compute: rest.Service, server: str, volume: Found) -> str:
    """Ask once for the detach of a volume, and return what is waited for."""
    if volume["status"] == "in-use":
        with contextlib.suppress(faults.NoSuchObject):
            await attachments.detach(compute, server, volume["id"])
    return f"waiting until the server {server} has released the volume {volume['id']}"


def _own(name: str, value: Any) -> Any:
    """Return the live value of a property of the server as the property of the instance has it."""
    if name == columns.TAGS:
        return [{"Key": key, "Value": one} for key, one in sorted(value.items())]
    if name == columns.INTERFACES:
        return [one.get(names.PORT) for one in value]
    # Another interface than that in the subnet.
    return ", ".join(str(one.get(names.PORT)) for one in value) if name == columns.SUBNET else value
