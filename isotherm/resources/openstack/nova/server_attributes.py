"""The attributes of a server that its own representation does not have: addresses with their ports, and consoles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.table_object import Found, TableObject, neighbour

_MAC = "OS-EXT-IPS-MAC:mac_addr"
_FLOATING = "floating"
# The types of consoles, each with its protocol.
_CONSOLES = {"novnc": "vnc", "xvpvnc": "vnc", "spice-html5": "spice", "rdp-html5": "rdp", "serial": "serial",
             "webmks": "mks"}


def first_address(found: Found) -> str:
    """Return the first address of the last network, by name."""
    by_name: Mapping[str, list[Found]] = found["addresses"]
    return next((str(by_name[name][0]["addr"]) for name in sorted(by_name, reverse=True) if by_name[name]), "")


class ServerAddresses:
    """The addresses of one server, with the ports, subnets and networks that they belong to."""

    def __init__(self, server: TableObject) -> None:
        self._server = server
        self._neutron = server.other_service("network")

    async def networks(self, found: Found) -> Found:
        """Return the addresses as texts, by name and by id of the network."""
        return {name: [one["addr"] for one in addresses] for name, addresses in (await self._by_network(found)).items()}

    async def addresses(self, found: Found) -> Found:
        """Return the addresses with all that is known of them, by name and by id of the network."""
        by_network = await self._by_network(found)
        networks = {one: await self._shown("networks", "network", one) for one in by_network
                    if one not in found["addresses"]}
        subnets: dict[str, Found] = {}
        for addresses in by_network.values():
            for one in addresses:
                ids = one.pop("subnet_ids")
                for subnet in ids:
                    subnets.setdefault(subnet, await self._shown("subnets", "subnet", subnet))
                one["subnets"] = [subnets[subnet] for subnet in ids]
                one["network"] = networks.get(one.pop("network_id"))
        return by_network

    async def _by_network(self, found: Found) -> dict[str, list[Found]]:
        ports = await self._neutron.pages("/ports", "ports", {"device_id": self._server.physical_id})
        by_network: dict[str, list[Found]] = {}
        for name, addresses in found["addresses"].items():
            known = [await self._with_port(one, ports) for one in addresses]
            by_network[name] = known
            id_ = next((one["network_id"] for one in known if one["network_id"]), None)
            if id_ is not None and id_ != name:
                by_network[id_] = [dict(one) for one in known]
        return by_network

    async def _with_port(self, address: Found, ports: list[Found]) -> Found:
        port = next((one for one in ports if one["mac_address"] == address.get(_MAC)), {})
        if not port and address.get("OS-EXT-IPS:type") == _FLOATING:
            query = {"floating_ip_address": address["addr"]}
            ids = [one["port_id"] for one in await self._neutron.pages("/floatingips", "floatingips", query)]
            port = next((one for one in ports if one["id"] in ids), {})
        return {**address, "port": port.get("id"), "network_id": port.get("network_id"),
                "subnet_ids": list(dict.fromkeys(fixed["subnet_id"] for fixed in port.get("fixed_ips", ())))}

    async def _shown(self, path: str, key: str, id_: str) -> Found:
        answer = await self._neutron.find(f"/{path}/{rest.part(id_)}")
        return {} if answer is None else neighbour(answer[key])


async def console_urls(server: TableObject) -> Found:
    """Return the URLs of the consoles by type; where the cloud has none of a type, its explanation."""
    found: Found = {}
    for kind, protocol in _CONSOLES.items():
        body: Any = {"remote_console": {"protocol": protocol, "type": kind}}
        try:
            answer = await server.service.post(f"{server.path}/remote-consoles", body)
        except (faults.Rejected, faults.InUse, faults.NoSuchObject, faults.ServiceError) as error:
            found[kind] = str(error)
        else:
            found[kind] = answer["remote_console"]["url"]
    return found
