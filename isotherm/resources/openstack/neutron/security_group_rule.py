"""OS::Neutron::SecurityGroupRule: one rule of a security group that is made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, rules
from isotherm.resources.openstack.table import Column, custom, since
from isotherm.resources.schema import STRING, Schema

GROUP, REMOTE_GROUP = "security_group", "remote_group"
_TEXTS = (rules.PROTOCOL, rules.PORT_MIN, rules.PORT_MAX)


class SecurityGroupRule(base.NeutronResource):
    """A rule of a security group of Neutron."""

    TYPE = "OS::Neutron::SecurityGroupRule"
    DESCRIPTION = "One rule of a security group."
    support = since("7.0.0")
    table = base.table(
        "/security-group-rules", "security_group_rule", is_unique=True,
        columns={
            GROUP: Column(
                schema=Schema(STRING, "The security group of the rule, by name or id.", required=True,
                              constraints=custom("neutron.security_group")),
                wire="security_group_id", finder=finders.security_group),
            rules.DESCRIPTION: Column(schema=Schema(STRING, "The description of the rule.")),
            REMOTE_GROUP: Column(
                schema=Schema(STRING, "The security group of the other side, by name or id.",
                              constraints=custom("neutron.security_group")),
                wire=rules.REMOTE_GROUP_ID, finder=finders.security_group),
            **{name: Column(schema=schema, to_wire=str if name in _TEXTS else None)
               for name, schema in rules.schemas(default="tcp").items()},
        },
        attributes={},
    )

    def put_token(self, body: Found) -> None:
        # A rule cannot be changed: a wanted description takes the place of the token, and the content finds the rule.
        if self.properties[rules.DESCRIPTION] is None:
            super().put_token(body)

    @property
    def is_made_by_post(self) -> bool:
        return True

    async def finish(self) -> None:
        """Do nothing: the rule was made whole."""

    async def find_by_token(self) -> contract.Search:
        if self.properties[rules.DESCRIPTION] is None:
            return await super().find_by_token()
        found = await self.service.pages(self.table.path, self.table.plural, {
            "security_group_id": self.properties[GROUP], "description": self.properties[rules.DESCRIPTION]})
        wanted = rules.key({**self.properties, rules.REMOTE_GROUP_ID: self.properties[REMOTE_GROUP]})
        return contract.found(next((str(one["id"]) for one in found if rules.key(one) == wanted), None))

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        if properties.get(REMOTE_GROUP) and properties.get(rules.REMOTE_PREFIX):
            yield (f"Cannot define the following properties at the same time: {REMOTE_GROUP}, {rules.REMOTE_PREFIX}.")
        first, last = properties.get(rules.PORT_MIN), properties.get(rules.PORT_MAX)
        if properties.get(rules.PROTOCOL) in ("tcp", "udp") and first is not None and last is not None and first > last:
            yield f"{rules.PORT_MIN} ({first}) must not be larger than {rules.PORT_MAX} ({last})."
