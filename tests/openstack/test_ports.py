"""Ports and security groups on a real cloud: created, updated in place, replaced, repaired, deleted."""

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
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      description: %(word)s
      rules:
      - {protocol: tcp, port_range_min: 22, port_range_max: %(last)s, remote_ip_prefix: 10.9.0.0/24}
      - {protocol: icmp}
      - {remote_mode: remote_group_id, protocol: udp, ethertype: IPv6}
  rule:
    type: OS::Neutron::SecurityGroupRule
    properties: {security_group: {get_resource: other}, port_range_min: 80, port_range_max: %(last)s}
  beside: {type: OS::Neutron::SecurityGroupRule, properties: {security_group: {get_resource: group}, protocol: gre}}
  other: {type: OS::Neutron::SecurityGroup}
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      admin_state_up: %(up)s
      fixed_ips: [{subnet: {get_resource: sub}, ip_address: %(address)s}]
      security_groups: [{get_resource: %(group)s}]
      allowed_address_pairs: [{ip_address: %(pair)s}]
      tags: [%(word)s]
      value_specs: {description: %(word)s}
  free:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, mac_address: "fa:16:3e:00:00:%(mac)s"}
outputs:
  subnet: {value: {get_attr: [port, subnets, 0, cidr]}}
  network: {value: {get_attr: [free, network, status]}}
  around: {value: [{get_attr: [free, network]}, {get_attr: [port, subnets]}]}
"""
FIRST = {"word": "a", "last": 90, "up": True, "address": "10.9.0.50", "group": "group", "pair": "10.9.9.0/24", "mac": "01"}
SECOND = {"word": "b", "last": 99, "up": False, "address": "10.9.0.51", "group": "other", "pair": "10.9.8.8", "mac": "02"}

BESIDE = {("ingress", "IPv4", "gre", None, None)}


@pytest.mark.short
def test_ports_and_their_groups_follow_the_template(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network
    output = run("deploy", "s", template=TEMPLATE % FIRST)
    assert "10.9.0.0/24" in output
    assert "ACTIVE" in output
    assert "isotherm-" not in output, "a token is nobody's business"
    port, free = _ports(cloud_project)
    groups = {one.name[2:7]: one for one in network.security_groups(project_id=cloud_project.id)}
    assert (port.is_admin_state_up, port.tags, port.description) == (True, ["a"], "a")
    assert [one["ip_address"] for one in port.fixed_ips] == ["10.9.0.50"]
    assert port.security_group_ids == [groups["group"].id]
    assert (free.mac_address, len(free.fixed_ips)) == ("fa:16:3e:00:00:01", 1)
    assert groups["group"].description == "a"
    assert _rules(network, groups["group"].id) == {
        ("egress", "IPv4", None, None, None), ("egress", "IPv6", None, None, None), ("ingress", "IPv4", "icmp", None, None),
        ("ingress", "IPv4", "tcp", 90, "10.9.0.0/24"), ("ingress", "IPv6", "udp", None, groups["group"].id), *BESIDE}
    assert "8 in sync" in run("observe", "s")

    run("update", "s", template=TEMPLATE % SECOND)
    changed, other = _ports(cloud_project)
    assert (changed.id, changed.is_admin_state_up, changed.tags, changed.description) == (port.id, False, ["b"], "b")
    assert [one["ip_address"] for one in changed.fixed_ips] == ["10.9.0.51"]
    assert changed.security_group_ids == [groups["other"].id]
    assert [one["ip_address"] for one in changed.allowed_address_pairs] == ["10.9.8.8"]
    assert (other.id != free.id, other.mac_address) == (True, "fa:16:3e:00:00:02")
    assert ("ingress", "IPv4", "tcp", 99, "10.9.0.0/24") in _rules(network, groups["group"].id)
    # Rules that are resources of their own are not the group's to delete.
    assert _rules(network, groups["group"].id) >= BESIDE
    assert ("ingress", "IPv4", "tcp", 99, None) in _rules(network, groups["other"].id)
    assert "8 in sync" in run("observe", "s")

    network.update_port(port.id, admin_state_up=True, allowed_address_pairs=[], security_groups=[groups["group"].id])
    network.create_security_group_rule(security_group_id=groups["group"].id, direction="ingress", protocol="sctp")
    network.delete_port(other.id)
    seen = run("observe", "s")
    assert all(name in seen for name in ("admin_state_up", "allowed_address_pairs", "security_groups", "rules"))
    run("converge", "s")
    changed, _ = _ports(cloud_project)
    assert (changed.is_admin_state_up, len(changed.allowed_address_pairs)) == (False, 1)
    assert changed.security_group_ids == [groups["other"].id]
    assert len(_rules(network, groups["group"].id)) == 6
    assert _rules(network, groups["group"].id) >= BESIDE
    assert "8 in sync" in run("observe", "s")

    run("delete", "s", "--yes")
    assert list(network.ports(project_id=cloud_project.id)) == []


def _ports(project: CloudProject) -> list[Any]:
    """Return the stack's ports: the one with the name port, and the free one."""
    found = {one.name.split("-")[1]: one for one in project.sdk.network.ports(project_id=project.id)}
    assert sorted(found) == ["free", "port"]
    return [found["port"], found["free"]]


def _rules(network: Any, group: str) -> set[tuple[Any, ...]]:
    return {(one.direction, one.ether_type, one.protocol, one.port_range_max, one.remote_ip_prefix or one.remote_group_id)
            for one in network.security_group_rules(security_group_id=group)}


REPLACED = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      mac_address: "fa:16:3e:00:00:%s"
      fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.9.0.50}]
      tags: [mine]
"""
FAILING = """
  late: {type: OS::Heat::TestResource, properties: {fail: true}, depends_on: port}
"""


def test_a_port_keeps_its_address_when_it_is_replaced_and_rolled_back(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network

    def seen() -> Any:
        [port] = network.ports(project_id=cloud_project.id)
        assert [one["ip_address"] for one in port.fixed_ips] == ["10.9.0.50"]
        return port

    run("deploy", "s", template=REPLACED % "01")
    first = seen()
    run("update", "s", template=REPLACED % "02")
    second = seen()
    assert (second.id != first.id, second.mac_address) == (True, "fa:16:3e:00:00:02")
    assert "3 in sync" in run("observe", "s")

    run("update", "s", "--rollback", template=REPLACED % "03" + FAILING, code=5)
    assert (seen().id, seen().mac_address) == (second.id, "fa:16:3e:00:00:02")
    assert "3 in sync" in run("observe", "s")
    run("delete", "s", "--yes")
    assert list(network.ports(project_id=cloud_project.id)) == []
