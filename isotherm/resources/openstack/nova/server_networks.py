"""The interfaces of a server: requested in the POST, and later attached and detached until they are as wanted.

An update compares the wanted entries with the ports that are attached, not with what was wanted before. So it may be
repeated after a crash, and it repairs drift.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server_ports import Entry, ServerPorts, needs_own_port
from isotherm.resources.openstack.table_object import Found, TableObject

AUTO = "auto"
_DETACH_S = 2.0


@dataclass(frozen=True, slots=True)
class Matching:
    """The wanted entries, each with the port that it has (None: not yet), and the ports that no entry wants."""

    pairs: Sequence[tuple[Entry, Found | None]]
    surplus: Sequence[Found]

    @property
    def is_complete(self) -> bool:
        return not self.surplus and all(port is not None for _, port in self.pairs)


class ServerNetworks:
    """The interfaces of one server."""

    def __init__(self, server: TableObject) -> None:
        self._server = server
        self._ports = ServerPorts(server)
        self._neutron = server.other_service("network")
        self._nova = server.other_service("compute", names.ATTACHED)

    @property
    def entries(self) -> list[Entry]:
        return [entry for entry in self._server.properties[names.NETWORKS] or () if entry]

    # Create.

    async def requested(self) -> list[Found] | str:
        """Return the `networks` of the POST; internal ports are created for it."""
        if not self.entries:
            return AUTO if await self._has_network() else "none"
        if self.entries[0].get(names.ALLOCATE):
            return str(self.entries[0][names.ALLOCATE])
        return [await self._nic(entry, number) for number, entry in enumerate(self.entries)]

    async def _has_network(self) -> bool:
        """Return whether Nova has a network to choose. Without one a server gets no interface unless it asks for one."""
        project = await rest.require(self._server.context.cloud).project_id()
        for query in ({"project_id": project, "shared": False}, {"shared": True}):
            if await self._neutron.pages("/networks", "networks", {**query, "admin_state_up": True, "fields": "id"}):
                return True
        return False

    async def _nic(self, entry: Entry, number: int) -> Found:
        nic: Found = {names.NIC_TAG: entry[names.NIC_TAG]} if entry.get(names.NIC_TAG) else {}
        if entry.get(names.PORT) or needs_own_port(entry):
            return {**nic, "port": await self._ports.prepared(entry, number)}
        if not entry.get(names.NETWORK):
            raise errors.Permanent(f"Each entry of {names.NETWORKS} needs one of {names.NETWORK}, {names.SUBNET}, "
                                   f"{names.PORT}, {names.ALLOCATE}.")
        nic["uuid"] = entry[names.NETWORK]
        if entry.get(names.FIXED_IP):
            nic["fixed_ip"] = entry[names.FIXED_IP]
        return nic

    # The server that is replaced.

    async def take_over(self, is_predecessor: Callable[[str], bool]) -> None:
        """Detach ports and addresses that the entries need from the server that this one replaces.

        Raises NotBegun until they are free.
        """
        for port, holder in (await self._ports.holders(self.entries)).items():
            if holder != self._server.physical_id and is_predecessor(holder):
                await self._detach(holder, port)
                raise errors.NotBegun(f"waiting until server {holder} has released port {port}", _DETACH_S)

    # Update and observation.

    async def matching(self, attached: Sequence[Found] | None = None, before: Sequence[Entry] = ()) -> Matching:
        """Return the entries with their ports. `before` are the entries of the template before."""
        left = list(await self._ports.attached() if attached is None else attached)
        wanted = self.entries or [{names.ALLOCATE: AUTO}]
        if wanted[0].get(names.ALLOCATE) == "none":
            return Matching((), left)
        named = _values([*before, *wanted], names.PORT)
        # An internal port may have the further properties of an entry before: it is not left to an entry without any.
        had_extra = any(entry and entry.get(names.EXTRA) for entry in before)
        found: dict[int, Found | None] = {}
        # Entries that name a port come first, then those with an address: the others take what is left.
        for index in sorted(range(len(wanted)), key=lambda one: _strictness(wanted[one])):
            entry = wanted[index]
            fitting = [one for one in left if self._fits(entry, one, named) and not (
                had_extra and self._is_internal(one) and not needs_own_port(entry))]
            port = min(fitting, key=lambda one: self._is_of_other_kind(entry, one), default=None)
            if port is not None:
                left.remove(port)
            found[index] = port
        return Matching([(entry, found[index]) for index, entry in enumerate(wanted)], left)

    def _fits(self, entry: Entry, port: Found, named: Collection[str]) -> bool:
        if entry.get(names.PORT):
            return bool(port["id"] == entry[names.PORT])
        if port["id"] in named or (entry.get(names.EXTRA) and not self._is_internal(port)):
            return False
        if entry.get(names.NETWORK) and port["network_id"] != entry[names.NETWORK]:
            return False
        wanted = {"subnet_id": entry.get(names.SUBNET), "ip_address": entry.get(names.FIXED_IP)}
        return not any(wanted.values()) or any(
            all(not value or fixed[name] == value for name, value in wanted.items()) for fixed in port["fixed_ips"])

    def _is_internal(self, port: Found) -> bool:
        return bool(port["description"] == self._server.token_text)

    def _is_of_other_kind(self, entry: Entry, port: Found) -> bool:
        """Return whether the port was made by Nova, and that of a new entry would not be, or the other way round."""
        return not entry.get(names.PORT) and self._is_internal(port) != needs_own_port(entry)

    async def step(self, before: Sequence[Entry]) -> str:
        """Go one step towards the wanted interfaces; return what is waited for, or an empty text when they are there."""
        matching = await self.matching(before=before)
        if matching.surplus:
            for port in matching.surplus:
                await self._detach(str(self._server.physical_id), port["id"])
            return "waiting until interfaces are detached"
        number = await self._ports.clean_up()
        missing = [entry for entry, port in matching.pairs if port is None]
        if missing:
            await self._attach(missing[0], number)
            return "waiting until interfaces are attached"
        for entry, present in matching.pairs:
            if present is not None and (entry.get(names.FLOATING_IP) or needs_own_port(entry)):
                await self._ports.update(present["id"], entry)
        for address in _values(before, names.FLOATING_IP) - _values(self.entries, names.FLOATING_IP):
            await self._ports.disassociate(address)
        return ""

    async def _attach(self, entry: Entry, number: int) -> None:
        body: Found = {}
        if not entry.get(names.ALLOCATE):
            nic = await self._nic(entry, number)
            body = {{"uuid": "net_id", "port": "port_id"}.get(name, name): value for name, value in nic.items()}
            if "fixed_ip" in body:
                body["fixed_ips"] = [{"ip_address": body.pop("fixed_ip")}]
        await self._nova.post(f"{self._server.path}/os-interface", {"interfaceAttachment": body})

    async def _detach(self, server: str, port: str) -> None:
        try:
            await self._nova.delete(f"/servers/{rest.part(server)}/os-interface/{rest.part(port)}")
        except faults.NoSuchObject:
            return


def shown(attached: Sequence[Found]) -> list[Found]:
    """Return ports in the form of `networks`, for a server whose interfaces are not those that are wanted."""
    return [{names.NETWORK: one["network_id"], names.PORT: one["id"],
             names.FIXED_IP: next((fixed["ip_address"] for fixed in one["fixed_ips"]), None)} for one in attached]


def problems(properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of `networks`."""
    entries = [entry for entry in properties.get(names.NETWORKS) or () if entry]
    if len(entries) > 1 and any(entry.get(names.ALLOCATE) for entry in entries):
        yield f"{names.ALLOCATE} has to be the only entry of {names.NETWORKS}."
    for entry in entries:
        others = [name for name, value in entry.items() if value is not None and name != names.ALLOCATE]
        if entry.get(names.ALLOCATE) and others:
            yield f"Cannot define the following properties at the same time: {names.ALLOCATE}, {', '.join(others)}."
        if entry.get(names.PORT):
            for name in (names.FIXED_IP, names.EXTRA):
                if entry.get(name):
                    yield f"Cannot define the following properties at the same time: networks.{name}, networks.port."
            if properties.get(names.GROUPS):
                yield "Cannot define the following properties at the same time: security_groups, networks.port."


def _strictness(entry: Entry) -> int:
    """Return the place of an entry in the choice of ports: those that fit the fewest come first."""
    order = (names.PORT, names.EXTRA, names.FIXED_IP, names.SUBNET)
    return next((place for place, name in enumerate(order) if entry.get(name)), len(order))


def _values(entries: Sequence[Entry], name: str) -> set[str]:
    return {str(entry[name]) for entry in entries if entry and entry.get(name)}
