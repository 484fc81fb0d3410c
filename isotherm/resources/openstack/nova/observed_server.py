"""The base of OS::Nova::Server: the server as Nova and Neutron show it, its live values and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.nova import base, server_attributes, server_networks
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server_networks import ServerNetworks
from isotherm.resources.openstack.nova.server_ports import ServerPorts
from isotherm.resources.openstack.nova.user_data.server_user_data import ServerUserData
from isotherm.resources.openstack.table import States

STATES = States(
    ready=frozenset({"ACTIVE"}),
    waiting=frozenset({"BUILD", "HARD_REBOOT", "PASSWORD", "REBOOT", "REBUILD", "RESCUE", "RESIZE", "REVERT_RESIZE",
                       "SHUTOFF", "SUSPENDED", "VERIFY_RESIZE"}),
    failed=frozenset({"ERROR"}), gone=frozenset({"DELETED"}))
# The longest name that Nova takes.
_NAME_CHARS = 255
# Servers of older versions have a tag made of the names of stack and resource. It says nothing after a move.
_OLD_TAG = "isotherm-of-"


class ObservedServer(TableResource):
    """A server that is observed, and whose attributes are read."""

    @property
    def name_chars(self) -> int:
        return self.context.servers.name_chars or _NAME_CHARS

    # Requests.

    @property
    def is_made_by_post(self) -> bool:
        return True

    def present(self, found: Found | None) -> Found | None:
        # Some clouds add to the status: `ACTIVE(...)`.
        return super().present(found and {**found, "status": str(found["status"]).partition("(")[0]})

    async def shown(self) -> Found:
        """Return the server. Raises Permanent if it is gone or in an error state."""
        found = await self.show()
        if found is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        if found["status"] in STATES.failed:
            raise errors.Permanent(self.problem_of(found))
        return found

    async def act(self, action: str, arguments: object = None, headers: Mapping[str, str] = names.SHOWN) -> Any:
        """Ask Nova for an action on the server; return its answer."""
        return await self.other_service(base.SERVICE, headers).post(f"{self.path}/action", {action: arguments})

    def problem_of(self, found: Found) -> str:
        status = found["status"]
        if status in STATES.ready | STATES.waiting:
            return ""
        if status not in STATES.failed:
            return f"{self.name} went to status {status}, which is not known"
        fault = found.get("fault") or {}
        return (f'Went to status {status} due to "Message: {fault.get("message", "Unknown")}, '
                f'Code: {fault.get("code", "Unknown")}"')

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        collects = properties.get(names.FORMAT) == names.SOFTWARE_CONFIG
        return "its agent reads its metadata at a URL that names its stack" if collects else ""

    def wanted_tags(self) -> list[str]:
        return [*(self.properties[names.TAGS] or ()), self.token_text]

    # Reality.

    async def handle_check(self) -> object:
        found = await self.shown()
        if found["status"] not in STATES.ready:
            raise errors.Permanent(f"'{found['status']}': expected 'ACTIVE'")
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        live = self.gone_or_seen(await self.show())
        if isinstance(live, contract.Gone) or not self.properties[names.NETWORKS]:
            return live
        return await self._with_networks(live, await ServerPorts(self).attached())

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        found = await super().observe_many(context, many)
        servers = [cls(one, context) for one in many]
        open_ = [index for index, live in enumerate(found) if isinstance(live, contract.Seen)
                 and servers[index].properties[names.NETWORKS] and names.NETWORKS not in live.properties]
        if not open_:
            return found
        ports = await ServerPorts(servers[open_[0]]).attached_to([str(servers[index].physical_id) for index in open_])
        answers = list(found)
        for index in open_:
            answers[index] = await servers[index]._with_networks(found[index], ports[str(servers[index].physical_id)])
        return answers

    async def _with_networks(self, live: contract.LiveState, attached: Sequence[Found]) -> contract.LiveState:
        if not isinstance(live, contract.Seen):
            return live
        matching = await ServerNetworks(self).matching(attached)
        networks = self.properties[names.NETWORKS] if matching.is_complete else server_networks.shown(attached)
        return replace(live, properties={**live.properties, names.NETWORKS: networks})

    def live(self, found: Found) -> Found:
        found = self.without_token(found)
        live: Found = {name: found[name] for name in (names.NAME, names.METADATA, names.TAGS)}
        live[names.FLAVOR] = found["flavor"]["id"]
        # A server that boots from a volume shows no image.
        if found["image"]:
            live[names.IMAGE] = found["image"]["id"]
        return live

    def without_token(self, found: Found) -> Found:
        found = super().without_token(found)
        return {**found, "tags": [one for one in found.get("tags", ()) if not one.startswith(_OLD_TAG)]}

    # Attributes.

    async def attribute(self, name: str) -> object:
        if name == "os_collect_config":
            return await ServerUserData(self).metadata()
        try:
            return await super().attribute(name)
        except errors.Permanent:
            if self.shown_last is not None:
                raise
            return ""

    async def attribute_in(self, name: str, found: Found) -> object:
        match name:
            case "addresses":
                return await server_attributes.ServerAddresses(self).addresses(found)
            case "networks":
                return await server_attributes.ServerAddresses(self).networks(found)
            case "first_address":
                return server_attributes.first_address(found)
            case "console_urls":
                return await server_attributes.console_urls(self)
            case "instance_name":
                return found.get("OS-EXT-SRV-ATTR:instance_name")
        return await super().attribute_in(name, found)
