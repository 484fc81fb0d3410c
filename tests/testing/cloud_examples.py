"""Examples of types of a cloud, on the small cloud of `tests.testing.cloud`. tests/openstack runs all types on a real one.

A search that finds nothing waits until no request can be under way any more: 75 seconds on a real cloud. This cloud carries
out nothing after its answer, so that the types here wait for a moment only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isotherm.resources import builtin, openstack
from isotherm.resources.aws import ec2
from isotherm.resources.openstack.cinder.volume import Volume
from isotherm.resources.openstack.cinder.volume_type import VolumeType
from isotherm.resources.openstack.neutron.floating_ips.floating_ip import FloatingIP
from isotherm.resources.openstack.neutron.net import Net
from isotherm.resources.openstack.neutron.port import Port
from isotherm.resources.openstack.neutron.provider_net import ProviderNet
from isotherm.resources.openstack.neutron.router import Router
from isotherm.resources.openstack.neutron.security_group import SecurityGroup
from isotherm.resources.openstack.neutron.security_group_rule import SecurityGroupRule
from isotherm.resources.openstack.neutron.subnet import Subnet
from isotherm.resources.openstack.neutron.trunk import Trunk
from isotherm.resources.openstack.nova.flavor import Flavor
from isotherm.resources.openstack.nova.key_pair import KeyPair
from isotherm.resources.openstack.nova.server_group import ServerGroup
from isotherm.resources.openstack.octavia.health_monitor import HealthMonitor
from isotherm.resources.openstack.octavia.listener import Listener
from isotherm.resources.openstack.octavia.load_balancer import LoadBalancer
from isotherm.resources.openstack.octavia.pool import Pool
from isotherm.resources.openstack.octavia.pool_member import PoolMember
from isotherm.testing import Example
from tests.testing.cloud import ENTRY, Cloud

CLOUD = Cloud()
_MOMENT_S = 0.2
#: The types of the registry whose objects are in a cloud.
NEED_A_CLOUD = {name for name, one in builtin.registry().types.items()
                if one.__module__.startswith((openstack.__name__, ec2.__name__))}
_REPEATED = "is a PUT of another object, which may be repeated"
_NO_SERVERS = "needs a server, and the small cloud boots none"
_NO_SWIFT = "the small cloud has no Swift, whose objects are no documents"
#: Those without an example, each with the reason.
LEFT_OUT = {
    "AWS::EC2::EIP": "makes the requests of OS::Neutron::FloatingIP",
    "OS::Nova::FloatingIP": "makes the requests of OS::Neutron::FloatingIP",
    "AWS::EC2::SecurityGroup": "makes the requests of OS::Neutron::SecurityGroup",
    "AWS::EC2::EIPAssociation": _REPEATED,
    "OS::Neutron::ExtraRouteSet": _REPEATED,
    "OS::Neutron::FloatingIPAssociation": _REPEATED,
    "OS::Neutron::RouterGateway": _REPEATED,
    "OS::Neutron::RouterInterface": _REPEATED,
    "OS::Nova::FloatingIPAssociation": _REPEATED,
    "AWS::EC2::Instance": _NO_SERVERS,
    "OS::Cinder::VolumeAttachment": _NO_SERVERS,
    "OS::Nova::Server": _NO_SERVERS,
    "OS::Heat::SwiftSignal": _NO_SWIFT,
    "OS::Heat::SwiftSignalHandle": _NO_SWIFT,
    "OS::Swift::Container": _NO_SWIFT,
}


class QuickNet(Net):
    flight_s = _MOMENT_S


class QuickSubnet(Subnet):
    flight_s = _MOMENT_S


class QuickRouter(Router):
    flight_s = _MOMENT_S


class QuickServerGroup(ServerGroup):
    flight_s = _MOMENT_S


class QuickVolume(Volume):
    flight_s = _MOMENT_S


class QuickVolumeType(VolumeType):
    flight_s = _MOMENT_S


class QuickProviderNet(ProviderNet):
    flight_s = _MOMENT_S


class QuickPort(Port):
    flight_s = _MOMENT_S


class QuickTrunk(Trunk):
    flight_s = _MOMENT_S


class QuickFloatingIP(FloatingIP):
    flight_s = _MOMENT_S


class QuickSecurityGroup(SecurityGroup):
    flight_s = _MOMENT_S


class QuickLoadBalancer(LoadBalancer):
    flight_s = _MOMENT_S


class QuickPool(Pool):
    flight_s = _MOMENT_S


def _example(
    type_: Any, collection: str, properties: dict[str, Any], drifted: dict[str, Any] | None = None, **more: Any
) -> Example:
    """Return the example of a type whose objects are in a collection. `drifted` are values that change by themselves."""
    def objects(folder: Path) -> list[str]:
        return [*CLOUD.objects.get(collection, ())]

    def change(folder: Path, physical_id: str) -> None:
        CLOUD.objects[collection][physical_id].update(drifted or {"name": "renamed"})

    def delete(folder: Path, physical_id: str) -> None:
        del CLOUD.objects[collection][physical_id]

    drift = change if more.get("in_place") is not None or drifted else None
    return Example(type_, properties, objects=objects, drift=drift, vanish=delete, cloud=ENTRY, **more)


_NET = {"net": {"type": Net.TYPE, "properties": {"name": "beside"}}}
_OF_NET = {"network": {"get_resource": "net"}}
_SUBNET = {**_OF_NET, "cidr": "10.0.0.0/24"}
_PORT = {**_NET, "port": {"type": Port.TYPE, "properties": _OF_NET}}
_GROUP = {"group": {"type": SecurityGroup.TYPE, "properties": {"name": "beside"}}}
_BALANCED = {**_NET, "subnet": {"type": Subnet.TYPE, "properties": _SUBNET}}
_BALANCER = {**_BALANCED, "balancer": {"type": LoadBalancer.TYPE, "properties": {"vip_subnet": {"get_resource": "subnet"}}}}
_OF_BALANCER = {"loadbalancer": {"get_resource": "balancer"}, "protocol": "HTTP"}
_POOL = {**_BALANCER, "pool": {"type": Pool.TYPE, "properties": {**_OF_BALANCER, "lb_algorithm": "ROUND_ROBIN"}}}
_OF_POOL = {"pool": {"get_resource": "pool"}}

_VOLUME = {"size": 1}
_FLAVOR = {"name": "a", "ram": 512, "vcpus": 1}
_FLOATING = {"floating_network": {"get_resource": "net"}, "dns_domain": "example.org."}
_RULE = {"security_group": {"get_resource": "group"}, "port_range_min": 80, "port_range_max": 80}
_MONITOR = {**_OF_POOL, "delay": 5, "timeout": 3, "max_retries": 2, "type": "TCP"}
_MEMBER = {**_OF_POOL, "address": "10.0.0.9", "protocol_port": 80}

EXAMPLES = [
    _example(QuickNet, "networks", {"name": "a"}, in_place={"name": "b", "tags": ["one", "two"]},
             replacing={"name": "a", "availability_zone_hints": ["north"]}),
    _example(QuickSubnet, "subnets", {**_SUBNET, "name": "a"}, in_place={**_SUBNET, "name": "b"},
             replacing={**_SUBNET, "name": "a", "cidr": "10.0.1.0/24"}, beside=_NET),
    _example(QuickRouter, "routers", {"name": "a"}, in_place={"name": "b", "admin_state_up": False}),
    _example(QuickServerGroup, "os-server-groups", {"name": "a"}, replacing={"name": "b", "policies": ["affinity"]}),
    _example(QuickVolume, "volumes", {**_VOLUME, "name": "a"},
             in_place={**_VOLUME, "name": "b", "metadata": {"key": "value"}},
             replacing={**_VOLUME, "name": "a", "availability_zone": "south"}),
    _example(QuickVolumeType, "types", {"name": "a"}, in_place={"name": "b", "description": "fast"}),
    _example(QuickProviderNet, "networks", {"name": "a", "network_type": "vxlan"},
             in_place={"name": "b", "network_type": "vxlan", "segmentation_id": "7"}),
    _example(QuickPort, "ports", {**_OF_NET, "name": "a"}, in_place={**_OF_NET, "name": "b", "tags": ["one"]}, beside=_NET),
    _example(QuickTrunk, "trunks", {"name": "a", "port": {"get_resource": "port"}},
             in_place={"name": "b", "port": {"get_resource": "port"}}, beside=_PORT),
    _example(QuickFloatingIP, "floatingips", _FLOATING, {"dns_domain": "other.org."}, beside=_NET,
             in_place={**_FLOATING, "dns_domain": "example.net."}),
    _example(QuickSecurityGroup, "security-groups", {"name": "a"}, in_place={"name": "b", "description": "web"}),
    _example(SecurityGroupRule, "security-group-rules", _RULE, beside=_GROUP,
             replacing={**_RULE, "port_range_min": 81, "port_range_max": 81}),
    _example(KeyPair, "os-keypairs", {"name": "a", "public_key": "ssh-ed25519 A"}, {"public_key": "ssh-ed25519 X"},
             replacing={"name": "a", "public_key": "ssh-ed25519 B"}),
    _example(Flavor, "flavors", _FLAVOR, replacing={**_FLAVOR, "vcpus": 2}),
    _example(QuickLoadBalancer, "loadbalancers", {"name": "a", "vip_subnet": {"get_resource": "subnet"}},
             in_place={"name": "b", "vip_subnet": {"get_resource": "subnet"}, "admin_state_up": False}, beside=_BALANCED),
    _example(Listener, "listeners", {**_OF_BALANCER, "protocol_port": 80, "name": "a"}, beside=_BALANCER,
             in_place={**_OF_BALANCER, "protocol_port": 80, "name": "b"},
             replacing={**_OF_BALANCER, "protocol_port": 81, "name": "a"}),
    _example(QuickPool, "pools", {**_OF_BALANCER, "lb_algorithm": "ROUND_ROBIN", "name": "a"}, beside=_BALANCER,
             in_place={**_OF_BALANCER, "lb_algorithm": "SOURCE_IP", "name": "b"}),
    _example(HealthMonitor, "healthmonitors", _MONITOR, {"delay": 50}, beside=_POOL, in_place={**_MONITOR, "delay": 6}),
    _example(PoolMember, "members", _MEMBER, {"weight": 50}, beside=_POOL, in_place={**_MEMBER, "weight": 2},
             replacing={**_MEMBER, "protocol_port": 81}),
]
# Each kind of service once: the other types have the same driver, and `make test-all` runs them all.
SHORT = [one for one in EXAMPLES if one.type in (QuickNet, QuickServerGroup)]
