"""The types of Neutron: networks, subnets, ports, trunks, routers and their routes, floating ips and security groups."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.openstack.neutron.extra_route_set import ExtraRouteSet
from isotherm.resources.openstack.neutron.floating_ips.floating_ip import FloatingIP
from isotherm.resources.openstack.neutron.floating_ips.floating_ip_association import FloatingIPAssociation
from isotherm.resources.openstack.neutron.floating_ips.nova_floating_ip import NovaFloatingIP, NovaFloatingIPAssociation
from isotherm.resources.openstack.neutron.net import Net
from isotherm.resources.openstack.neutron.port import Port
from isotherm.resources.openstack.neutron.provider_net import ProviderNet
from isotherm.resources.openstack.neutron.router import Router
from isotherm.resources.openstack.neutron.router_gateway import RouterGateway
from isotherm.resources.openstack.neutron.router_interface import RouterInterface
from isotherm.resources.openstack.neutron.security_group import SecurityGroup
from isotherm.resources.openstack.neutron.security_group_rule import SecurityGroupRule
from isotherm.resources.openstack.neutron.subnet import Subnet
from isotherm.resources.openstack.neutron.trunk import Trunk

TYPES: tuple[type[Resource], ...] = (
    ExtraRouteSet, FloatingIP, FloatingIPAssociation, Net, NovaFloatingIP, NovaFloatingIPAssociation, Port, ProviderNet,
    Router, RouterGateway, RouterInterface, SecurityGroup, SecurityGroupRule, Subnet, Trunk)
