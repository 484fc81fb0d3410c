"""OS::Nova::ServerGroup: servers that are placed together, or apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.nova import base
from isotherm.resources.openstack.table import Column, allowed, since
from isotherm.resources.schema import LIST, MAP, NUMBER, STRING, Schema

NAME, POLICIES, POLICY, RULES, PER_HOST, ANTI_AFFINITY = (
    "name", "policies", "policy", "rules", "max_server_per_host", "anti-affinity")


def _whole(value: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(one) for name, one in value.items() if one is not None}


class ServerGroup(TableResource):
    """A group of servers of Nova.

    It has no field for a token. A group without a given name has a unique one; of those with a given name, one without
    members that has the wanted policy and rules is taken for the one that a lost request has made.
    """

    TYPE = "OS::Nova::ServerGroup"
    DESCRIPTION = "A group of servers: Nova places them on the same host, or on different ones."
    support = since("2014.2")
    table = base.table(
        "/os-server-groups", "server_group", waits_for_delete=False,
        columns={
            NAME: Column(schema=Schema(STRING, "The name of the group."), is_name=True),
            POLICIES: Column(
                schema=Schema(
                    LIST, "The policy of the group, as a list of one.", default=[ANTI_AFFINITY],
                    schema=Schema(STRING, "A policy."),
                    constraints=allowed(ANTI_AFFINITY, "affinity", "soft-anti-affinity", "soft-affinity")),
                is_sent=False),
            RULES: Column(
                schema=Schema(MAP, "The rules of the policy.", support=since("17.0.0"), schema={
                    PER_HOST: Schema(NUMBER, "How many servers of the group may be on one host, with anti-affinity.")}),
                to_wire=_whole),
        },
    )

    def create_body(self) -> Found:
        return {**super().create_body(), POLICY: self._policy}

    @property
    def _policy(self) -> str:
        return str(self.properties[POLICIES][0])

    async def with_token(self) -> list[Found]:
        """Return the groups that the creation may have made; with a given name at most one."""
        name = self.properties[NAME]
        found = [one for one in await self.service.pages(self.collection, self.table.plural)
                 if one[NAME] == (name or self.default_name)]
        if not name:
            return found
        rules = _whole(self.properties[RULES] or {})
        own = [one for one in found
               if one[POLICY] == self._policy and (one[RULES] or {}) == rules and not one["members"]]
        known = [one for one in own if self.id_in(one) == self.physical_id]
        return (known or own)[:1]

    def needs_replace_failed(self) -> bool:
        return False

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        policies = properties.get(POLICIES) or []
        if len(policies) != 1:
            yield f"{POLICIES} needs one policy, and has {len(policies)}."
        if (properties.get(RULES) or {}).get(PER_HOST) is not None and policies != [ANTI_AFFINITY]:
            yield f"{PER_HOST} is possible with the policy {ANTI_AFFINITY} only."
