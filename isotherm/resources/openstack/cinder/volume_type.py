"""OS::Cinder::VolumeType: a kind of volumes. By default only administrators may make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.cinder import base
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.table import Column, TokenPlace, custom, since
from isotherm.resources.schema import BOOLEAN, LIST, MAP, STRING, Schema

NAME, METADATA, PUBLIC, TEXT, PROJECTS, SPECS = (
    "name", "metadata", "is_public", "description", "projects", "extra_specs")
_PUBLIC_WIRE = "os-volume-type-access:is_public"


def _texts(value: Mapping[str, Any] | None) -> dict[str, str]:
    """Return extra specs as Cinder keeps them: all values are texts."""
    return {name: "" if one is None else str(one) for name, one in (value or {}).items()}


class VolumeType(TableResource):
    """A volume type of Cinder. It is created with the token as its description, which is then replaced."""

    TYPE = "OS::Cinder::VolumeType"
    DESCRIPTION = "A kind of volumes, such as those of one storage system."
    support = since("2015.1")
    table = base.table(
        # Cinder refuses a second type of a name, but two at the same time may both be made.
        "/types", "volume_type", waits_for_delete=False, is_listed=False,
        token=TokenPlace(field=TEXT),
        columns={
            NAME: Column(schema=Schema(STRING, "The name of the volume type.", required=True, update_allowed=True)),
            METADATA: Column(schema=Schema(
                MAP, "The extra specs of the volume type, as keys and values.", update_allowed=True, normalise=_texts),
                is_sent=False),
            PUBLIC: Column(
                schema=Schema(BOOLEAN, "Whether all projects may use the volume type.", default=True,
                              update_allowed=True, support=since("5.0.0")), wire=_PUBLIC_WIRE),
            TEXT: Column(schema=Schema(
                STRING, "The description of the volume type.", update_allowed=True, support=since("5.0.0")), cleared=""),
            PROJECTS: Column(
                schema=Schema(LIST, "The projects that may use a private volume type, by name or id.", default=[],
                              update_allowed=True, support=since("5.0.0"), normalise=sorted,
                              schema=Schema(STRING, "A project.", constraints=custom("keystone.project"))),
                is_sent=False, finder=finders.project),
        },
    )

    # Create.

    def token_query(self, place: TokenPlace) -> dict[str, str]:
        # Without it administrators see no private types.
        return {PUBLIC: "None"}

    @property
    def replaces_token(self) -> bool:
        return self.properties[TEXT] is not None

    async def finish(self) -> None:
        if self.properties[TEXT] is not None:
            await self.service.put(self.path, {self.table.key: {TEXT: self.properties[TEXT]}})
        if self.properties[METADATA]:
            await self._set_specs()
        if self.properties[PROJECTS]:
            await self._set_access()

    # Update.

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        body = super().update_body(before, changed)
        # The request that creates has another name for it.
        return {PUBLIC if name == _PUBLIC_WIRE else name: one for name, one in body.items()}

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if METADATA in changed:
            await self._set_specs()
        if changed.keys() & {PROJECTS, PUBLIC}:
            await self._set_access()
        return None

    async def _set_specs(self) -> None:
        """Have the volume type have the wanted extra specs and no others."""
        path, wanted = f"{self.path}/{SPECS}", _texts(self.properties[METADATA])
        present = (await self.service.get(path))[SPECS]
        for name in sorted({*present} - {*wanted}):
            with suppress(faults.NoSuchObject):
                await self.service.delete(f"{path}/{rest.part(name)}")
        if wanted:
            await self.service.post(path, {SPECS: wanted})

    async def _set_access(self) -> None:
        """Have the wanted projects, and no others, use a private volume type."""
        if self.properties[PUBLIC]:
            return
        wanted, present = set(self.properties[PROJECTS] or ()), set(await self._access())
        for name, projects in (("addProjectAccess", wanted - present), ("removeProjectAccess", present - wanted)):
            for one in sorted(projects):
                with suppress(faults.InUse, faults.NoSuchObject):  # it has access already, or none any more
                    await self.service.post(f"{self.path}/action", {name: {"project": one}})

    async def _access(self) -> list[str]:
        answer = await self.service.find(f"{self.path}/os-volume-type-access")
        return [str(one["project_id"]) for one in (answer or {}).get("volume_type_access") or ()]

    # Delete.

    async def delete_object(self) -> None:
        try:
            await super().delete_object()
        except faults.Rejected as error:
            # Cinder answers 400 and not 409 while there are volumes of the type.
            if "in use" not in str(error):
                raise
            raise faults.InUse(str(error)) from error

    # Reality.

    async def completed(self, found: Found | None) -> contract.LiveState:
        if found is not None and not found[PUBLIC]:
            with suppress(faults.Rejected):  # only administrators may list them
                found = {**found, PROJECTS: await self._access()}
        return self.gone_or_seen(found)

    def live(self, found: Found) -> Found:
        live = {name: found[name] for name in (NAME, PUBLIC, TEXT, PROJECTS) if name in found}
        return {**live, METADATA: found[SPECS]} if SPECS in found else live

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        if properties.get(PUBLIC) and properties.get(PROJECTS):
            yield f"{PROJECTS} cannot be specified for a public volume type."
