"""OS::Nova::Flavor: a size of servers. By default only administrators may make them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.nova import base
from isotherm.resources.openstack.table import Column, TokenPlace, custom, since
from isotherm.resources.openstack.table_object import POLL
from isotherm.resources.schema import BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, AttributeSchema, Schema

FLAVOR_ID, EXTRA_SPECS, PUBLIC, TENANTS = "flavorid", "extra_specs", "is_public", "tenants"
_PUBLIC_WIRE = "os-flavor-access:is_public"
_AUTO = "auto"


def _texts(value: Mapping[str, Any] | None) -> dict[str, str]:
    """Return extra specs as Nova keeps them: all values are texts."""
    return {name: "" if one is None else str(one) for name, one in (value or {}).items()}


class Flavor(TableResource):
    """A flavor of Nova. Its description has the token, and without a given id the token is its id."""

    TYPE = "OS::Nova::Flavor"
    DESCRIPTION = "A size of servers: processors, memory and disks."
    support = since("2014.2")
    traits = contract.Traits(poll=POLL, failed_is_observed=True, knows_replaced=True)
    table = base.table(
        "/flavors", "flavor", finder=finders.flavor, is_unique=True, is_listed=False, waits_for_delete=False,
        token=TokenPlace(field="description"),
        columns={
            TENANTS: Column(
                schema=Schema(LIST, "The projects that may use a private flavor, by name or id; by default the own one. "
                              "Passed over for a public flavor.", default=[], update_allowed=True, support=since("8.0.0"),
                              schema=Schema(STRING, "A project.", constraints=custom("keystone.project")),
                              normalise=sorted),
                is_sent=False, finder=finders.project),
            "name": Column(schema=Schema(STRING, "The name of the flavor.", support=since("7.0.0")), is_name=True),
            FLAVOR_ID: Column(schema=Schema(
                STRING, "The id of the flavor. Left out, or auto, one is chosen.", support=since("7.0.0")), is_sent=False),
            "ram": Column(schema=Schema(INTEGER, "The memory, in megabytes.", required=True)),
            "vcpus": Column(schema=Schema(INTEGER, "The number of processors.", required=True)),
            "disk": Column(schema=Schema(INTEGER, "The size of the root disk, in gigabytes.", default=0)),
            "swap": Column(schema=Schema(INTEGER, "The size of the swap disk, in megabytes.", default=0)),
            "ephemeral": Column(
                schema=Schema(INTEGER, "The size of the ephemeral disk, in gigabytes.", default=0),
                wire="OS-FLV-EXT-DATA:ephemeral"),
            "rxtx_factor": Column(schema=Schema(NUMBER, "The share of network traffic.", default=1.0)),
            EXTRA_SPECS: Column(schema=Schema(
                MAP, "Further demands on the host, as keys and values.", update_allowed=True, normalise=_texts),
                is_sent=False),
            PUBLIC: Column(
                schema=Schema(BOOLEAN, "Whether all projects may use the flavor.", default=True, support=since("6.0.0")),
                wire=_PUBLIC_WIRE),
        },
        attributes={
            PUBLIC: AttributeSchema("Whether all projects may use the flavor.", BOOLEAN, support=since("6.0.0")),
            EXTRA_SPECS: AttributeSchema("The extra specs of the flavor.", MAP, support=since("7.0.0")),
        },
    )

    # Create.

    @property
    def _wanted_id(self) -> str:
        given = self.properties[FLAVOR_ID]
        return self.token if given in (None, "", _AUTO) else str(given)

    def create_body(self) -> Found:
        return {**super().create_body(), "id": self._wanted_id}

    async def handle_create(self) -> object:
        try:
            return await super().handle_create()
        except faults.InUse:
            if not await self._delete_replaced():
                raise
        return await super().handle_create()

    async def _delete_replaced(self) -> bool:
        """Delete the flavor that this one replaces, if it has the same id or name; return whether it did."""
        replaced = self.data.get(contract.REPLACED)
        answer = await self.service.find(f"{self.collection}/{rest.part(replaced)}") if replaced else None
        if answer is None:
            return False
        found, wanted = answer[self.table.key], self.create_body()
        if found["id"] != wanted["id"] and found["name"] != wanted["name"]:
            return False
        with suppress(faults.NoSuchObject):
            await self.service.delete(f"{self.collection}/{rest.part(replaced)}")
        return True

    async def with_token(self) -> list[Found]:
        answer = await self.service.find(f"{self.collection}/{rest.part(self._wanted_id)}")
        return [answer[self.table.key]] if answer and self.carries_token(answer[self.table.key]) else []

    async def finish(self) -> None:
        if self.properties[EXTRA_SPECS]:
            await self._set_specs()
        await self._set_access()

    # Update.

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if EXTRA_SPECS in changed:
            await self._set_specs()
        if TENANTS in changed:
            await self._set_access()
        return None

    async def _set_specs(self) -> None:
        """Have the flavor have the wanted extra specs and no others."""
        path, wanted = f"{self.path}/os-extra_specs", _texts(self.properties[EXTRA_SPECS])
        present = (await self.service.get(path))[EXTRA_SPECS]
        for name in sorted({*present} - {*wanted}):
            with suppress(faults.NoSuchObject):
                await self.service.delete(f"{path}/{rest.part(name)}")
        if wanted:
            await self.service.post(path, {EXTRA_SPECS: wanted})

    async def _set_access(self) -> None:
        """Have the wanted projects, and no others, use a private flavor."""
        if self.properties[PUBLIC]:
            return
        wanted = set(self.properties[TENANTS] or [await self._own_project()])
        present = set(await self._projects())
        for name, projects in (("addTenantAccess", wanted - present), ("removeTenantAccess", present - wanted)):
            for one in sorted(projects):
                with suppress(faults.InUse, faults.NoSuchObject):  # it has access already, or none any more
                    await self.service.post(f"{self.path}/action", {name: {"tenant": one}})

    async def _own_project(self) -> str:
        # Neutron tells the project of a token without its id in the path.
        answer = await self.other_service("network").get("/quotas/project")
        return str(answer["project"]["project_id"])

    async def _projects(self) -> list[str]:
        answer = await self.service.find(f"{self.path}/os-flavor-access")
        return [str(one["tenant_id"]) for one in (answer or {}).get("flavor_access") or ()]

    # Reality.

    async def completed(self, found: Found | None) -> contract.LiveState:
        if found is not None and self.properties[TENANTS] and not self.properties[PUBLIC]:
            with suppress(faults.Rejected):  # only administrators may list them
                found = {**found, TENANTS: await self._projects()}
        return self.gone_or_seen(found)

    def live(self, found: Found) -> Found:
        """Return all values: a flavor of the same id may have been made by a version that was rolled back."""
        live = {name: found[wire] for name, column in self.table.columns.items() if (wire := column.wire or name) in found}
        return {**live, "swap": found.get("swap") or 0}

    async def attribute_in(self, name: str, found: Found) -> object:
        return await super().attribute_in(_PUBLIC_WIRE if name == PUBLIC else name, found)
