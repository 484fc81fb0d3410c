"""The types of Nova: servers, server groups, key pairs and flavors."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "OS::Nova::Flavor": "isotherm.resources.openstack.nova.flavor:Flavor",
    "OS::Nova::KeyPair": "isotherm.resources.openstack.nova.key_pair:KeyPair",
    "OS::Nova::Server": "isotherm.resources.openstack.nova.server:Server",
    "OS::Nova::ServerGroup": "isotherm.resources.openstack.nova.server_group:ServerGroup",
}
