"""Trunks, routes and the floating ips of Nova on a real cloud: created, updated in place, repaired, deleted."""

from __future__ import annotations

from typing import Any

import pytest
from openstack import exceptions

from tests.clouds import CloudProject

TRUNK = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  main: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  one: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  two: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  trunk:
    type: OS::Neutron::Trunk
    properties:
      port: {get_resource: main}
      sub_ports: [%s]
      %s
outputs:
  port: {value: {get_attr: [trunk, port_id]}}
"""
SUB = "{port: {get_resource: %s}, segmentation_type: vlan, segmentation_id: %d}"

ROUTES = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  first: {type: OS::Neutron::ExtraRouteSet, properties: {router: {get_resource: router}, routes: [%s]}}
  second:
    type: OS::Neutron::ExtraRouteSet
    properties: {router: {get_resource: router}, routes: [{destination: 10.77.0.0/24, nexthop: 10.9.0.77}]}
outputs:
  router: {value: {get_resource: first}}
"""
ROUTE = "{destination: 10.%d.0.0/24, nexthop: 10.9.0.%d}"

FLOATING = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  one: {type: OS::Nova::Server, properties: {image: cirros, flavor: m1.nano, networks: [{subnet: {get_resource: sub}}]}}
  two: {type: OS::Nova::Server, properties: {image: cirros, flavor: m1.nano, networks: [{subnet: {get_resource: sub}}]}}
  free: {type: OS::Nova::FloatingIP}
  address: {type: OS::Nova::FloatingIP, properties: {pool: public}}
  link:
    type: OS::Nova::FloatingIPAssociation
    properties: {floating_ip: {get_resource: %s}, server_id: {get_resource: %s}}
outputs:
  ip: {value: {get_attr: [address, ip]}}
  pool: {value: {get_attr: [address, pool]}}
"""


def test_a_trunk_carries_the_ports_of_the_template(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network

    def carried() -> set[tuple[str, int]]:
        [trunk] = network.trunks(project_id=cloud_project.id)
        return {(names[one["port_id"]], one["segmentation_id"]) for one in trunk.sub_ports}

    run("deploy", "s", template=TRUNK % (SUB % ("one", 11), ""))
    [made] = network.trunks(project_id=cloud_project.id)
    names = {one.id: one.name.split("-")[1] for one in network.ports(project_id=cloud_project.id) if one.name}
    assert (names[made.port_id], made.name[:8], carried()) == ("main", "s-trunk-", {("one", 11)})
    assert "6 in sync" in run("observe", "s")

    subs = ", ".join((SUB % ("two", 12), SUB % ("one", 13)))
    run("update", "s", template=TRUNK % (subs, "name: long\n      description: lorry\n      admin_state_up: false"))
    trunk = network.get_trunk(made.id)
    assert (trunk.name, trunk.description, trunk.is_admin_state_up) == ("long", "lorry", False)
    assert carried() == {("one", 13), ("two", 12)}
    assert "6 in sync" in run("observe", "s")

    ids = {name: id_ for id_, name in names.items()}
    network.update_trunk(trunk, name="other", description="other", is_admin_state_up=True)
    network.delete_trunk_subports(trunk, [{"port_id": ids["two"]}])
    seen = run("observe", "s")
    assert all(name in seen for name in ("name", "description", "admin_state_up", "sub_ports"))
    run("converge", "s")
    trunk = network.get_trunk(made.id)
    assert (trunk.name, trunk.description, trunk.is_admin_state_up) == ("long", "lorry", False)
    assert carried() == {("one", 13), ("two", 12)}
    network.update_trunk(trunk, is_admin_state_up=True)
    network.delete_trunk(trunk)
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert carried() == {("one", 13), ("two", 12)}
    # Ports that a trunk uses are deleted after it.
    run("delete", "s", "--yes")
    assert list(network.trunks(project_id=cloud_project.id)) == []


def test_routes_are_added_beside_others(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network

    def destinations() -> set[str]:
        [router] = network.routers(project_id=cloud_project.id)
        return {one["destination"].split(".")[1] for one in router.routes}

    both = ", ".join((ROUTE % (50, 50), ROUTE % (51, 51)))
    output = run("deploy", "s", template=ROUTES % both)
    [router] = network.routers(project_id=cloud_project.id)
    assert router.id in output
    assert destinations() == {"50", "51", "77"}
    assert "6 in sync" in run("observe", "s")

    network.add_extra_routes_to_router(
        router, {"router": {"routes": [{"destination": "10.99.0.0/24", "nexthop": "10.9.0.99"}]}})
    run("update", "s", template=ROUTES % ", ".join((ROUTE % (51, 51), ROUTE % (52, 52))))
    assert destinations() == {"51", "52", "77", "99"}
    assert "6 in sync" in run("observe", "s")

    network.remove_extra_routes_from_router(
        router, {"router": {"routes": [{"destination": "10.52.0.0/24", "nexthop": "10.9.0.52"}]}})
    assert "routes" in run("observe", "s")
    run("converge", "s")
    assert destinations() == {"51", "52", "77", "99"}

    # A route of others is not taken over, and stays when the set is deleted.
    assert "already" in run("deploy", "t", template=_alone(router.id, ROUTE % (99, 99)), code=5)
    run("delete", "t", "--yes")
    run("update", "s", template=ROUTES % "")
    assert destinations() == {"77", "99"}
    network.update_router(router, routes=[one for one in network.get_router(router).routes if "10.99." not in
                                          one["destination"]])
    run("delete", "s", "--yes")
    with pytest.raises(exceptions.NotFoundException):
        network.get_router(router.id)


def _alone(router: str, route: str) -> str:
    return ("heat_template_version: 2021-04-16\nresources:\n  only:\n    type: OS::Neutron::ExtraRouteSet\n"
            f"    properties: {{router: {router}, routes: [{route}]}}\n")


def test_floating_ips_of_nova_lead_to_servers(run: Any, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network

    def led() -> dict[str, str | None]:
        """Return the servers of the floating ips, by the ids of the floating ips."""
        ports = {one.id: one.device_id for one in network.ports(project_id=cloud_project.id)}
        return {one.id: names.get(ports.get(one.port_id, "")) for one in network.ips(project_id=cloud_project.id)}

    names: dict[str, str] = {}
    output = run("deploy", "s", template=FLOATING % ("address", "one"))
    names |= {one.id: one.name.split("-")[1] for one in cloud_project.sdk.compute.servers()}
    [(address, server)] = [(ip, one) for ip, one in led().items() if one]
    public = network.find_network("public", ignore_missing=False).id
    assert (server, len(led())) == ("one", 2)
    assert network.get_ip(address).floating_ip_address in output
    assert public in output
    assert "9 in sync" in run("observe", "s")

    run("update", "s", template=FLOATING % ("address", "two"))
    assert led()[address] == "two"
    run("update", "s", template=FLOATING % ("free", "two"))
    assert led()[address] is None
    assert sorted(led().values(), key=str) == [None, "two"]
    [free] = led().keys() - {address}

    ports = {names.get(one.device_id): one.id for one in network.ports(project_id=cloud_project.id)}
    network.update_ip(free, port_id=ports["one"])
    assert "server_id" in run("observe", "s")
    run("converge", "s")
    assert led()[free] == "two"
    network.update_ip(free, port_id=None)
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert led()[free] == "two"
    assert "9 in sync" in run("observe", "s")
    run("delete", "s", "--yes")
    assert list(network.ips(project_id=cloud_project.id)) == []
