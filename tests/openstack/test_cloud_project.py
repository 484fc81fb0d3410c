"""The fixture `cloud_project`: a project that works, a clouds.yaml that leads there, and a check that nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openstack import exceptions

from tests import clouds
from tests.clouds import CloudProject


def test_a_network_is_made_and_deleted(cloud_project: CloudProject) -> None:
    sdk = cloud_project.sdk
    assert sdk.current_project_id == cloud_project.id
    made = sdk.network.create_network(name="one")
    assert made.project_id == cloud_project.id
    assert [one.id for one in sdk.network.networks(project_id=cloud_project.id)] == [made.id]
    sdk.network.delete_network(made)


def test_the_entry_of_clouds_yaml_leads_into_the_project(cloud_project: CloudProject) -> None:
    with clouds.connect(cloud_project.clouds_yaml, cloud_project.cloud) as other:
        assert (other.current_project_id, other.current_user_id) == (cloud_project.id, cloud_project.user_id)


def test_leftovers_are_named_and_deleted_and_the_project_is_gone(cloud: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="left in the project") as failed, clouds.project(cloud, tmp_path) as made:
        network = made.sdk.network.create_network(name="net")
        subnet = made.sdk.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.1.0.0/24")
        router = made.sdk.network.create_router(name="router")
        made.sdk.network.add_interface_to_router(router, subnet=subnet.id)
        made.sdk.network.create_security_group(name="group")
        made.sdk.compute.create_keypair(name="key")
        volume = made.sdk.block_storage.create_volume(name="volume", size=1)
        made.sdk.object_store.create_container(name="box")
        made.sdk.object_store.upload_object("box", "object", data=b"content")
    for text in ("key pair key", f"router router {router.id}", f"network net {network.id}", "security group group",
                 f"volume volume {volume.id}", "container box", "port "):
        assert text in str(failed.value)
    with clouds.connect(cloud / "clouds.yaml", "admin") as admin:
        identity: Any = admin.identity
        for gone in (lambda: identity.get_project(made.id), lambda: identity.get_user(made.user_id),
                     lambda: admin.network.get_network(network.id), lambda: admin.block_storage.get_volume(volume.id)):
            with pytest.raises(exceptions.NotFoundException):
                gone()
        assert made.id not in {group.project_id for group in admin.network.security_groups()}
