"""The types of Nova: servers, server groups, key pairs and flavors."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.openstack.nova.flavor import Flavor
from isotherm.resources.openstack.nova.key_pair import KeyPair
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.openstack.nova.server_group import ServerGroup

TYPES: tuple[type[Resource], ...] = (Flavor, KeyPair, Server, ServerGroup)
