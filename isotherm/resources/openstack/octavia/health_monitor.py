"""OS::Octavia::HealthMonitor: checks whether the members of a pool answer."""

from __future__ import annotations

from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.octavia import base
from isotherm.resources.openstack.table import Column, allowed, at_least, between, custom, since
from isotherm.resources.schema import INTEGER, LIST, STRING, AttributeSchema, Schema

POOL = "pool"


class HealthMonitor(base.OctaviaResource):
    """A health monitor of Octavia."""

    TYPE = "OS::Octavia::HealthMonitor"
    DESCRIPTION = "Asks the members of a pool regularly whether they work, so that only those get connections."
    support = since("10.0.0")
    table = base.table(
        # A pool has one health monitor.
        "/healthmonitors", "healthmonitor", is_unique=True,
        columns={
            "admin_state_up": base.admin_state_up("Whether the health monitor asks."),
            "delay": Column(schema=Schema(
                INTEGER, "The time between two questions to a member, in seconds.", required=True, update_allowed=True,
                constraints=at_least(0))),
            "expected_codes": Column(schema=Schema(
                STRING, "The statuses of HTTP that mean that a member works: 200, or 200,202, or 200-204.",
                update_allowed=True)),
            "http_method": Column(schema=Schema(
                STRING, "The method of HTTP with which members are asked.", update_allowed=True,
                constraints=allowed("GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"))),
            "max_retries": Column(schema=Schema(
                INTEGER, "The number of good answers after which a member gets connections again.", required=True,
                update_allowed=True, constraints=between(1, 10))),
            POOL: Column(
                schema=Schema(STRING, "The pool, by name or id.", required=True, constraints=custom("octavia.pool")),
                wire="pool_id", finder=finders.pool),
            "timeout": Column(schema=Schema(
                INTEGER, "The longest wait for an answer, in seconds.", required=True, update_allowed=True,
                constraints=at_least(0))),
            "type": Column(schema=Schema(
                STRING, "The kind of question.", required=True,
                constraints=allowed("PING", "TCP", "HTTP", "HTTPS", "UDP-CONNECT"))),
            "url_path": Column(schema=Schema(
                STRING, "The path that is asked for with HTTP.", update_allowed=True)),
            "tenant_id": Column(
                schema=Schema(STRING, "The id of the project that owns the health monitor."), wire="project_id"),
        },
        attributes={
            "pools": AttributeSchema("The pool, as a list of one map with its id.", LIST),
        },
    )

    async def load_balancer_id(self) -> str | None:
        return await self.owner_of(f"/pools/{rest.part(self.properties[POOL])}", "pool")
