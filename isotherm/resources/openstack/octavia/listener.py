"""OS::Octavia::Listener: a port of a load balancer at which it takes connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.octavia import base
from isotherm.resources.openstack.table import Column, allowed, at_least, between, custom, name_column, since
from isotherm.resources.schema import INTEGER, LIST, STRING, AttributeSchema, Schema

LOAD_BALANCER, PROTOCOL, TLS_CONTAINER = "loadbalancer", "protocol", "default_tls_container_ref"
TERMINATED_HTTPS = "TERMINATED_HTTPS"


class Listener(base.OctaviaResource):
    """A listener of Octavia."""

    TYPE = "OS::Octavia::Listener"
    DESCRIPTION = "A port and protocol at which a load balancer takes connections."
    support = since("10.0.0")
    table = base.table(
        # A load balancer has one listener for a port and protocol.
        "/listeners", "listener", finder=finders.listener, is_unique=True,
        columns={
            "protocol_port": Column(schema=Schema(
                INTEGER, "The port.", required=True, constraints=between(1, 65535))),
            PROTOCOL: Column(schema=Schema(
                STRING, "The protocol of the connections.", required=True,
                constraints=allowed("TCP", "HTTP", "HTTPS", TERMINATED_HTTPS, "PROXY", "UDP"))),
            LOAD_BALANCER: Column(
                schema=Schema(STRING, "The load balancer, by name or id.", required=True,
                              constraints=custom("octavia.loadbalancer")),
                wire="loadbalancer_id", finder=finders.load_balancer),
            "default_pool": Column(
                schema=Schema(STRING, "The pool that gets the connections, by name or id.", update_allowed=True,
                              constraints=custom("octavia.pool")),
                wire="default_pool_id", finder=finders.pool),
            "name": name_column("The name of the listener."),
            "admin_state_up": base.admin_state_up("Whether the listener takes connections."),
            "description": base.description_column("The description of the listener."),
            TLS_CONTAINER: Column(schema=Schema(
                STRING, "The secret with the certificate and key of the server, for TERMINATED_HTTPS.",
                update_allowed=True)),
            "sni_container_refs": Column(schema=Schema(
                LIST, "Secrets with certificates and keys for further names of the server.", update_allowed=True),
                cleared=[]),
            "connection_limit": Column(schema=Schema(
                INTEGER, "The most connections at a time; -1 means any number.", default=-1, update_allowed=True,
                constraints=at_least(-1))),
            "tenant_id": Column(
                schema=Schema(STRING, "The id of the project that owns the listener."), wire="project_id"),
            "allowed_cidrs": Column(
                schema=Schema(LIST, "The networks from which connections are taken; none means all networks.",
                              update_allowed=True, support=since("14.0.0"),
                              schema=Schema(STRING, "A network.", constraints=custom("net_cidr")), normalise=sorted),
                cleared=[]),
        },
        attributes={
            "loadbalancers": AttributeSchema("The load balancer, as a list of one map with its id.", LIST),
            "default_pool_id": AttributeSchema("The id of the pool that gets the connections.", STRING),
        },
    )

    async def load_balancer_id(self) -> str | None:
        return str(self.properties[LOAD_BALANCER])

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        if properties.get(PROTOCOL) == TERMINATED_HTTPS and properties.get(TLS_CONTAINER) is None:
            yield f"Property {TLS_CONTAINER} required when protocol is {TERMINATED_HTTPS}."
