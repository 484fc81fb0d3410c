"""Servers on a real cloud: created, updated in place, observed, replaced, deleted; looked at with openstacksdk."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests import patience
from tests.clouds import CloudProject

WITHIN_S = 240.0
Run = Callable[..., str]

NETWORK = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: net}}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  other_net: {type: OS::Neutron::Net, properties: {name: other}}
  other_sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: other_net}, cidr: 10.8.0.0/24}}
"""
SERVER = NETWORK + """
  server:
    type: OS::Nova::Server
    properties: %s
outputs:
  addresses: {value: {get_attr: [server, addresses]}}
  networks: {value: {get_attr: [server, networks]}}
  first: {value: {get_attr: [server, first_address]}}
  tags: {value: {get_attr: [server, tags]}}
  show: {value: {get_attr: [server, show, status]}}
"""
NET, OTHER, SUB = {"get_resource": "net"}, {"get_resource": "other_net"}, {"get_resource": "sub"}


def template(**properties: Any) -> str:
    return SERVER % json.dumps({"image": "cirros", "flavor": "m1.nano", "user_data_format": "RAW", **properties})


def servers(project: CloudProject) -> list[Any]:
    """Return the servers of the project. Nova lists a server for a moment that it shows as DELETED."""
    return [one for one in project.sdk.compute.servers() if one.status != "DELETED"]


def the_server(project: CloudProject) -> Any:
    [server] = servers(project)
    return server


def ports_of(project: CloudProject, server: Any) -> Any:
    return sorted(project.sdk.network.ports(device_id=server.id), key=lambda port: port.network_id)


@pytest.mark.short
def test_a_server_is_updated_in_place(run: Run, cloud_project: CloudProject) -> None:
    """Name, metadata, tags, flavor, image and password change without another server; drift is seen and repaired."""
    sdk = cloud_project.sdk
    first: dict[str, Any] = {"networks": [{"network": NET}], "metadata": {"a": "1"}, "tags": ["x"], "user_data": "hello"}
    shown = run("deploy", "s", template=template(**first))
    server = the_server(cloud_project)
    assert server.status == "ACTIVE"
    assert server.name.startswith("s-server-")
    assert server.metadata == {"a": "1"}
    assert "x" in server.tags
    assert "10.9.0." in shown
    assert "isotherm-" not in shown, "a token is nobody's business"

    second = first | {"name": "renamed", "metadata": {"b": {"c": 1}}, "tags": ["y"], "flavor": "m1.tiny",
                      "admin_pass": "secret"}
    run("update", "s", template=template(**second))
    changed = the_server(cloud_project)
    assert (changed.id, changed.name, changed.status) == (server.id, "renamed", "ACTIVE")
    assert changed.metadata == {"b": '{"c": 1}'}
    assert "y" in changed.tags
    assert "x" not in changed.tags
    assert changed.flavor.original_name == "m1.tiny"

    assert "5 in sync" in run("observe", "s")
    sdk.compute.set_server_metadata(changed.id, b="drifted")
    sdk.compute.update_server(changed.id, name="elsewhere")
    drift = run("observe", "s")
    assert "metadata" in drift
    assert "name" in drift
    run("converge", "s")
    repaired = the_server(cloud_project)
    assert (repaired.name, repaired.metadata) == ("renamed", {"b": '{"c": 1}'})

    run("update", "s", template=template(**second, user_data_update_policy="REBUILD").replace("hello", "changed"))
    assert the_server(cloud_project).id == server.id
    run("update", "s", template=template(**second | {"user_data": "replaced"}))
    assert the_server(cloud_project).id != server.id
    run("delete", "s", "--yes")
    assert servers(cloud_project) == []


def test_interfaces_change_in_place(run: Run, cloud_project: CloudProject) -> None:
    """Entries by network, by subnet and with further properties of the port are attached and detached."""
    extra = {"port_extra_properties": {"admin_state_up": False}}
    run("deploy", "s", template=template(networks=[{"network": NET, "fixed_ip": "10.9.0.50"}]))
    server = the_server(cloud_project)
    [port] = ports_of(cloud_project, server)
    assert port.fixed_ips[0]["ip_address"] == "10.9.0.50"

    run("update", "s", template=template(networks=[
        {"network": NET, "fixed_ip": "10.9.0.50"}, {"network": OTHER, **extra}]))
    by_network = {one.network_id: one for one in ports_of(cloud_project, server)}
    assert by_network[port.network_id].id == port.id
    [own] = [one for one in by_network.values() if one.id != port.id]
    assert (own.is_admin_state_up, own.name) == (False, "server-port-0")
    assert "5 in sync" in run("observe", "s")

    run("update", "s", template=template(networks=[{"subnet": SUB}]))
    [last] = ports_of(cloud_project, server)
    # The port has an address of the subnet already.
    assert last.id == port.id
    assert the_server(cloud_project).id == server.id
    assert {one.id for one in cloud_project.sdk.network.ports(device_owner="compute:nova")} == {last.id}

    cloud_project.sdk.compute.delete_server_interface(last.id, server=server.id)
    patience.until(lambda: not ports_of(cloud_project, server), WITHIN_S)
    assert "networks" in run("observe", "s")
    run("converge", "s")
    [again] = ports_of(cloud_project, server)
    assert again.network_id == port.network_id

    run("delete", "s", "--yes")
    assert list(cloud_project.sdk.network.ports(project_id=cloud_project.id)) == []


def test_a_server_is_copied_restored_and_leaves_an_image(run: Run, cloud_project: CloudProject) -> None:
    """A snapshot is one image; a restore rebuilds the server with it; the deletion policy leaves another one."""
    sdk = cloud_project.sdk

    def images() -> list[Any]:
        return list(sdk.image.images(owner=cloud_project.id))

    first: dict[str, Any] = {"networks": [{"allocate_network": "none"}], "metadata": {"a": "1"}}
    plain = template(**first).partition("outputs:")[0]
    run("deploy", "s", template=plain)
    server = the_server(cloud_project)
    run("snapshot", "create", "s", "before")
    [image] = images()
    assert (image.status, image.name) == ("active", server.name)

    run("update", "s", template=plain.replace('"a": "1"', '"a": "2"'))
    run("restore", "s", "before")
    restored = the_server(cloud_project)
    assert (restored.id, restored.metadata, restored.image.id) == (server.id, {"a": "1"}, image.id)

    kept = plain.replace("type: OS::Nova::Server", "type: OS::Nova::Server\n    deletion_policy: Snapshot")
    run("update", "s", template=kept)
    run("snapshot", "delete", "s", "before")
    assert images() == []
    run("delete", "s", "--yes")
    [left] = images()
    assert left.status == "active"
    assert servers(cloud_project) == []
    sdk.image.delete_image(left)
