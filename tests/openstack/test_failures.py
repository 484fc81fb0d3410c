"""Refusals and failures of a real cloud: the reason is told in its words, and an update then succeeds."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isotherm.cli import codes
from isotherm.resources.openstack import driver
from tests import cloud_stacks, patience
from tests.clouds import CloudProject

Run = Callable[..., str]
HEAD = "heat_template_version: 2021-04-16\nresources:\n"
SERVER = HEAD + """
  server: {type: OS::Nova::Server, properties: {image: cirros, flavor: %s, networks: [{allocate_network: none}]}}
"""
SUBNETS = HEAD + """
  net: {type: OS::Neutron::Net}
  first: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  second: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: %s}, depends_on: first}
"""
NETWORK = HEAD + "  net: {type: OS::Neutron::Net}\n"
#: For each service with quotas: a stack, what the service says of it when its quota is 0, and the type of its object.
QUOTAS = {
    "network": (NETWORK, "Quota exceeded for resources: ['network']", "OS::Neutron::Net"),
    "compute": (SERVER % "m1.nano", "Quota exceeded for instances", "OS::Nova::Server"),
    "volume": (HEAD + "  one: {type: OS::Cinder::Volume, properties: {size: 1}}\n", "VolumeLimitExceeded",
               "OS::Cinder::Volume"),
}


@pytest.fixture
def flavor(cloud_project: CloudProject) -> Iterator[str]:
    """Yield the name of a flavor that no host has room for."""
    compute = cloud_project.admin.compute
    made = compute.create_flavor(name=f"huge-{secrets.token_hex(4)}", ram=90_000_000, vcpus=1, disk=1)
    yield made.name
    compute.delete_flavor(made)


def test_a_server_that_no_host_has_room_for(run: Run, cloud_project: CloudProject, flavor: str) -> None:
    run("deploy", "s", template=SERVER % flavor, code=codes.FAILED)
    said = run("events", "s")
    assert "No valid host was found" in said
    # It was deleted and created again before the engine gave up.
    assert len(list(cloud_project.sdk.compute.servers())) <= 1
    run("update", "s", template=SERVER % "m1.nano")
    [server] = cloud_project.sdk.compute.servers()
    assert server.status == "ACTIVE"
    run("delete", "s", "--yes")
    assert cloud_stacks.objects(cloud_project) == {}


@pytest.mark.parametrize("service", QUOTAS)
def test_a_quota_that_is_used_up(service: str, run: Run, cloud_project: CloudProject) -> None:
    template, said, type_ = QUOTAS[service]
    admin: Any = cloud_project.admin
    setters = {
        "network": lambda limit: admin.network.update_quota(cloud_project.id, networks=limit),
        "compute": lambda limit: admin.set_compute_quotas(cloud_project.id, instances=limit),
        "volume": lambda limit: admin.set_volume_quotas(cloud_project.id, volumes=limit)}
    setters[service](0)
    run("deploy", "s", template=template, code=codes.FAILED)
    assert said in run("events", "s")
    assert cloud_stacks.objects(cloud_project) == {}
    setters[service](1)
    run("update", "s", template=template)
    assert cloud_stacks.objects(cloud_project) == {type_: 1}
    run("delete", "s", "--yes")
    assert cloud_stacks.objects(cloud_project) == {}


def test_subnets_that_overlap(run: Run, cloud_project: CloudProject) -> None:
    run("deploy", "s", template=SUBNETS % "10.9.0.128/25", code=codes.FAILED)
    assert "overlaps with another subnet" in run("events", "s")
    run("update", "s", template=SUBNETS % "10.8.0.0/24")
    assert {one.cidr for one in cloud_project.sdk.network.subnets(project_id=cloud_project.id)} == {
        "10.9.0.0/24", "10.8.0.0/24"}
    run("delete", "s", "--yes")
    assert cloud_stacks.objects(cloud_project) == {}


def test_what_others_use_is_deleted_when_they_are_done(
    run: Run, cloud_project: CloudProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port of another program keeps the network. The delete is repeated for a while, and then says why it failed."""
    network = cloud_project.sdk.network
    run("deploy", "s", template=NETWORK)
    [net] = network.networks(project_id=cloud_project.id)
    port = network.create_port(network_id=net.id)
    with monkeypatch.context() as patch:
        patch.setattr(driver, "_IN_USE_S", 2.0)
        run("delete", "s", "--yes", code=codes.FAILED)
    assert "There are one or more ports still in use on the network" in run("events", "s")

    asked: list[str] = []
    delete_object = driver.TableResource.delete_object

    async def recorded(self: driver.TableResource) -> None:
        asked.append(self.name)
        await delete_object(self)

    def leave() -> None:
        patience.until(lambda: len(asked) > 1)
        network.delete_port(port)

    monkeypatch.setattr(driver.TableResource, "delete_object", recorded)
    leaving = threading.Thread(target=leave)
    leaving.start()
    run("delete", "s", "--yes")
    leaving.join()
    assert cloud_stacks.objects(cloud_project) == {}


PORT = HEAD + """
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24, host_routes: %(routes)s}}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, name: %(name)s, fixed_ips: [{ip_address: %(ip)s}]}
"""
GOOD = {"routes": "[]", "name": "a", "ip": "10.9.0.5"}


@pytest.mark.parametrize("wrong", [{"ip": "99.9.9.9"}, {"routes": "[{destination: 10.7.0.0/24, nexthop: '::1'}]"}])
def test_an_update_succeeds_after_one_that_failed(wrong: dict[str, str], run: Run, cloud_project: CloudProject) -> None:
    """The update sets properties in doubt after the failure again, and leaves alone those that were never given."""
    network = cloud_project.sdk.network
    run("deploy", "s", template=PORT % GOOD)
    [subnet] = network.subnets(project_id=cloud_project.id)
    [port] = network.ports(project_id=cloud_project.id)
    network.update_port(port, device_id="mine", device_owner="outside:mine")
    run("update", "s", template=PORT % {**GOOD, **wrong}, code=codes.FAILED)
    run("update", "s", template=PORT % {**GOOD, "name": "b"})
    changed, same = network.get_port(port.id), network.get_subnet(subnet.id)
    assert (changed.name, changed.device_id, changed.device_owner) == ("b", "mine", "outside:mine")
    assert (same.gateway_ip, same.allocation_pools) == (subnet.gateway_ip, subnet.allocation_pools)
    network.update_port(port, device_id="", device_owner="")
    run("delete", "s", "--yes")
    assert cloud_stacks.objects(cloud_project) == {}
