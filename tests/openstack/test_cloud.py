"""The cloud of the tests works: what its drivers stand in for behaves as on a cloud with hypervisors and agents."""

from __future__ import annotations

from typing import Any

import pytest
from openstack import exceptions

from tests import patience
from tests.clouds import CloudProject

WITHIN_S = 120.0


def becomes(get: Any, status: str, name: str = "status") -> None:
    """Wait until an object has this status."""
    patience.until(lambda: str(getattr(get(), name)).lower() == status.lower(), WITHIN_S)


def is_gone(get: Any) -> bool:
    try:
        get()
    except exceptions.NotFoundException:
        return True
    return False


@pytest.fixture
def subnet(cloud_project: CloudProject) -> Any:
    """Make a network with a subnet behind a router to the outside; delete them afterwards."""
    network = cloud_project.sdk.network
    outside = network.find_network("public", ignore_missing=False)
    net = network.create_network(name="net")
    made = network.create_subnet(network_id=net.id, ip_version=4, cidr="10.2.0.0/24")
    router = network.create_router(name="router", external_gateway_info={"network_id": outside.id})
    network.add_interface_to_router(router, subnet=made.id)
    yield made
    network.remove_interface_from_router(router, subnet=made.id)
    network.delete_router(router)
    network.delete_network(net)


def test_a_server_with_a_floating_ip_and_a_volume(cloud_project: CloudProject, subnet: Any) -> None:
    sdk = cloud_project.sdk
    flavor = sdk.compute.find_flavor("m1.nano", ignore_missing=False)
    image = sdk.image.find_image("cirros", ignore_missing=False)
    port = sdk.network.create_port(network_id=subnet.network_id)
    server = sdk.compute.create_server(name="server", flavor_id=flavor.id, image_id=image.id, networks=[{"port": port.id}])
    becomes(lambda: sdk.compute.get_server(server), "ACTIVE")
    becomes(lambda: sdk.network.get_port(port), "ACTIVE")
    outside = sdk.network.find_network("public", ignore_missing=False)
    address = sdk.network.create_ip(floating_network_id=outside.id, port_id=port.id)
    becomes(lambda: sdk.network.get_ip(address), "ACTIVE")
    volume = sdk.block_storage.create_volume(name="volume", size=1).id
    becomes(lambda: sdk.block_storage.get_volume(volume), "available")
    sdk.compute.create_volume_attachment(server, volume_id=volume)
    becomes(lambda: sdk.block_storage.get_volume(volume), "in-use")
    sdk.compute.delete_volume_attachment(server, volume)
    becomes(lambda: sdk.block_storage.get_volume(volume), "available")
    sdk.network.delete_ip(address)
    sdk.compute.delete_server(server)
    patience.until(lambda: is_gone(lambda: sdk.compute.get_server(server.id)), WITHIN_S)
    sdk.network.delete_port(port)
    sdk.block_storage.delete_volume(volume)
    patience.until(lambda: is_gone(lambda: sdk.block_storage.get_volume(volume)), WITHIN_S)


@pytest.mark.parametrize(("name", "status"), [("good", "ACTIVE"), ("loopback-error-1", "ERROR")])
def test_a_load_balancer(cloud_project: CloudProject, subnet: Any, name: str, status: str) -> None:
    balancers = cloud_project.sdk.load_balancer
    made = balancers.create_load_balancer(name=name, vip_subnet_id=subnet.id)
    assert made.provisioning_status == "PENDING_CREATE"
    becomes(lambda: balancers.get_load_balancer(made), status, "provisioning_status")
    assert cloud_project.sdk.network.get_port(made.vip_port_id).fixed_ips[0]["subnet_id"] == subnet.id
    balancers.delete_load_balancer(made)
    patience.until(lambda: is_gone(lambda: balancers.get_load_balancer(made.id)), WITHIN_S)
