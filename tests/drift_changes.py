"""Changes behind the engine's back on a real cloud: for each type, every property that can be read is given another value.

The requests are sent with openstacksdk's session. They are written as the services name things, so that nothing of the
tables that they test is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

#: One object of each type that can be observed, with a value for every property that can be read.
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  policy: {type: string}
resources:
  net:
    type: OS::Neutron::Net
    properties:
      name: net
      admin_state_up: true
      port_security_enabled: true
      qos_policy: {get_param: policy}
      dns_domain: one.example.
      tags: [a]
      value_specs: {description: a}
  sub:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      name: sub
      cidr: 10.9.0.0/24
      dns_nameservers: [9.9.9.9]
      enable_dhcp: true
      allocation_pools: [{start: 10.9.0.10, end: 10.9.0.200}]
      host_routes: [{destination: 10.7.0.0/24, nexthop: 10.9.0.2}]
      tags: [a]
      value_specs: {description: a}
  side:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      cidr: 10.8.0.0/24
      gateway_ip: 10.8.0.1
      allocation_pools: [{start: 10.8.0.10, end: 10.8.0.90}]
  group:
    type: OS::Neutron::SecurityGroup
    properties: {name: group, description: a, rules: [{protocol: icmp}]}
  rule: {type: OS::Neutron::SecurityGroupRule, properties: {security_group: {get_resource: single}, protocol: tcp}}
  single: {type: OS::Neutron::SecurityGroup, properties: {name: single}}
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      name: port
      admin_state_up: true
      fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.9.0.50}]
      security_groups: [{get_resource: group}]
      allowed_address_pairs: [{ip_address: 10.9.0.60}]
      binding:vnic_type: normal
      port_security_enabled: true
      qos_policy: {get_param: policy}
      dns_name: port
      tags: [a]
      value_specs: {description: a}
  router:
    type: OS::Neutron::Router
    properties:
      name: router
      admin_state_up: true
      external_gateway_info: {network: public}
      tags: [a]
      value_specs: {description: a}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port}, fixed_ip_address: 10.9.0.50}
    depends_on: inside
  loose: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, value_specs: {description: a}}}
  second:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.9.0.51}]}
  link:
    type: OS::Neutron::FloatingIPAssociation
    properties: {floatingip_id: {get_resource: loose}, port_id: {get_resource: second}, fixed_ip_address: 10.9.0.51}
    depends_on: inside
  open_router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  other_router: {type: OS::Neutron::Router, properties: {name: other}}
  gateway: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: other_router}, network: public}}
  server:
    type: OS::Nova::Server
    properties:
      name: server
      image: cirros
      flavor: m1.nano
      networks: [{network: {get_resource: net}}]
      metadata: {a: '1'}
      tags: [a]
    depends_on: [sub, side]
  volume:
    type: OS::Cinder::Volume
    properties: {name: volume, size: 1, description: a, metadata: {a: '1'}, read_only: false, volume_type: loopback}
  disk:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: server}, volume_id: {get_resource: attached}}
  attached: {type: OS::Cinder::Volume, properties: {size: 1}}
  balancer:
    type: OS::Octavia::LoadBalancer
    properties: {vip_subnet: {get_resource: sub}, name: balancer, description: a, admin_state_up: true}
  listener:
    type: OS::Octavia::Listener
    properties:
      loadbalancer: {get_resource: balancer}
      protocol: HTTP
      protocol_port: 80
      name: listener
      description: a
      admin_state_up: true
      connection_limit: 10
      allowed_cidrs: [10.0.0.0/8]
  pool:
    type: OS::Octavia::Pool
    properties:
      listener: {get_resource: listener}
      protocol: HTTP
      name: pool
      description: a
      admin_state_up: true
      lb_algorithm: ROUND_ROBIN
      session_persistence: {type: HTTP_COOKIE}
      tls_enabled: false
  member:
    type: OS::Octavia::PoolMember
    properties:
      {pool: {get_resource: pool}, address: 10.9.0.9, protocol_port: 80, weight: 1, admin_state_up: true, tags: [a]}
  monitor:
    type: OS::Octavia::HealthMonitor
    properties:
      pool: {get_resource: pool}
      type: HTTP
      delay: 5
      timeout: 3
      max_retries: 2
      url_path: /a
      expected_codes: '200'
      http_method: GET
      admin_state_up: true
"""
RESOURCES: dict[str, Any] = yaml.safe_load(TEMPLATE)["resources"]


class Change(NamedTuple):
    """A request that changes properties of an object behind the engine's back.

    In path and body, `{NAME}` is the id of the resource of that name, or of an object that the test has made.
    """

    resource: str
    method: str
    path: str
    body: Mapping[str, Any]
    # The properties that change, as the template names them.
    properties: str
    #: The path at which, the keys below which, and the value with which the change is complete.
    complete: tuple[str, tuple[str, ...], str] | None = None

    @property
    def service(self) -> str:
        return _SERVICES[self.path.split("/")[1]]


_SERVICES = {"v2.0": "network", "servers": "compute", "volumes": "block-storage", "v2": "load-balancer"}
_BALANCER = ("/v2/lbaas/loadbalancers/{balancer}", ("loadbalancer", "provisioning_status"), "ACTIVE")
_SERVER, _VOLUME = ("server", "status"), ("volume", "status")


def _put(resource: str, path: str, kind: str, properties: str, **values: Any) -> Change:
    return Change(resource, "PUT", f"/v2.0/{path}/{{{resource}}}", {kind: values}, properties)


def _balanced(resource: str, path: str, kind: str, **values: Any) -> Change:
    return Change(resource, "PUT", f"/v2/lbaas/{path}", {kind: values}, " ".join(values), _BALANCER)


def _tagged(resource: str, path: str) -> Change:
    return Change(resource, "PUT", f"/v2.0/{path}/{{{resource}}}/tags", {"tags": ["x"]}, "tags")


def _on_server(body: Mapping[str, Any], properties: str = "", complete: str = "ACTIVE") -> Change:
    return Change("server", "POST", "/servers/{server}/action", body, properties, ("/servers/{server}", _SERVER, complete))


CHANGES: tuple[Change, ...] = (
    _put("net", "networks", "network", "name admin_state_up port_security_enabled dns_domain value_specs qos_policy",
         name="x", admin_state_up=False, port_security_enabled=False, dns_domain="two.example.", description="x",
         qos_policy_id=None),
    _tagged("net", "networks"),
    _put("sub", "subnets", "subnet",
         "name dns_nameservers enable_dhcp allocation_pools host_routes value_specs",
         name="x", dns_nameservers=["8.8.8.8"], enable_dhcp=False, host_routes=[], description="x",
         allocation_pools=[{"start": "10.9.0.5", "end": "10.9.0.210"}]),
    _tagged("sub", "subnets"),
    # A router has the gateway address of the other subnet, so that Neutron refuses to change it.
    _put("side", "subnets", "subnet", "gateway_ip", gateway_ip="10.8.0.3"),
    _put("group", "security-groups", "security_group", "name description", name="x", description="x"),
    Change("group", "POST", "/v2.0/security-group-rules", {"security_group_rule": {
        "security_group_id": "{group}", "direction": "ingress", "protocol": "udp"}}, "rules"),
    _put("port", "ports", "port",
         "name admin_state_up fixed_ips dns_name binding:vnic_type value_specs qos_policy security_groups "
         "allowed_address_pairs port_security_enabled", **{
             "name": "x", "admin_state_up": False, "fixed_ips": [{"ip_address": "10.9.0.50"}, {"ip_address": "10.9.0.53"}],
             "dns_name": "other", "binding:vnic_type": "macvtap", "description": "x", "qos_policy_id": None,
             "security_groups": [], "allowed_address_pairs": [], "port_security_enabled": False}),
    _tagged("port", "ports"),
    _put("router", "routers", "router", "name admin_state_up value_specs", name="x", admin_state_up=False, description="x"),
    _put("open_router", "routers", "router", "external_gateway_info", external_gateway_info={}),
    _tagged("router", "routers"),
    _put("address", "floatingips", "floatingip", "port_id fixed_ip_address", port_id="{third}"),
    # A floating ip takes its description at creation only: a repair would give it another address.
    _put("loose", "floatingips", "floatingip", "", description="x"),
    _put("link", "floatingips", "floatingip", "port_id fixed_ip_address", port_id="{fourth}")._replace(
        path="/v2.0/floatingips/{loose}"),
    Change("server", "PUT", "/servers/{server}", {"server": {"name": "x"}}, "name"),
    Change("server", "PUT", "/servers/{server}/metadata", {"metadata": {"b": "2"}}, "metadata"),
    Change("server", "PUT", "/servers/{server}/tags", {"tags": ["x"]}, "tags"),
    Change("server", "POST", "/servers/{server}/os-interface", {"interfaceAttachment": {"net_id": "{net}"}}, "networks"),
    _on_server({"rebuild": {"imageRef": "{image}"}}, "image"),
    _on_server({"resize": {"flavorRef": "{flavor}"}}, "flavor", "VERIFY_RESIZE"),
    _on_server({"confirmResize": None}),
    Change("volume", "PUT", "/volumes/{volume}", {"volume": {"name": "x", "description": "x"}}, "name description"),
    Change("volume", "PUT", "/volumes/{volume}/metadata", {"metadata": {"b": "2"}}, "metadata"),
    Change("volume", "POST", "/volumes/{volume}/action", {"os-update_readonly_flag": {"readonly": True}}, "read_only"),
    Change("volume", "POST", "/volumes/{volume}/action", {"os-retype": {
        "new_type": "{type}", "migration_policy": "never"}}, "volume_type", ("/volumes/{volume}", _VOLUME, "available")),
    _balanced("balancer", "loadbalancers/{balancer}", "loadbalancer", name="x", description="x", admin_state_up=False),
    _balanced("listener", "listeners/{listener}", "listener", name="x", description="x", admin_state_up=False,
              connection_limit=20, allowed_cidrs=["10.1.0.0/16"]),
    _balanced("pool", "pools/{pool}", "pool", name="x", description="x", admin_state_up=False, lb_algorithm="SOURCE_IP",
              session_persistence={"type": "SOURCE_IP"}),
    _balanced("member", "pools/{pool}/members/{member}", "member", weight=9, admin_state_up=False, tags=["x"]),
    _balanced("monitor", "healthmonitors/{monitor}", "healthmonitor", delay=9, timeout=8, max_retries=9, url_path="/x",
              expected_codes="204", http_method="HEAD", admin_state_up=False),
)
#: Properties that are read and not changed here, by type and name, each with its reason.
UNCHANGED = {
    "availability_zone_hints": "Neutron takes it at creation only",
    "no_fixed_ips": "is shown as what `fixed_ips` means",
    "device_id": "is the service's to change", "device_owner": "is the service's to change",
    "segment": "the cloud's networks have one segment, and a subnet that is in it stays there",
    "stateful": "Neutron refuses to change it while a port has the group",
    "dhcp_agent_ids": "an administrator's", "l3_agent_id": "an administrator's", "l3_agent_ids": "an administrator's",
    "shared": "an administrator's",
    "propagate_uplink_status": "Neutron takes it at creation only",
    "size": "Cinder only extends a volume, so that a larger one cannot be made smaller again",
    "instance_uuid": "an attachment of another server is another object", "volume_id": "as instance_uuid",
    "floatingip_id": "an association of another floating ip is another object",
    "default_tls_container_ref": "needs a secret store", "sni_container_refs": "needs a secret store",
    "tls_enabled": "needs a secret store",
    "default_pool": "the template of the test gives none: the pool names the listener",
    "dns_name": "of a floating ip: needs a DNS service", "dns_domain": "of a floating ip: needs a DNS service",
}
