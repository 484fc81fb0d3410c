"""The ports of Neutron that belong to a server: those that the type creates for entries of `networks`, and all others.

Nova creates a port for an entry that is nothing but a network and an address. The type creates the port itself where the
entry asks for more. Such an internal port carries the server's token as its description, so that it is found again after
a crash, and `NAME-port-N` as its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.table_object import Found, TableObject

Entry = Mapping[str, Any]
_IDS_PER_LIST = 100


def needs_own_port(entry: Entry) -> bool:
    """Return whether the type creates the port of an entry."""
    if entry.get(names.PORT):
        return False
    return any(entry.get(name) for name in (names.SUBNET, names.EXTRA, names.FLOATING_IP))


class ServerPorts:
    """The ports of one server."""

    def __init__(self, server: TableObject) -> None:
        self._server = server
        self._neutron = server.other_service("network")

    async def internal(self) -> list[Found]:
        """Return the internal ports, by number."""
        found = await self._neutron.pages("/ports", "ports", {"description": self._server.token_text})
        return sorted(found, key=lambda one: (_number(one), one["id"]))

    async def attached(self) -> list[Found]:
        """Return the ports that are attached to the server."""
        return await self._neutron.pages("/ports", "ports", {"device_id": self._server.physical_id})

    async def attached_to(self, servers: Sequence[str]) -> dict[str, list[Found]]:
        """Return the ports that are attached to each of many servers."""
        ports: dict[str, list[Found]] = {server: [] for server in servers}
        for first in range(0, len(servers), _IDS_PER_LIST):
            query = {"device_id": list(servers[first:first + _IDS_PER_LIST])}
            for port in await self._neutron.pages("/ports", "ports", query):
                ports[port["device_id"]].append(port)
        return ports

    async def prepared(self, entry: Entry, number: int) -> str:
        """Return the id of the port of an entry. An internal port is created unless one with this number exists."""
        port = entry.get(names.PORT) or await self._own(entry, number)
        await self._associate(entry, str(port))
        return str(port)

    async def _associate(self, entry: Entry, port: str) -> None:
        if entry.get(names.FLOATING_IP):
            await self._neutron.put(f"/floatingips/{rest.part(entry[names.FLOATING_IP])}",
                                    {"floatingip": {"port_id": port}})

    async def disassociate(self, floating_ip: str) -> None:
        """Release a floating ip from the ports of the server."""
        answer = await self._neutron.find(f"/floatingips/{rest.part(floating_ip)}")
        if answer is not None and answer["floatingip"]["port_id"] in [one["id"] for one in await self.attached()]:
            await self._neutron.put(f"/floatingips/{rest.part(floating_ip)}", {"floatingip": {"port_id": None}})

    async def _own(self, entry: Entry, number: int) -> str:
        found = [one for one in await self.internal() if _number(one) == number]
        # A request that was carried out after it had been given up leaves a double.
        for one in found[1:]:
            await self.delete(one["id"])
        if found:
            return str(found[0]["id"])
        answer = await self._neutron.post("/ports", {"port": await self._body(entry, number)})
        return str(answer["port"]["id"])

    async def _body(self, entry: Entry, number: int) -> Found:
        body: Found = {"name": f"{self._server.name}-port-{number}", "description": self._server.token_text,
                       "network_id": entry.get(names.NETWORK) or await self._network_of(entry.get(names.SUBNET))}
        fixed = {"subnet_id": entry.get(names.SUBNET), "ip_address": entry.get(names.FIXED_IP)}
        fixed = {name: value for name, value in fixed.items() if value}
        if fixed:
            body["fixed_ips"] = [fixed]
        groups = self._server.properties[names.GROUPS]
        if groups:
            cloud = rest.require(self._server.context.cloud)
            body["security_groups"] = [await finders.security_group(cloud, one) for one in groups]
        return {**body, **extra_body(entry.get(names.EXTRA) or {})}

    async def _network_of(self, subnet: str | None) -> str:
        if not subnet:
            raise errors.Permanent(f"Each entry of {names.NETWORKS} needs one of {names.NETWORK}, {names.SUBNET}, "
                                   f"{names.PORT}, {names.ALLOCATE}.")
        answer = await self._neutron.get(f"/subnets/{rest.part(subnet)}")
        return str(answer["subnet"]["network_id"])

    async def update(self, port: str, entry: Entry) -> None:
        """Bring the further properties and the floating ip of a port to those of its entry."""
        await self._associate(entry, port)
        body = extra_body(entry.get(names.EXTRA) or {})
        body.pop("mac_address", None)
        if body:
            await self._neutron.put(f"/ports/{rest.part(port)}", {"port": body})

    async def delete(self, port: str) -> None:
        try:
            await self._neutron.delete(f"/ports/{rest.part(port)}")
        except faults.NoSuchObject:
            return

    async def clean_up(self) -> int:
        """Delete internal ports that are not attached; return a number that no internal port has."""
        found = await self.internal()
        for one in found:
            if not one["device_id"]:
                await self.delete(one["id"])
        return max((_number(one) for one in found), default=-1) + 1

    async def delete_internal(self) -> None:
        for one in await self.internal():
            await self.delete(one["id"])

    async def holders(self, entries: Sequence[Entry]) -> dict[str, str]:
        """Return the servers that hold ports or addresses of these entries, by the ids of the ports."""
        found: list[Found] = []
        for entry in entries:
            if entry.get(names.PORT):
                query: Found = {"id": entry[names.PORT]}
            elif entry.get(names.FIXED_IP):
                query = {"fixed_ips": f"ip_address={entry[names.FIXED_IP]}"}
                if entry.get(names.NETWORK):
                    query["network_id"] = entry[names.NETWORK]
            else:
                continue
            found += await self._neutron.pages("/ports", "ports", query)
        return {str(one["id"]): str(one["device_id"]) for one in found
                if one["device_id"] and str(one["device_owner"]).startswith("compute:")}


def extra_body(extra: Mapping[str, Any]) -> Found:
    """Return `port_extra_properties` as Neutron takes them."""
    body = {name: value for name, value in extra.items()
            if value is not None and name not in ("value_specs", "qos_policy", "no_fixed_ips")}
    if extra.get("qos_policy"):
        body["qos_policy_id"] = extra["qos_policy"]
    if extra.get("no_fixed_ips"):
        body["fixed_ips"] = []
    if "allowed_address_pairs" in body:
        body["allowed_address_pairs"] = [{name: value for name, value in pair.items() if value is not None}
                                         for pair in body["allowed_address_pairs"]]
    return {**body, **(extra.get("value_specs") or {})}


def _number(port: Mapping[str, Any]) -> int:
    number = str(port["name"]).rpartition("-")[2]
    return int(number) if number.isdigit() else -1
