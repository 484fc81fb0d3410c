"""The types of Octavia: load balancers, listeners, pools, their members and health monitors."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "OS::Octavia::HealthMonitor": "isotherm.resources.openstack.octavia.health_monitor:HealthMonitor",
    "OS::Octavia::Listener": "isotherm.resources.openstack.octavia.listener:Listener",
    "OS::Octavia::LoadBalancer": "isotherm.resources.openstack.octavia.load_balancer:LoadBalancer",
    "OS::Octavia::Pool": "isotherm.resources.openstack.octavia.pool:Pool",
    "OS::Octavia::PoolMember": "isotherm.resources.openstack.octavia.pool_member:PoolMember",
}
