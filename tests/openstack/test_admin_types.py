"""Types of administrators on a real cloud: flavors, volume types, provider networks."""

from __future__ import annotations

from typing import Any

import pytest

from tests import clouds
from tests.clouds import CloudProject

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  size:
    type: OS::Nova::Flavor
    properties: {ram: 64, vcpus: 1, disk: 1, ephemeral: 2, swap: 3, is_public: false, %(size)s}
  auto: {type: OS::Nova::Flavor, properties: {ram: %(ram)s, vcpus: 1, flavorid: auto, name: %(name)s-auto}}
  kind:
    type: OS::Cinder::VolumeType
    properties: {%(kind)s}
  net:
    type: OS::Neutron::ProviderNet
    properties: {network_type: vxlan, segmentation_id: %(number)s, shared: false, %(net)s}
outputs:
  specs: {value: {get_attr: [size, extra_specs]}}
  public: {value: {get_attr: [size, is_public]}}
  segments: {value: {get_attr: [net, segments]}}
  status: {value: {get_attr: [net, status]}}
"""


@pytest.fixture
def administrator(cloud_project: CloudProject) -> CloudProject:
    """Make the user of the test's project an administrator."""
    clouds.promote(cloud_project)
    return cloud_project


def _number(project: CloudProject) -> int:
    """Return a number of a tunnel that other tests hardly use at the same time."""
    return 2000 + int(project.id[:6], 16) % 100_000


def test_they_follow_the_template(run: Any, administrator: CloudProject) -> None:
    project, name = administrator, administrator.name
    compute, network = project.sdk.compute, project.sdk.network
    storage: Any = project.sdk.block_storage  # v3: the SDK's type is that of v2 or v3
    number = _number(project)
    first = {
        "name": name, "ram": 64, "number": number, "size": f"flavorid: {name}-id, extra_specs: {{a: b, c: 1}}",
        "kind": f"name: {name}, metadata: {{a: b, c: d}}", "net": "tags: [a]"}
    second = {
        "name": name, "ram": 65, "number": number,
        "size": f"flavorid: {name}-id, extra_specs: {{a: x}}, tenants: [{name}, demo]",
        "kind": f"name: {name}-2, metadata: {{a: x}}, description: fast, is_public: false, projects: [{name}, demo]",
        "net": "tags: [b], name: renamed, router_external: true, admin_state_up: false, port_security_enabled: false"}
    output = run("deploy", "s", template=TEMPLATE % first)
    assert str(number) in output
    size = compute.get_flavor(f"{name}-id", get_extra_specs=True)
    [auto] = [one for one in compute.flavors() if one.name == f"{name}-auto"]
    assert (size.ram, size.vcpus, size.disk, size.ephemeral, size.swap, size.is_public) == (64, 1, 1, 2, 3, False)
    assert size.extra_specs == {"a": "b", "c": "1"}
    assert _access(project, size.id) == {project.id}
    kind = storage.find_type(name, ignore_missing=False)
    assert (kind.extra_specs, kind.is_public) == ({"a": "b", "c": "d"}, True)
    [net] = network.networks(project_id=project.id)
    assert (net.provider_network_type, net.provider_segmentation_id, net.tags) == ("vxlan", number, ["a"])
    assert (net.is_shared, net.is_router_external) == (False, False)
    assert "4 in sync" in run("observe", "s")

    run("update", "s", template=TEMPLATE % second)
    identity: Any = project.admin.identity  # v3: the SDK's type is that of v2 or v3
    demo = identity.find_project("demo", ignore_missing=False).id
    assert compute.get_flavor(f"{name}-id", get_extra_specs=True).extra_specs == {"a": "x"}
    assert _access(project, size.id) == {project.id, demo}
    [replaced] = [one for one in compute.flavors() if one.name == f"{name}-auto"]
    assert (replaced.ram, replaced.id != auto.id) == (65, True)
    kind = storage.get_type(kind.id)
    assert (kind.name, kind.description, kind.extra_specs, kind.is_public) == (f"{name}-2", "fast", {"a": "x"}, False)
    assert {one["project_id"] for one in storage.get_type_access(kind)} == {project.id, demo}
    there = network.get_network(net.id)
    assert (there.name, there.tags, there.is_router_external, there.is_admin_state_up) == (
        "renamed", ["b"], True, False)
    assert "4 in sync" in run("observe", "s")

    compute.create_flavor_extra_specs(size, {"more": "1"})
    compute.flavor_remove_tenant_access(size.id, demo)
    # The SDK sends `is_public` under the name that only the request of a creation takes.
    changes = {"description": "other", "name": f"{name}-3", "is_public": True}
    storage.put(f"/types/{kind.id}", json={"volume_type": changes})
    storage.update_type_extra_specs(kind, a="y")
    network.update_network(there, name="other", admin_state_up=True, port_security_enabled=True)
    seen = run("observe", "s")
    changed = ("extra_specs", "tenants", "description", "name", "is_public", "metadata", "admin_state_up",
               "port_security_enabled")
    assert [one for one in changed if one not in seen] == [], seen
    run("converge", "s")
    assert "4 in sync" in run("observe", "s")
    assert compute.get_flavor(f"{name}-id", get_extra_specs=True).extra_specs == {"a": "x"}
    assert _access(project, size.id) == {project.id, demo}
    assert {one["project_id"] for one in storage.get_type_access(kind)} == {project.id, demo}

    run("delete", "s", "--yes")
    assert [one.name for one in compute.flavors(is_public=None) if one.name.startswith((name, "s-size-"))
            and one.id in (size.id, replaced.id)] == []
    assert storage.find_type(f"{name}-2") is None
    assert list(network.networks(project_id=project.id)) == []


def test_a_volume_type_in_use_is_deleted_after_its_volume(run: Any, administrator: CloudProject) -> None:
    """The volume is not of the stack: the delete waits until it is deleted by another client."""
    project, name = administrator, administrator.name
    storage = project.sdk.block_storage
    template = f"""
heat_template_version: 2021-04-16
resources:
  kind: {{type: OS::Cinder::VolumeType, properties: {{name: {name}}}}}
  volume: {{type: OS::Cinder::Volume, properties: {{size: 1, volume_type: {{get_resource: kind}}}}}}
"""
    run("deploy", "s", template=template)
    [volume] = storage.volumes()
    assert volume.volume_type == name
    run("delete", "s", "--yes")
    assert storage.find_type(name) is None


def test_those_of_others_are_left_alone(run: Any, administrator: CloudProject) -> None:
    """An id or a name that is taken is an error, and the delete of the stack does not touch the object."""
    compute, name = administrator.sdk.compute, administrator.name
    storage: Any = administrator.sdk.block_storage  # v3: the SDK's type is that of v2 or v3
    flavor = compute.create_flavor(name=name, ram=64, vcpus=1, disk=0)
    kind = storage.create_type(name=name)
    try:
        said = run("deploy", "s", code=5, template=f"""
heat_template_version: 2021-04-16
resources:
  size: {{type: OS::Nova::Flavor, properties: {{ram: 64, vcpus: 1, name: {name}, flavorid: {flavor.id}}}}}
  kind: {{type: OS::Cinder::VolumeType, properties: {{name: {name}}}}}
""")
        assert said.count("already exists") >= 1
        run("delete", "s", "--yes")
        assert compute.get_flavor(flavor.id).name == name
        assert storage.get_type(kind.id).name == name
    finally:
        compute.delete_flavor(flavor)
        storage.delete_type(kind)


def _access(project: CloudProject, flavor: str) -> set[str]:
    return {one["tenant_id"] for one in project.sdk.compute.get_flavor_access(flavor)}
