"""OS::Octavia::Pool: the servers that get the connections of a listener."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.octavia import base
from isotherm.resources.openstack.table import Column, allowed, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, CACHE_NONE, LIST, MAP, STRING, AttributeSchema, Schema

LISTENER, LOAD_BALANCER, PERSISTENCE = "listener", "loadbalancer", "session_persistence"
KIND, COOKIE = "type", "cookie_name"
SOURCE_IP, HTTP_COOKIE, APP_COOKIE = "SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"


def _given(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the session persistence without keys that have no value: Octavia refuses them."""
    return {key: one for key, one in value.items() if one is not None}


class Pool(base.OctaviaResource):
    """A pool of Octavia."""

    TYPE = "OS::Octavia::Pool"
    DESCRIPTION = "A group of servers among which a load balancer distributes connections."
    support = since("10.0.0")
    table = base.table(
        "/pools", "pool", finder=finders.pool,
        columns={
            "admin_state_up": base.admin_state_up("Whether the pool gets connections."),
            PERSISTENCE: Column(
                schema=Schema(
                    MAP, "The way in which connections of one client reach one server.", update_allowed=True,
                    schema={
                        KIND: Schema(STRING, "The kind of persistence.", required=True,
                                     constraints=allowed(SOURCE_IP, HTTP_COOKIE, APP_COOKIE)),
                        COOKIE: Schema(STRING, "The name of the cookie, for APP_COOKIE."),
                    }),
                to_wire=_given),
            "description": base.description_column("The description of the pool."),
            "name": name_column("The name of the pool."),
            "lb_algorithm": Column(schema=Schema(
                STRING, "The way in which servers are chosen.", required=True, update_allowed=True,
                constraints=allowed("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"))),
            LISTENER: Column(
                schema=Schema(STRING, "The listener whose connections the pool gets, by name or id.",
                              constraints=custom("octavia.listener")),
                wire="listener_id", finder=finders.listener),
            LOAD_BALANCER: Column(
                schema=Schema(STRING, "The load balancer of the pool, by name or id.",
                              constraints=custom("octavia.loadbalancer")),
                wire="loadbalancer_id", finder=finders.load_balancer),
            "protocol": Column(schema=Schema(
                STRING, "The protocol of the servers.", required=True,
                constraints=allowed("TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROXY", "UDP"))),
            "tls_enabled": Column(schema=Schema(
                BOOLEAN, "Whether connections to the servers are encrypted.", default=False, update_allowed=True,
                support=since("14.0.0"))),
        },
        attributes={
            "healthmonitor_id": AttributeSchema("The id of the health monitor of the pool.", STRING),
            "listeners": AttributeSchema("The listeners of the pool, as maps with their ids.", STRING),
            "members": AttributeSchema("The members of the pool, as maps with their ids.", LIST, CACHE_NONE),
        },
    )

    async def load_balancer_id(self) -> str | None:
        if self.properties[LOAD_BALANCER]:
            return str(self.properties[LOAD_BALANCER])
        return await self.owner_of(f"/listeners/{rest.part(self.properties[LISTENER])}", "listener")

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        if properties.get(LISTENER) is None and properties.get(LOAD_BALANCER) is None:
            yield f"At least one of the following properties must be specified: {LISTENER}, {LOAD_BALANCER}."
        persistence = properties.get(PERSISTENCE) or {}
        if persistence.get(KIND) == APP_COOKIE and not persistence.get(COOKIE):
            yield f"Property {COOKIE} is required when {PERSISTENCE} type is set to {APP_COOKIE}."
        if persistence.get(KIND) == SOURCE_IP and persistence.get(COOKIE):
            yield f"Property {COOKIE} must NOT be specified when {PERSISTENCE} type is set to {SOURCE_IP}."
