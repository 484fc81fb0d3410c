"""Stacks with one object of each type of a cloud, and the numbers of such objects in a project."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import yaml

from isotherm.resources import builtin
from isotherm.resources.openstack.table_object import TableObject
from tests.clouds import CloudProject

NETWORK = """
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  group: {type: OS::Neutron::SecurityGroup, properties: {description: ping, rules: [{protocol: icmp}]}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}, security_groups: [{get_resource: group}]}}
"""
ROUTED = """
  rule: {type: OS::Neutron::SecurityGroupRule, properties: {security_group: {get_resource: group}, protocol: tcp}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port}}
    depends_on: inside
"""
SERVER = """
  server:
    type: OS::Nova::Server
    properties: {image: cirros, flavor: m1.nano, networks: [{port: {get_resource: port}}]}
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
  disk:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: server}, volume_id: {get_resource: volume}}
"""
BALANCED = """
  balancer: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: sub}}}
  listener:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, protocol_port: 80}
  pool:
    type: OS::Octavia::Pool
    properties: {listener: {get_resource: listener}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}
  member:
    type: OS::Octavia::PoolMember
    properties: {pool: {get_resource: pool}, address: 10.9.0.9, protocol_port: 80}
  monitor:
    type: OS::Octavia::HealthMonitor
    properties: {pool: {get_resource: pool}, type: HTTP, delay: 5, timeout: 3, max_retries: 2}
"""
SMALL = """
  net: {type: OS::Neutron::Net}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  trunk: {type: OS::Neutron::Trunk, properties: {port: {get_resource: port}, description: a}}
  key: {type: OS::Nova::KeyPair, properties: {name: key, save_private_key: true}}
  group: {type: OS::Nova::ServerGroup, properties: {name: group}}
"""
ADMIN = """
  size: {type: OS::Nova::Flavor, properties: {ram: 64, vcpus: 1, extra_specs: {a: b}}}
  kind:
    type: OS::Cinder::VolumeType
    properties: {name: {get_param: OS::stack_name}, description: fast, metadata: {a: b}}
  provided: {type: OS::Neutron::ProviderNet, properties: {network_type: geneve, shared: false}}
"""
SWIFT = """
  box: {type: OS::Swift::Container, properties: {X-Container-Meta: {colour: red}}}
"""
EC2 = """
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  group:
    type: AWS::EC2::SecurityGroup
    properties: {GroupDescription: a group, SecurityGroupIngress: [{IpProtocol: icmp}]}
  instance:
    type: AWS::EC2::Instance
    properties: {ImageId: cirros, InstanceType: m1.nano, NetworkInterfaces: [{get_resource: port}]}
  address: {type: AWS::EC2::EIP, properties: {InstanceId: {get_resource: instance}}}
"""
#: What the objects of a type are, where another type has the same.
SAME_AS = {"AWS::EC2::EIP": "OS::Neutron::FloatingIP", "AWS::EC2::Instance": "OS::Nova::Server",
           "AWS::EC2::SecurityGroup": "OS::Neutron::SecurityGroup"}
#: The stacks by their names; each has at most one object of a type.
STACKS = {name: yaml.safe_load(text) for name, text in {
    "network": NETWORK, "all": NETWORK + ROUTED + SERVER + BALANCED, "small": SMALL, "admin": ADMIN,
    "swift": SWIFT, "ec2": EC2}.items()}
#: The services that the stacks use, by their types in catalogues.
SERVICES = ("network", "compute", "block-storage", "load-balancer", "object-store")


def template(stack: str, **changes: dict[str, Any]) -> str:
    """Return the template of a stack. `changes` are properties by the names of the resources that get them."""
    resources = copy.deepcopy(STACKS[stack])
    for name, properties in changes.items():
        resources[name].setdefault("properties", {}).update(properties)
    return yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": resources})


def renamed(stack: str) -> str:
    """Return the template with another name for each object that can get one in place."""
    types = builtin.registry().types
    can = [name for name, one in STACKS[stack].items()
           if (schema := types[one["type"]].properties_schema.get("name")) and schema.update_allowed]
    names = {name: {"list_join": ["-", [{"get_param": "OS::stack_name"}, "renamed", name]]} for name in can}
    return template(stack, **{name: {"name": one} for name, one in names.items()})


def table_types() -> set[str]:
    """Return the names of all types that are described by a table."""
    return {name for name, one in builtin.registry().types.items() if issubclass(one, TableObject)}


def used_types(stack: str) -> list[str]:
    return [one["type"] for one in STACKS[stack].values()]


def wanted_objects(stack: str) -> dict[str, int]:
    """Return the numbers of objects that a stack has, by their types."""
    return Counter(SAME_AS.get(one, one) for one in used_types(stack))


def objects(project: CloudProject) -> dict[str, int]:
    """Return the numbers of objects in the project, by their types. Types without an object are left out."""
    network, own, storage = project.sdk.network, {"project_id": project.id}, project.sdk.block_storage
    groups = [one for one in network.security_groups(**own) if one.name != "default"]
    ports = list(network.ports(**own))
    balancer = project.sdk.load_balancer
    networks = list(network.networks(**own))
    provided = [one for one in networks if "provided" in one.name]
    found: dict[str, Any] = {
        "OS::Neutron::Net": [one for one in networks if one not in provided],
        "OS::Neutron::ProviderNet": provided,
        "OS::Neutron::Subnet": network.subnets(**own),
        "OS::Neutron::Port": [one for one in ports if one.device_owner in ("", "compute:nova")],
        "OS::Neutron::SecurityGroup": groups,
        "OS::Neutron::SecurityGroupRule": [
            rule for group in groups for rule in network.security_group_rules(security_group_id=group.id, protocol="tcp")],
        "OS::Neutron::Router": network.routers(**own),
        "OS::Neutron::RouterInterface": [one for one in ports if one.device_owner.startswith("network:router_interface")],
        "OS::Neutron::FloatingIP": network.ips(**own),
        "OS::Neutron::Trunk": network.trunks(**own),
        "OS::Nova::KeyPair": project.sdk.compute.keypairs(),
        "OS::Nova::ServerGroup": project.sdk.compute.server_groups(),
        # Flavors and volume types belong to no project: those of a test have its name.
        "OS::Nova::Flavor": [one for one in project.sdk.compute.flavors() if one.name.startswith(project.name)],
        "OS::Cinder::VolumeType": [one for one in storage.types() if one.name.startswith(project.name)],
        "OS::Nova::Server": project.sdk.compute.servers(),
        "OS::Cinder::Volume": (volumes := list(storage.volumes())),
        "OS::Cinder::VolumeAttachment": [one for volume in volumes for one in volume.attachments],
        "OS::Swift::Container": project.sdk.object_store.containers(),
        "OS::Octavia::LoadBalancer": balancer.load_balancers(**own),
        "OS::Octavia::Listener": balancer.listeners(**own),
        "OS::Octavia::Pool": (pools := list(balancer.pools(**own))),
        "OS::Octavia::PoolMember": [member for pool in pools for member in balancer.members(pool)],
        "OS::Octavia::HealthMonitor": balancer.health_monitors(**own),
    }
    return {name: count for name, many in found.items() if (count := len(list(many)))}
