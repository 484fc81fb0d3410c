"""The agents of Neutron that an administrator chooses for networks and routers, and zones, on a real cloud.

The cloud has no agents. Those of the test are rows of Neutron's database, as an agent's first report makes them: Neutron
assigns networks and routers to them, and nothing carries traffic.
"""

from __future__ import annotations

import configparser
import json
import secrets
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests import clouds
from tests.clouds import CloudProject

Run = Callable[..., str]
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {dhcp_agent_ids: %(dhcp)s}}
  zoned: {type: OS::Neutron::Net, properties: {availability_zone_hints: [%(zone)s]}}
  provided: {type: OS::Neutron::ProviderNet, properties: {
    network_type: geneve, shared: false, availability_zone_hints: [%(zone)s]}}
  router: {type: OS::Neutron::Router, properties: {l3_agent_ids: %(l3)s, availability_zone_hints: [%(zone)s]}}
  old: {type: OS::Neutron::Router, properties: {l3_agent_id: %(old)s}}
"""
INSERT = sa.text(
    "INSERT INTO agents (id, agent_type, `binary`, topic, host, admin_state_up, created_at, started_at,"
    " heartbeat_timestamp, configurations, `load`, availability_zone)"
    " VALUES (:id, :kind, :name, :name, :host, 1, now(), now(), now(), :configured, 0, :zone)")
KINDS = {"dhcp": ("DHCP agent", {}), "l3": ("L3 agent", {"agent_mode": "legacy"})}


@pytest.fixture
def agents(cloud: Path) -> Iterator[dict[str, list[str]]]:
    """Yield the ids of two agents of each kind, and the name of their zone."""
    settings = configparser.RawConfigParser(strict=False)
    settings.read(cloud / "etc" / "neutron" / "neutron.conf")
    engine = sa.create_engine(settings["database"]["connection"], poolclass=sa.NullPool)
    zone = f"zone-{secrets.token_hex(4)}"
    found = {kind: sorted(str(uuid.uuid4()) for _ in range(2)) for kind in KINDS}
    with engine.begin() as connection:
        for kind, (name, configured) in KINDS.items():
            for id_ in found[kind]:
                connection.execute(INSERT, {"id": id_, "kind": name, "name": kind, "host": id_, "zone": zone,
                                            "configured": json.dumps(configured)})
    try:
        yield {**found, "zone": [zone]}
    finally:
        with engine.begin() as connection:
            connection.execute(sa.text("DELETE FROM agents WHERE availability_zone = :zone"), {"zone": zone})


def template(agents: dict[str, list[str]], number: int, *more: int) -> str:
    """Return the template with the agents of these numbers."""
    return TEMPLATE % {"dhcp": json.dumps([agents["dhcp"][one] for one in (number, *more)]), "zone": agents["zone"][0],
                       "l3": json.dumps([agents["l3"][number]]), "old": agents["l3"][number]}


def test_agents_follow_the_template(run: Run, cloud_project: CloudProject, agents: dict[str, list[str]]) -> None:
    clouds.promote(cloud_project)
    network: Any = cloud_project.sdk.network

    def serving() -> dict[str, list[str]]:
        nets = {one.name.split("-")[1]: one for one in network.networks(project_id=cloud_project.id)}
        routers = {one.name.split("-")[1]: one for one in network.routers(project_id=cloud_project.id)}
        assert nets["zoned"].availability_zone_hints == nets["provided"].availability_zone_hints == agents["zone"]
        assert routers["router"].availability_zone_hints == agents["zone"]
        return {"net": sorted(one.id for one in network.network_hosting_dhcp_agents(nets["net"])),
                **{name: [one.id for one in network.routers_hosting_l3_agents(one)] for name, one in routers.items()}}

    first, second = agents["l3"]
    run("deploy", "s", template=template(agents, 0, 1))
    assert serving() == {"net": agents["dhcp"], "router": [first], "old": [first]}
    assert "5 in sync" in run("observe", "s")

    run("update", "s", template=template(agents, 1))
    assert serving() == {"net": [agents["dhcp"][1]], "router": [second], "old": [second]}
    assert "5 in sync" in run("observe", "s")

    [net] = [one for one in network.networks(project_id=cloud_project.id) if "-net-" in one.name]
    [router] = [one for one in network.routers(project_id=cloud_project.id) if "-router-" in one.name]
    network.remove_dhcp_agent_from_network(agents["dhcp"][1], net)
    network.remove_router_from_agent(second, router)
    seen = run("observe", "s")
    assert "dhcp_agent_ids" in seen
    assert "l3_agent_ids" in seen
    run("converge", "s")
    assert serving() == {"net": [agents["dhcp"][1]], "router": [second], "old": [second]}
    run("delete", "s", "--yes")
