"""The types of Octavia: load balancers, listeners, pools, their members and health monitors."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.openstack.octavia.health_monitor import HealthMonitor
from isotherm.resources.openstack.octavia.listener import Listener
from isotherm.resources.openstack.octavia.load_balancer import LoadBalancer
from isotherm.resources.openstack.octavia.pool import Pool
from isotherm.resources.openstack.octavia.pool_member import PoolMember

TYPES: tuple[type[Resource], ...] = (HealthMonitor, Listener, LoadBalancer, Pool, PoolMember)
