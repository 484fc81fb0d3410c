"""OS::Octavia::PoolMember: a server of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.octavia import base
from isotherm.resources.openstack.table import Column, between, custom, since
from isotherm.resources.schema import INTEGER, LIST, STRING, Schema

POOL, TAGS = "pool", "tags"


class PoolMember(base.OctaviaResource):
    """A member of a pool of Octavia."""

    TYPE = "OS::Octavia::PoolMember"
    DESCRIPTION = "A server of a pool, by its address and port."
    support = since("10.0.0")
    table = base.table(
        # Members are below their pool, see `collection`. A pool has one member for an address and port.
        "", "member", is_unique=True,
        columns={
            POOL: Column(
                schema=Schema(STRING, "The pool, by name or id.", required=True, constraints=custom("octavia.pool")),
                is_sent=False, finder=finders.pool),
            "address": Column(schema=Schema(
                STRING, "The address of the server.", required=True, constraints=custom("ip_addr"))),
            "protocol_port": Column(schema=Schema(
                INTEGER, "The port of the server.", required=True, constraints=between(1, 65535))),
            "monitor_address": Column(schema=Schema(
                STRING, "The address that the health monitor asks; left out, the address of the server.",
                constraints=custom("ip_addr"))),
            "monitor_port": Column(schema=Schema(
                INTEGER, "The port that the health monitor asks; left out, the port of the server.",
                constraints=between(1, 65535))),
            "weight": Column(schema=Schema(
                INTEGER, "The share of the connections that the server gets, compared with other members.", default=1,
                update_allowed=True, constraints=between(0, 256))),
            "admin_state_up": base.admin_state_up("Whether the server gets connections."),
            "subnet": Column(
                schema=Schema(STRING, "The subnet of the address, by name or id.", constraints=custom("neutron.subnet")),
                wire="subnet_id", finder=finders.subnet),
            TAGS: Column(schema=Schema(
                LIST, "The tags of the member. An update replaces them all.", update_allowed=True,
                support=since("13.0.0"), normalise=sorted), cleared=[]),
        },
    )

    @property
    def collection(self) -> str:
        return f"/pools/{rest.part(self.properties[POOL])}/members"

    async def load_balancer_id(self) -> str | None:
        return await self.owner_of(f"/pools/{rest.part(self.properties[POOL])}", "pool")

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        body = super().update_body(before, changed)
        if TAGS in body:
            self.put_token(body)
        return body
