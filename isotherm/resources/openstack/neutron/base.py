"""The parts that all types of Neutron share: the token in the description, tags, and `value_specs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.table import Column, States, Table, TokenPlace, since
from isotherm.resources.schema import LIST, MAP, STRING, Schema

SERVICE = "network"
VALUE_SPECS, TAGS = "value_specs", "tags"
STATES = States(ready=frozenset({"ACTIVE", "DOWN"}), waiting=frozenset({"BUILD"}),
                failed=frozenset({"ERROR", "DEGRADED"}))
TOKEN = TokenPlace(field="description", query="description")
# The keys that `value_specs` must not have: each has a property of its own, or is set by Neutron.
_FORBIDDEN = frozenset({"shared", "tenant_id"})

VALUE_SPECS_COLUMN = Column(
    schema=Schema(MAP, "Further keys of the request, such as those of an extension. Keys that are properties are refused.",
                  default={}, update_allowed=True), is_sent=False)
TAGS_COLUMN = Column(
    schema=Schema(LIST, "The tags of the object. An update replaces them all.", update_allowed=True,
                  schema=Schema(STRING, "A tag."), support=since("9.0.0"), normalise=sorted), is_sent=False)


def table(path: str, key: str, **more: Any) -> Table:
    """Return the table of a type of Neutron. A delete is done when Neutron answers."""
    return Table(service=SERVICE, path=path, key=key,
                 **{"lists_by_id": True, "token": TOKEN, "waits_for_delete": False, **more})


def given(properties: Mapping[str, Any], *names: str) -> Any:
    """Return the value of a property under the first of its names that has one: an unresolved template may use any."""
    return next((properties[name] for name in names if properties.get(name) is not None), None)


def subnets_of(network: Any, others: contract.Neighbours) -> list[str]:
    """Return the names of the template's subnets of a network."""
    return [one.name for one in others.of_type("OS::Neutron::Subnet")
            if network is not None and given(one.properties, "network", "network_id") == network]


class NeutronResource(TableResource):
    """The base class of the types of Neutron."""

    def create_body(self) -> Found:
        body = super().create_body()
        body.update({name: value for name, value in self._value_specs.items() if name != TOKEN.field})
        return body

    @property
    def _value_specs(self) -> Mapping[str, Any]:
        return self.properties.get(VALUE_SPECS) or {}

    @property
    def description(self) -> str | None:
        """The wanted description; None: the object keeps the one with the token."""
        value = self.properties.get("description") if "description" in self.table.columns else None
        return value if value is not None else self._value_specs.get("description")

    @property
    def replaces_token(self) -> bool:
        return self.table.token is not None and self.description is not None

    @property
    def is_made_by_post(self) -> bool:
        return self.table.token is not None and self.description is None and not self.properties.get(TAGS)

    async def finish(self) -> None:
        if self.description is not None:
            await self.service.put(self.path, {self.table.key: {"description": self.description}})
        if self.properties.get(TAGS):
            await self._put_tags()

    def wanted_tags(self) -> list[str]:
        """Return the tags that the object is to have."""
        return list(self.properties.get(TAGS) or ())

    async def _put_tags(self) -> None:
        await self.service.put(f"{self.path}/tags", {"tags": self.wanted_tags()})

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        body = super().update_body(before, changed)
        if VALUE_SPECS in changed:
            old = before.get(VALUE_SPECS) or {}
            # Equal to those last applied: they are repaired, and any of them may have been changed from outside.
            is_repair = old == self._value_specs
            body.update({name: value for name, value in self._value_specs.items() if is_repair or old.get(name) != value})
        return body

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if TAGS in changed:
            await self._put_tags()
        return None

    def live(self, found: Found) -> Found:
        live = super().live(found)
        if TAGS in self.table.columns and TAGS in found:
            live[TAGS] = found[TAGS]
        specs = self.table.columns.get(VALUE_SPECS)
        if specs is not None and specs.schema.update_allowed:
            live[VALUE_SPECS] = {name: found.get(name, value) for name, value in self._value_specs.items()}
        return live

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the keys of `value_specs` that are properties of the type."""
        forbidden = sorted({*cls.table.columns, *_FORBIDDEN} & {*(properties.get(VALUE_SPECS) or {})})
        if forbidden:
            yield f"{', '.join(forbidden)} not allowed in {VALUE_SPECS}"
