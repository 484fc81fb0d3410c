"""The types of AWS::EC2 on a real cloud: created, changed in place, repaired, replaced, deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests import patience
from tests.clouds import CloudProject

WITHIN_S = 120.0
Run = Callable[..., str]
NET, SUB, PORT = {"Ref": "net"}, {"Ref": "sub"}, {"Ref": "port"}

RESOURCES: dict[str, Any] = {
    "net": {"Type": "OS::Neutron::Net"},
    "sub": {"Type": "OS::Neutron::Subnet", "Properties": {"network": NET, "cidr": "10.9.0.0/24"}},
    "router": {"Type": "OS::Neutron::Router", "Properties": {"external_gateway_info": {"network": "public"}}},
    "inside": {"Type": "OS::Neutron::RouterInterface", "Properties": {"router": {"Ref": "router"}, "subnet": SUB}},
}
INGRESS = [{"IpProtocol": "tcp", "FromPort": "22", "ToPort": "22", "CidrIp": "10.0.0.0/8"},
           {"IpProtocol": "icmp", "FromPort": "-1", "ToPort": "-1"}]


def template(outputs: dict[str, Any] | None = None, **resources: Any) -> str:
    return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources,
                       "Outputs": {name: {"Value": value} for name, value in (outputs or {}).items()}})


def outputs(run: Run) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in json.loads(run("outputs", "s", "--json"))}


def one(type_: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::EC2::{type_}", "Properties": properties}


def rules_of(project: CloudProject, group: Any) -> set[Any]:
    return {(rule.direction, rule.protocol, rule.port_range_min, rule.remote_ip_prefix, rule.remote_group_id)
            for rule in project.sdk.network.security_group_rules(security_group_id=group.id)}


def test_a_group_changes_its_rules_in_place(run: Run, cloud_project: CloudProject) -> None:
    network = cloud_project.sdk.network

    def groups() -> list[Any]:
        return [found for found in network.security_groups(project_id=cloud_project.id) if found.name != "default"]

    run("deploy", "s", template=template(
        {"id": {"Ref": "group"}}, group=one("SecurityGroup", GroupDescription="first", SecurityGroupIngress=INGRESS)))
    [group] = groups()
    assert outputs(run)["id"] == group.id
    assert (group.description, group.name.startswith("s-group-")) == ("first", True)
    all_out = {("egress", None, None, None, None)}
    assert rules_of(cloud_project, group) == all_out | {
        ("ingress", "tcp", 22, "10.0.0.0/8", None), ("ingress", "icmp", None, None, None)}
    assert "1 in sync" in run("observe", "s")

    second = {"SecurityGroupIngress": [{"IpProtocol": "-1", "SourceSecurityGroupName": "default"}],
              "SecurityGroupEgress": [{"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "CidrIp": "0.0.0.0/0"}]}
    run("update", "s", template=template(group=one("SecurityGroup", GroupDescription="first", **second)))
    [changed] = groups()
    default = network.find_security_group("default", ignore_missing=False, project_id=cloud_project.id)
    wanted = {("ingress", None, None, None, default.id), ("egress", "udp", 53, "0.0.0.0/0", None)}
    assert (changed.id, rules_of(cloud_project, group)) == (group.id, wanted)

    [out] = network.security_group_rules(security_group_id=group.id, direction="egress")
    network.delete_security_group_rule(out)
    assert "SecurityGroupEgress" in run("observe", "s")
    run("converge", "s")
    assert rules_of(cloud_project, group) == wanted
    run("update", "s", template=template(group=one("SecurityGroup", GroupDescription="second", **second)))
    [replaced] = groups()
    assert (replaced.id != group.id, replaced.description) == (True, "second")
    run("delete", "s", "--yes")
    assert groups() == []


def test_an_instance_and_its_addresses(run: Run, cloud_project: CloudProject) -> None:
    """Flavor, tags and interfaces change in place; volumes are attached; addresses follow from server to server."""
    sdk = cloud_project.sdk
    volume = {"Type": "OS::Cinder::Volume", "Properties": {"size": 1}}
    first = one("Instance", ImageId="cirros", InstanceType="m1.nano", SubnetId=SUB, SecurityGroups=[{"Ref": "group"}],
                Tags=[{"Key": "a", "Value": "1"}], Volumes=[{"VolumeId": {"Ref": "disk"}, "Device": "/dev/vdb"}])
    group = one("SecurityGroup", GroupDescription="g", SecurityGroupIngress=INGRESS)
    base = {**RESOURCES, "group": group, "disk": volume}
    addresses = {"eip": one("EIP", InstanceId={"Ref": "server"}), "loose": one("EIP")}
    read = {"ip": {"Fn::GetAtt": ["server", "PrivateIp"]}, "zone": {"Fn::GetAtt": ["server", "AvailabilityZone"]},
            "eip": {"Ref": "eip"}, "allocation": {"Fn::GetAtt": ["eip", "AllocationId"]}}
    run("deploy", "s", template=template(read, **base, server=first, **addresses))
    [server] = sdk.compute.servers()
    [port] = sdk.network.ports(device_id=server.id)
    shown = outputs(run)
    assert (server.status, server.metadata) == ("ACTIVE", {"a": "1"})
    assert (len(server.name) <= 53, server.name.startswith("s-server-")) == (True, True)
    assert shown["ip"] == port.fixed_ips[0]["ip_address"]
    assert shown["zone"] == server.availability_zone
    [disk] = sdk.block_storage.volumes()
    assert [found["server_id"] for found in disk.attachments] == [server.id]
    assert sdk.network.get_ip(shown["allocation"]).port_id == port.id
    assert sdk.network.get_ip(shown["allocation"]).floating_ip_address == shown["eip"]
    assert "9 in sync" in run("observe", "s")

    second = {**first, "Properties": {**first["Properties"], "InstanceType": "m1.tiny",
                                      "Tags": [{"Key": "b", "Value": "2"}]}}
    link = one("EIPAssociation", AllocationId={"Fn::GetAtt": ["loose", "AllocationId"]}, InstanceId={"Ref": "server"})
    run("update", "s", template=template(
        read, **base, server=second, eip=one("EIP"), loose=addresses["loose"], link=link))
    changed = sdk.compute.get_server(server.id)
    assert (changed.status, changed.metadata, changed.flavor.original_name) == ("ACTIVE", {"b": "2"}, "m1.tiny")
    by_id = {found.id: found for found in sdk.network.ips(project_id=cloud_project.id)}
    assert by_id[shown["allocation"]].port_id is None
    [loose] = [found for found in by_id.values() if found.id != shown["allocation"]]
    assert loose.port_id == port.id
    assert "10 in sync" in run("observe", "s")

    sdk.compute.set_server_metadata(server.id, b="drifted")
    sdk.network.update_ip(loose.id, port_id=None)
    seen = run("observe", "s")
    assert "Tags" in seen
    assert "gone" in seen
    run("converge", "s")
    assert sdk.compute.get_server(server.id).metadata == {"b": "2"}
    assert sdk.network.get_ip(loose.id).port_id == port.id

    # Other interfaces in place; without its volume it is another server.
    third = one("Instance", ImageId="cirros", InstanceType="m1.tiny", NetworkInterfaces=[PORT],
                Volumes=[{"VolumeId": {"Ref": "disk"}, "Device": "/dev/vdb"}])
    extra = {"port": {"Type": "OS::Neutron::Port", "Properties": {"network": NET}}}
    by_address = one("EIPAssociation", EIP={"Ref": "loose"}, InstanceId={"Ref": "server"})
    run("update", "s", template=template(**base, **extra, server=third, loose=addresses["loose"], link=by_address))
    [now] = sdk.compute.servers()
    assert now.id != server.id, "security groups cannot change in place"
    [own] = sdk.network.ports(device_id=now.id)
    assert sdk.network.get_ip(loose.id).port_id == own.id
    fourth = {**third, "Properties": {**third["Properties"], "NetworkInterfaces": [
        {"NetworkInterfaceId": {"Ref": "port"}, "DeviceIndex": "0"}, {"NetworkInterfaceId": {"Ref": "next"},
                                                                     "DeviceIndex": "1"}]}}
    run("update", "s", template=template(
        **base, **extra, next=extra["port"], server=fourth, loose=addresses["loose"], link=by_address))
    assert [found.id for found in sdk.compute.servers()] == [now.id]
    patience.until(lambda: len(list(sdk.network.ports(device_id=now.id))) == 2, WITHIN_S)
    run("suspend", "s")
    assert sdk.compute.get_server(now.id).status == "SUSPENDED"
    run("resume", "s")
    assert sdk.compute.get_server(now.id).status == "ACTIVE"
    run("delete", "s", "--yes")
    assert list(sdk.compute.servers()) == []
