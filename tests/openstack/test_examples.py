"""The templates of examples/openstack on a real cloud: deployed, observed, deleted; nothing is left but a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clouds import CloudProject

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "openstack"


def test_the_server_can_be_reached(run: Any, cloud_project: CloudProject) -> None:
    sdk = cloud_project.sdk
    output = run("deploy", "web", "-t", str(EXAMPLES / "server.yaml"))
    [server] = sdk.compute.servers()
    [address] = sdk.network.ips(project_id=cloud_project.id)
    [port] = sdk.network.ports(device_id=server.id)
    [volume] = sdk.block_storage.volumes()
    [group] = sdk.network.security_groups(project_id=cloud_project.id, id=port.security_group_ids)
    assert (server.status, server.key_name) == ("ACTIVE", "web-key")
    assert address.port_id == port.id
    assert address.fixed_ip_address == port.fixed_ips[0]["ip_address"]
    assert address.floating_ip_address in output
    assert address.fixed_ip_address in output
    assert [one["server_id"] for one in volume.attachments] == [server.id]
    assert {one["protocol"] for one in group.security_group_rules if one["direction"] == "ingress"} == {"tcp", "icmp"}
    assert run("outputs", "web", "private_key").startswith("-----BEGIN")
    assert "11 in sync" in run("observe", "web")
    run("delete", "web", "--yes")
    assert list(sdk.compute.servers()) == []


@pytest.mark.parametrize("name", ["network", "group", "load-balancer"])
def test_an_example_is_deployed_and_deleted(name: str, run: Any) -> None:
    run("deploy", "s", "-t", str(EXAMPLES / f"{name}.yaml"))
    assert "drifted" not in run("observe", "s")
    run("delete", "s", "--yes")


def test_a_disk_leaves_a_backup(run: Any, cloud_project: CloudProject) -> None:
    sdk = cloud_project.sdk
    network = sdk.network.create_network(name="private")
    sdk.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.8.0.0/24")
    output = run("deploy", "s", "-t", str(EXAMPLES / "boot-from-volume.yaml"), "-p", f"network={network.name}")
    [server] = sdk.compute.servers()
    [volume] = sdk.block_storage.volumes()
    assert [one["id"] for one in server.attached_volumes] == [volume.id]
    assert server.addresses["private"][0]["addr"] in output
    assert "2 in sync" in run("observe", "s")
    run("delete", "s", "--yes")
    [backup] = sdk.block_storage.backups()
    assert (backup.volume_id, backup.status) == (volume.id, "available")
    sdk.block_storage.delete_backup(backup.id)
    sdk.block_storage.wait_for_delete(backup)
    sdk.network.delete_network(network)
