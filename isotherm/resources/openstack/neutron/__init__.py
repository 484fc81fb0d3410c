"""The types of Neutron: networks, subnets, ports, trunks, routers and their routes, floating ips and security groups."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "OS::Neutron::ExtraRouteSet": "isotherm.resources.openstack.neutron.extra_route_set:ExtraRouteSet",
    "OS::Neutron::FloatingIP": "isotherm.resources.openstack.neutron.floating_ips.floating_ip:FloatingIP",
    "OS::Neutron::FloatingIPAssociation":
        "isotherm.resources.openstack.neutron.floating_ips.floating_ip_association:FloatingIPAssociation",
    "OS::Neutron::Net": "isotherm.resources.openstack.neutron.net:Net",
    "OS::Neutron::Port": "isotherm.resources.openstack.neutron.port:Port",
    "OS::Neutron::ProviderNet": "isotherm.resources.openstack.neutron.provider_net:ProviderNet",
    "OS::Neutron::Router": "isotherm.resources.openstack.neutron.router:Router",
    "OS::Neutron::RouterGateway": "isotherm.resources.openstack.neutron.router_gateway:RouterGateway",
    "OS::Neutron::RouterInterface": "isotherm.resources.openstack.neutron.router_interface:RouterInterface",
    "OS::Neutron::SecurityGroup": "isotherm.resources.openstack.neutron.security_group:SecurityGroup",
    "OS::Neutron::SecurityGroupRule": "isotherm.resources.openstack.neutron.security_group_rule:SecurityGroupRule",
    "OS::Neutron::Subnet": "isotherm.resources.openstack.neutron.subnet:Subnet",
    "OS::Neutron::Trunk": "isotherm.resources.openstack.neutron.trunk:Trunk",
    "OS::Nova::FloatingIP": "isotherm.resources.openstack.neutron.floating_ips.nova_floating_ip:NovaFloatingIP",
    "OS::Nova::FloatingIPAssociation":
        "isotherm.resources.openstack.neutron.floating_ips.nova_floating_ip:NovaFloatingIPAssociation",
}
