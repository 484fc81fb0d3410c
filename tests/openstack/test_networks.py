"""Networks and subnets on a real cloud: created, updated in place, observed, deleted; looked at with openstacksdk."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds import CloudProject

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {tags: [%(tag)s], value_specs: {description: ours}}}
  sub:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24, dns_nameservers: [%(server)s]}
outputs:
  gateway: {value: {get_attr: [sub, gateway_ip]}}
"""


@pytest.mark.short
def test_a_network_is_created_updated_and_deleted(run: Any, cloud_project: CloudProject) -> None:
    assert "10.9.0.1" in run("deploy", "s", template=TEMPLATE % {"tag": "a", "server": "9.9.9.9"})
    [network] = cloud_project.sdk.network.networks(project_id=cloud_project.id)
    [subnet] = cloud_project.sdk.network.subnets(project_id=cloud_project.id)
    assert (network.tags, network.status) == (["a"], "ACTIVE")
    assert network.name.startswith("s-net-")
    assert (subnet.network_id, subnet.dns_nameservers) == (network.id, ["9.9.9.9"])

    run("update", "s", template=TEMPLATE % {"tag": "b", "server": "8.8.8.8"})
    assert cloud_project.sdk.network.get_network(network.id).tags == ["b"]
    assert cloud_project.sdk.network.get_subnet(subnet.id).dns_nameservers == ["8.8.8.8"]

    assert "2 in sync" in run("observe", "s")
    cloud_project.sdk.network.update_subnet(subnet.id, dns_nameservers=["7.7.7.7"])
    cloud_project.sdk.network.update_network(network.id, description="theirs")
    seen = run("observe", "s")
    assert "dns_nameservers" in seen
    assert "value_specs" in seen
    run("converge", "s")
    assert cloud_project.sdk.network.get_network(network.id).description == "ours"
    assert "2 in sync" in run("observe", "s")

    run("delete", "s", "--yes")
    assert list(cloud_project.sdk.network.networks(project_id=cloud_project.id)) == []


EXTERNAL = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, external_id: %s}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
outputs:
  mtu: {value: {get_attr: [net, mtu]}}
"""


def test_an_external_network_is_used_and_left_alone(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network
    theirs = network.create_network(name="theirs")
    assert str(theirs.mtu) in run("deploy", "s", template=EXTERNAL % theirs.id)
    [port] = network.ports(project_id=cloud_project.id)
    assert port.network_id == theirs.id
    run("check", "s")
    run("delete", "s", "--yes")
    assert list(network.ports(project_id=cloud_project.id)) == []
    assert network.get_network(theirs.id).name == "theirs"
    network.delete_network(theirs)
