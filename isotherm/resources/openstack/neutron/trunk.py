"""OS::Neutron::Trunk: a port that carries the traffic of further ports, each under a VLAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, lists
from isotherm.resources.openstack.table import Column, allowed, between, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, INTEGER, LIST, MAP, STRING, AttributeSchema, Schema
from isotherm.resources.translation import Kind, Rule

PORT, PORT_ID, SUB_PORTS, SEGMENTATION_ID, SEGMENTATION, ENABLED = (
    "port", "port_id", "sub_ports", "segmentation_id", "segmentation_type", "admin_state_up")


def _to_wire(value: list[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    return [{(PORT_ID if name == PORT else name): one for name, one in item.items()} for item in value or ()]


def _from_wire(value: list[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    return [{(PORT if name == PORT_ID else name): one for name, one in item.items()} for item in value or ()]


class Trunk(base.NeutronResource):
    """A trunk of Neutron."""

    TYPE = "OS::Neutron::Trunk"
    DESCRIPTION = "A port that carries the traffic of further ports, each under a VLAN."
    support = since("9.0.0")
    translation_rules = (Rule(Kind.RESOLVE, (SUB_PORTS, PORT), finder=finders.port),)
    table = base.table(
        "/trunks", "trunk", states=base.STATES,
        columns={
            "name": name_column("The name of the trunk."),
            PORT: Column(
                schema=Schema(STRING, "The port that carries the others, by name or id.", required=True, immutable=True,
                              constraints=custom("neutron.port")),
                wire=PORT_ID, finder=finders.port),
            SUB_PORTS: Column(
                schema=Schema(LIST, "The ports that are carried.", update_allowed=True, schema=Schema(
                    MAP, "A port.", schema={
                        PORT: Schema(STRING, "The port, by name or id.", required=True,
                                     constraints=custom("neutron.port")),
                        SEGMENTATION: Schema(STRING, "The kind of the segmentation.", required=True,
                                             constraints=allowed("vlan")),
                        SEGMENTATION_ID: Schema(INTEGER, "The number of the VLAN.", required=True,
                                                constraints=between(1, 4094))})),
                to_wire=_to_wire),
            "description": Column(schema=Schema(STRING, "The description of the trunk.", update_allowed=True), cleared=""),
            ENABLED: Column(schema=Schema(
                BOOLEAN, "Whether the trunk carries traffic.", update_allowed=True), cleared=True),
        },
        attributes={PORT_ID: AttributeSchema("The id of the port that carries the others.", STRING)},
    )

    # Update. The request for the trunk itself takes no sub ports, and a disabled trunk takes none at all.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if SUB_PORTS in changed:
            await self._enable()
            await self._set_sub_ports(_to_wire(self.properties[SUB_PORTS]))
            changed = {**changed, ENABLED: self.properties[ENABLED]}
        return await super().handle_update(before, changed)

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        return super().update_body(before, {name: one for name, one in changed.items() if name != SUB_PORTS})

    async def _enable(self) -> None:
        found = await self.show()
        if found is not None and not found[ENABLED]:
            await self.service.put(self.path, {self.table.key: {ENABLED: True}})

    async def _set_sub_ports(self, wanted: list[dict[str, Any]]) -> None:
        """Have the trunk carry these ports and no others. A port whose VLAN changes is removed and added."""
        present = (await self.service.get(self.path))[self.table.key][SUB_PORTS]
        stale = [{PORT_ID: one[PORT_ID]} for one in present if one not in wanted]
        missing = [one for one in wanted if one not in present]
        if stale:
            await self.service.put(f"{self.path}/remove_subports", {SUB_PORTS: stale})
        if missing:
            await self.service.put(f"{self.path}/add_subports", {SUB_PORTS: missing})

    async def delete_object(self) -> None:
        # Neutron does not delete a trunk that is disabled.
        await self._enable()
        await super().delete_object()

    def live(self, found: Found) -> Found:
        live = super().live(found)
        return {**live, SUB_PORTS: lists.in_order_of(self.properties[SUB_PORTS] or (), _from_wire(found.get(SUB_PORTS)))}
