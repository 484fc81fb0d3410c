"""OS::Neutron::Port: the connection of a server or router to a network.

A port that replaces another one may need its addresses, and Neutron gives an address to one port only. So the new port
takes them from the old one, and is marked with the old one's id. After a rollback the old port is observed without its
addresses: the update that repairs it takes them back from the port that has the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, lists
from isotherm.resources.openstack.neutron.port_table import (
    FIXED_IPS,
    GROUPS,
    NETWORK,
    NETWORK_ID,
    NO_FIXED_IPS,
    PAIRS,
    POLICY,
    PORT,
    SUBNETS,
)
from isotherm.resources.openstack.table_object import POLL, neighbour
from isotherm.resources.translation import Kind, Rule

_PROFILE = "binding:profile"
_IP = "ip_address"
# The tag of a port that has addresses of the port that it replaces, and the key of its data: the id of that one.
_MARK, _TAKEN = "isotherm-from-", "taken_from"


def _addresses(port: Mapping[str, Any]) -> set[str]:
    """Return the addresses of a live port."""
    return {str(one[_IP]) for one in port.get(FIXED_IPS) or ()}


def _without_mark(port: Found) -> Found:
    """Return a live port without the tag that is not of the template."""
    return {**port, base.TAGS: [one for one in port.get(base.TAGS) or () if not one.startswith(_MARK)]}


class Port(base.NeutronResource):
    """A port of Neutron."""

    TYPE = "OS::Neutron::Port"
    DESCRIPTION = "The connection of a server or a router to a network, with its addresses."
    translation_rules = (
        Rule(Kind.REPLACE, (NETWORK,), (NETWORK_ID,)),
        Rule(Kind.REPLACE, (FIXED_IPS, lists.SUBNET), (FIXED_IPS, lists.SUBNET_ID)),
        Rule(Kind.RESOLVE, (FIXED_IPS, lists.SUBNET), finder=finders.subnet),
    )
    traits = contract.Traits(poll=POLL, failed_is_observed=True, knows_replaced=True)
    table = PORT

    # Create.

    async def handle_create(self) -> object:
        if self.data.get(_TAKEN):
            replaced = await self._port(self.data[_TAKEN])
            if replaced is not None and self._wanted_addresses & _addresses(replaced):
                await self._release(replaced)
        try:
            return await super().handle_create()
        except faults.InUse as error:
            if self.data.get(_TAKEN) or not await self._needs_replaced():
                raise
            # Stored first: a port without the mark would not give the addresses back after a rollback.
            self.data[_TAKEN] = self.data[contract.REPLACED]
            raise errors.NotBegun(f"taking over the addresses of the replaced port: {error}", 0.0) from error

    async def _needs_replaced(self) -> bool:
        """Return whether the port that this one replaces has addresses that this one is to have."""
        replaced = self.data.get(contract.REPLACED)
        found = await self._port(replaced) if replaced else None
        return found is not None and bool(self._wanted_addresses & _addresses(found))

    async def _port(self, id_: str) -> Found | None:
        answer = await self.service.find(f"{self.collection}/{rest.part(id_)}")
        return None if answer is None else answer[self.table.key]

    @property
    def _wanted_addresses(self) -> set[str]:
        """The addresses that the template gives."""
        return {str(one[_IP]) for one in self.properties[FIXED_IPS] or () if one.get(_IP)}

    async def _release(self, port: Found) -> None:
        """Take the wanted addresses from another port."""
        left = [one for one in port[FIXED_IPS] if one[_IP] not in self._wanted_addresses]
        await self.service.put(f"{self.collection}/{rest.part(port['id'])}", {self.table.key: {FIXED_IPS: left}})

    def wanted_tags(self) -> list[str]:
        mark = [f"{_MARK}{self.data[_TAKEN]}"] if self.data.get(_TAKEN) else []
        return [*super().wanted_tags(), *mark]

    def create_body(self) -> Found:
        body = super().create_body()
        if self.data.get(_TAKEN):
            # In the request itself: without the mark, the replaced port would never get its addresses back.
            body[base.TAGS] = self.wanted_tags()
        if self.properties[NO_FIXED_IPS]:
            body[FIXED_IPS] = []
        elif self.properties[FIXED_IPS]:
            body[FIXED_IPS] = lists.addresses_to_wire(self.properties[FIXED_IPS])
        return body

    # Update.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        body = self.update_body(before, changed)
        if GROUPS in changed and self.properties[GROUPS] is None:
            body[GROUPS] = [await finders.security_group(rest.require(self.context.cloud), "default")]
        if _PROFILE in body:
            # Nova writes keys of its own into the profile.
            found = await self.service.get(self.path)
            body[_PROFILE] = {**(found[self.table.key].get(_PROFILE) or {}), **(body[_PROFILE] or {})}
        if body:
            await self._put(body)
        return await self.apply(before, changed)

    async def _put(self, body: Found) -> None:
        try:
            await self.service.put(self.path, {self.table.key: body})
        except faults.InUse:
            successors = await self._successors() if body.get(FIXED_IPS) else []
            if not successors:
                raise
            for one in successors:
                await self._release(one)
            await self.service.put(self.path, {self.table.key: body})

    async def _successors(self) -> list[Found]:
        """Return the ports that were to replace this one and have taken addresses that it is to have again."""
        query = {base.TAGS: f"{_MARK}{self.physical_id}"}
        found = await self.service.pages(self.collection, self.table.plural, query)
        return [one for one in found if self._wanted_addresses & _addresses(one)]

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        body = super().update_body(before, changed)
        if changed.keys() & {FIXED_IPS, NO_FIXED_IPS}:
            if self.properties[NO_FIXED_IPS]:
                body[FIXED_IPS] = []
            elif self.properties[FIXED_IPS]:
                body[FIXED_IPS] = lists.addresses_to_wire(self.properties[FIXED_IPS])
        return body

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any], changed: Mapping[str, Any]) -> str | None:
        return POLICY if after.get(POLICY) == "REPLACE_ALWAYS" else None

    # Reality.

    def without_token(self, found: Found) -> Found:
        return _without_mark(super().without_token(found))

    def live(self, found: Found) -> Found:
        live = super().live(_without_mark(found))
        live[NO_FIXED_IPS] = self.properties[NO_FIXED_IPS] and not found.get(FIXED_IPS)
        if self.properties[FIXED_IPS]:
            live[FIXED_IPS] = lists.in_order_of(
                self.properties[FIXED_IPS], lists.addresses_from_wire(found.get(FIXED_IPS)))
        if self.properties[PAIRS] is not None:
            live[PAIRS] = lists.in_order_of(self.properties[PAIRS], found.get(PAIRS) or [])
        if _PROFILE in live[base.VALUE_SPECS]:
            wanted = self.properties[base.VALUE_SPECS][_PROFILE] or {}
            live[base.VALUE_SPECS][_PROFILE] = {
                name: one for name, one in (found.get(_PROFILE) or wanted).items() if name in wanted}
        return live

    async def attribute_in(self, name: str, found: Found) -> object:
        if name == SUBNETS:
            ids = dict.fromkeys(one[lists.SUBNET_ID] for one in found[FIXED_IPS])
            shown = [await self.service.get(f"/subnets/{rest.part(one)}") for one in ids]
            return [neighbour(one["subnet"]) for one in shown]
        if name == NETWORK:
            return neighbour((await self.service.get(f"/networks/{rest.part(found[NETWORK_ID])}"))["network"])
        return await super().attribute_in(name, found)

    # Decisions.

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the subnets of the port's network: Neutron takes the port's addresses from them."""
        return base.subnets_of(base.given(properties, NETWORK, NETWORK_ID), others)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        if properties.get(FIXED_IPS) and properties.get(NO_FIXED_IPS):
            yield f"Cannot define the following properties at the same time: {FIXED_IPS}, {NO_FIXED_IPS}."
