"""Volumes, attachments and volume types on a real cloud: created, changed in place, observed, deleted; looked at with
openstacksdk."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds import CloudProject

VOLUME = """
heat_template_version: 2021-04-16
resources:
  vol:
    type: OS::Cinder::Volume
    properties: {%(properties)s}
outputs:
  size: {value: {get_attr: [vol, size]}}
  keys: {value: {get_attr: [vol, metadata_values]}}
"""


@pytest.mark.short
def test_a_volume_is_created_changed_in_place_and_deleted(run: Any, cloud_project: CloudProject) -> None:
    storage = cloud_project.sdk.block_storage
    run("deploy", "s", template=VOLUME % {"properties": "size: 1, image: cirros, metadata: {a: '1'}, description: one"})
    [volume] = storage.volumes()
    assert (volume.status, volume.size, volume.description, volume.is_bootable) == ("available", 1, "one", True)
    assert volume.name.startswith("s-vol-")
    assert volume.metadata["a"] == "1"

    changed = "size: 2, image: cirros, metadata: {b: 2}, name: named, read_only: true, volume_type: loopback"
    shown = run("update", "s", template=VOLUME % {"properties": changed})
    assert "isotherm" not in shown
    found = storage.get_volume(volume.id)
    assert (found.size, found.name, found.description or "", found.volume_type) == (2, "named", "", "loopback")
    assert ({**found.metadata, "isotherm": ""}) == {"b": "2", "readonly": "True", "isotherm": ""}
    assert "1 in sync" in run("observe", "s")

    storage.set_volume_metadata(found.id, b="3")
    storage.update_volume(found.id, name="other")
    seen = run("observe", "s")
    assert "metadata" in seen
    assert "name" in seen
    run("converge", "s")
    found = storage.get_volume(volume.id)
    assert (found.name, found.metadata["b"]) == ("named", "2")

    assert "Shrinking volume is not supported" in run(
        "update", "s", template=VOLUME % {"properties": changed.replace("size: 2", "size: 1")}, code=5)
    run("update", "s", template=VOLUME % {"properties": changed.replace(", image: cirros", "")})
    [replaced] = storage.volumes()
    assert replaced.id != volume.id
    run("delete", "s", "--yes")
    assert list(storage.volumes()) == []


COPIES = """
heat_template_version: 2021-04-16
resources:
  vol: {type: OS::Cinder::Volume, properties: {size: 1, metadata: {a: source}}, deletion_policy: Snapshot}
  copy: {type: OS::Cinder::Volume, properties: {source_volid: {get_resource: vol}}}
"""


def test_a_deleted_volume_is_backed_up_and_restored(run: Any, cloud_project: CloudProject) -> None:
    storage = cloud_project.sdk.block_storage
    run("deploy", "s", template=COPIES)
    assert sorted(one.size for one in storage.volumes()) == [1, 1]
    run("delete", "s", "--yes")
    assert list(storage.volumes()) == []
    [backup] = storage.backups()
    assert backup.status == "available"

    properties = f"backup_id: {backup.id}, metadata: {{b: mine}}"
    run("deploy", "t", template=VOLUME % {"properties": properties})
    [volume] = storage.volumes()
    assert (volume.status, volume.size) == ("available", 1)
    assert volume.name.startswith("t-vol-")
    assert volume.metadata.keys() - {"isotherm"} == {"b"}
    assert "1 in sync" in run("observe", "t")
    run("delete", "t", "--yes")
    storage.delete_backup(backup.id)
    storage.wait_for_delete(backup)


ATTACHED = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Cinder::Volume, properties: {size: %(size)s, read_only: %(read_only)s}}
  two: {type: OS::Cinder::Volume, properties: {size: 1}}
  att: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: %(server)s, volume_id: {get_resource: %(volume)s}}}
"""


def test_an_attachment_is_made_moved_and_repaired(run: Any, cloud_project: CloudProject) -> None:
    sdk = cloud_project.sdk
    image: Any = sdk.image.find_image("cirros")
    flavor: Any = sdk.compute.find_flavor("m1.nano")
    servers = [sdk.compute.create_server(name=name, image_id=image.id, flavor_id=flavor.id, networks="none")
               for name in ("first", "second")]
    first, second = (sdk.compute.wait_for_server(one) for one in servers)

    def attached() -> dict[str, list[str]]:
        return {one.name: [server["server_id"] for server in sdk.block_storage.get_volume(one.id).attachments]
                for one in sdk.block_storage.volumes()}

    def at(server: Any, volume: str, size: int = 1, read_only: str = "false") -> str:
        return ATTACHED % {"server": server.id, "volume": volume, "size": size, "read_only": read_only}

    run("deploy", "s", template=at(first, "one"))
    assert sorted(attached().values()) == [[], [first.id]]
    assert "3 in sync" in run("observe", "s")

    run("update", "s", template=at(first, "one", size=2, read_only="true"))
    assert sorted(attached().values()) == [[], [first.id]]
    assert sorted(one.size for one in sdk.block_storage.volumes()) == [1, 2]

    run("update", "s", template=at(second, "two", size=2, read_only="true"))
    [(name, found)] = [(name, found) for name, found in attached().items() if found]
    assert name.startswith("s-two-")
    assert found == [second.id]

    [volume] = [one for one in sdk.block_storage.volumes() if one.name.startswith("s-two-")]
    sdk.compute.delete_volume_attachment(second.id, volume.id)
    sdk.block_storage.wait_for_status(volume, "available")
    assert "att" in run("observe", "s")
    run("converge", "s")
    assert sorted(attached().values()) == [[], [second.id]]

    run("delete", "s", "--yes")
    assert attached() == {}
    for server in (first, second):
        sdk.compute.delete_server(server)
        sdk.compute.wait_for_delete(server)
