"""Routers, gateways and floating ips on a real cloud: created, updated in place, replaced, repaired, deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds import CloudProject

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  router: {type: OS::Neutron::Router}
  gateway:
    type: OS::Neutron::RouterGateway
    properties: {router_id: {get_resource: router}, network: public}
  interface:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: sub}}
  first:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.9.0.11}]}
  second:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.9.0.21}]}
  third:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      fixed_ips: [{ip_address: 10.9.0.31}, {ip_address: 10.9.0.32}]
  direct:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, %(direct)s}
  loose:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, %(loose)s}
  spare:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public}
  link:
    type: OS::Neutron::FloatingIPAssociation
    properties: {%(link)s}
outputs:
  address: {value: {get_attr: [direct, floating_ip_address]}}
  inside: {value: {get_attr: [direct, fixed_ip_address]}}
"""
FIRST = {
    "direct": "port_id: {get_resource: first}, fixed_ip_address: 10.9.0.11",
    "loose": "value_specs: {description: a}",
    "link": "floatingip_id: {get_resource: loose}, port_id: {get_resource: second}",
}
SECOND = {
    "direct": "port_id: {get_resource: third}, fixed_ip_address: 10.9.0.31",
    "loose": "floating_subnet: public-subnet, value_specs: {description: b}",
    "link": "floatingip_id: {get_resource: spare}, port_id: {get_resource: third}, fixed_ip_address: 10.9.0.32",
}


@pytest.mark.short
def test_floating_ips_lead_to_the_ports_of_the_template(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network
    output = run("deploy", "s", template=TEMPLATE % FIRST)
    ports, made = _ports(cloud_project), _floating_ips(cloud_project, 3)
    [router] = network.routers(project_id=cloud_project.id)
    public = network.find_network("public", ignore_missing=False).id
    assert router.external_gateway_info["network_id"] == public
    direct, linked = made["10.9.0.11"], made["10.9.0.21"]
    assert direct.floating_ip_address in output
    assert "10.9.0.11" in output
    assert (direct.port_id, direct.router_id, direct.floating_network_id) == (ports["first"], router.id, public)
    assert (linked.port_id, linked.description) == (ports["second"], "a")
    assert "12 in sync" in run("observe", "s")

    run("update", "s", template=TEMPLATE % SECOND)
    made = _floating_ips(cloud_project, 3)
    spare = made["10.9.0.32"]
    assert (made["10.9.0.31"].id, made["10.9.0.31"].port_id, spare.port_id) == (direct.id, ports["third"], ports["third"])
    # Another subnet replaces the floating ip, and the association leads to a third one.
    assert linked.id not in {one.id for one in made.values()}
    assert made[None].description == "b"
    assert "12 in sync" in run("observe", "s")

    network.update_ip(direct.id, port_id=ports["first"])
    network.update_ip(spare.id, port_id=ports["second"])
    network.delete_ip(made[None].id)
    seen = run("observe", "s")
    assert all(name in seen for name in ("port_id", "fixed_ip_address", "gone"))
    run("converge", "s")
    repaired = _floating_ips(cloud_project, 3)
    assert (repaired["10.9.0.31"].id, repaired["10.9.0.32"].id) == (direct.id, spare.id)
    assert repaired[None].id != made[None].id
    network.update_ip(spare.id, port_id=None)
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert network.get_ip(spare.id).port_id == ports["third"]
    assert "12 in sync" in run("observe", "s")

    run("delete", "s", "--yes")
    assert list(network.ips(project_id=cloud_project.id)) == []


GATEWAY = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Neutron::Router}
  two: {type: OS::Neutron::Router}
  gateway:
    type: OS::Neutron::RouterGateway
    properties: {router_id: {get_resource: %s}, network: public}
"""


def test_a_gateway_is_moved_to_another_router_and_made_again(run: Any, cloud_project: CloudProject) -> None:
    def gateways() -> dict[str, bool]:
        return {one.name.split("-")[1]: one.external_gateway_info is not None
                for one in cloud_project.sdk.network.routers(project_id=cloud_project.id)}

    run("deploy", "s", template=GATEWAY % "one")
    assert gateways() == {"one": True, "two": False}
    run("update", "s", template=GATEWAY % "two")
    assert gateways() == {"one": False, "two": True}
    [two] = [one for one in cloud_project.sdk.network.routers(project_id=cloud_project.id) if "-two-" in one.name]
    cloud_project.sdk.network.update_router(two.id, external_gateway_info={})
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert gateways() == {"one": False, "two": True}
    run("delete", "s", "--yes")
    assert gateways() == {}


def _ports(project: CloudProject) -> dict[str, str]:
    return {one.name.split("-")[1]: one.id for one in project.sdk.network.ports(project_id=project.id) if one.name}


def _floating_ips(project: CloudProject, number: int) -> dict[str | None, Any]:
    """Return the project's floating ips by the address that they lead to."""
    found = list(project.sdk.network.ips(project_id=project.id))
    assert len(found) == number
    return {one.fixed_ip_address: one for one in found}
