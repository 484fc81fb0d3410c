"""Load balancers on a real cloud: created, updated in place, replaced, repaired, deleted; looked at with openstacksdk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from isotherm.resources.openstack.octavia.base import STATES
from tests import patience
from tests.clouds import CloudProject

NETWORK = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
"""
TEMPLATE = NETWORK + """
  balancer:
    type: OS::Octavia::LoadBalancer
    properties: {vip_subnet: {get_resource: sub}, vip_address: 10.9.0.50, %(balancer)s}
  listener:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, protocol_port: %(port)s, %(listener)s}
  pool:
    type: OS::Octavia::Pool
    properties: {listener: {get_resource: listener}, protocol: HTTP, %(pool)s}
  spare:
    type: OS::Octavia::Pool
    properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}
  member1:
    type: OS::Octavia::PoolMember
    properties: {pool: {get_resource: pool}, address: 10.9.0.11, protocol_port: 80, subnet: {get_resource: sub}, %(member)s}
  member2:
    type: OS::Octavia::PoolMember
    properties:
      {pool: {get_resource: pool}, address: 10.9.0.12, protocol_port: 80, monitor_address: 10.9.0.13, monitor_port: 81}
  monitor:
    type: OS::Octavia::HealthMonitor
    properties: {pool: {get_resource: pool}, type: HTTP, %(monitor)s}
outputs:
  address: {value: {get_attr: [balancer, vip_address]}}
  pools: {value: {get_attr: [balancer, pools]}}
  members: {value: {get_attr: [pool, members]}}
  balancers: {value: {get_attr: [listener, loadbalancers]}}
  watched: {value: {get_attr: [monitor, pools]}}
"""
FIRST = {
    "balancer": "name: one, description: a", "port": "80", "listener": "name: one, connection_limit: 10",
    "pool": "name: one, lb_algorithm: ROUND_ROBIN, session_persistence: {type: HTTP_COOKIE}",
    "member": "weight: 1, tags: [a]", "monitor": "delay: 3, max_retries: 2, timeout: 1, url_path: /a"}
SECOND = {
    "balancer": "name: two, description: b, admin_state_up: false", "port": "80",
    "listener": "name: two, description: b, connection_limit: 20, allowed_cidrs: [10.0.0.0/8], admin_state_up: false",
    "pool": "name: two, description: b, lb_algorithm: SOURCE_IP, admin_state_up: false, "
            "session_persistence: {type: APP_COOKIE, cookie_name: c}",
    "member": "weight: 2, tags: [b, c], admin_state_up: false",
    "monitor": "delay: 4, max_retries: 3, timeout: 2, url_path: /b, expected_codes: 200-204, http_method: HEAD, "
               "admin_state_up: false"}


def of(cloud_project: CloudProject) -> dict[str, Any]:
    """Return the objects of the project by their kind; the pool is the one of the listener."""
    balancers = cloud_project.sdk.load_balancer
    [balancer] = balancers.load_balancers(project_id=cloud_project.id)
    [listener] = balancers.listeners(project_id=cloud_project.id)
    [monitor] = balancers.health_monitors(project_id=cloud_project.id)
    pool = balancers.get_pool(listener.default_pool_id)
    members = {one.address: one for one in balancers.members(pool)}
    return {"balancer": balancer, "listener": listener, "monitor": monitor, "pool": pool,
            "member": members["10.9.0.11"], "other": members["10.9.0.12"]}


def test_a_load_balancer_with_its_parts(run: Callable[..., str], cloud_project: CloudProject) -> None:
    assert "10.9.0.50" in run("deploy", "s", template=TEMPLATE % FIRST)
    made = of(cloud_project)
    assert (made["balancer"].name, made["balancer"].description, made["balancer"].vip_address) == ("one", "a", "10.9.0.50")
    assert (made["listener"].connection_limit, made["listener"].protocol_port) == (10, 80)
    assert made["pool"].session_persistence["type"] == "HTTP_COOKIE"
    assert made["pool"].health_monitor_id == made["monitor"].id
    assert (made["member"].weight, "a" in made["member"].tags) == (1, True)
    assert (made["other"].monitor_address, made["other"].monitor_port) == ("10.9.0.13", 81)
    assert "9 in sync" in run("observe", "s")

    run("update", "s", template=TEMPLATE % SECOND)
    changed = of(cloud_project)
    assert {kind: one.id for kind, one in changed.items()} == {kind: one.id for kind, one in made.items()}
    is_up = [one.is_admin_state_up for kind, one in changed.items() if kind != "other"]
    assert is_up == [False] * 5
    assert [changed[kind].name for kind in ("balancer", "listener", "pool")] == ["two"] * 3
    assert [changed[kind].description for kind in ("balancer", "listener", "pool")] == ["b"] * 3
    listener, pool, member, monitor = (changed[kind] for kind in ("listener", "pool", "member", "monitor"))
    assert (listener.connection_limit, listener.allowed_cidrs) == (20, ["10.0.0.0/8"])
    assert (pool.lb_algorithm, pool.session_persistence["cookie_name"]) == ("SOURCE_IP", "c")
    assert (member.weight, {"b", "c"} <= {*member.tags}, "a" in member.tags) == (2, True, False)
    assert (monitor.delay, monitor.max_retries, monitor.timeout, monitor.url_path) == (4, 3, 2, "/b")
    assert (monitor.expected_codes, monitor.http_method) == ("200-204", "HEAD")

    # What the template gives no longer goes back to the default.
    run("update", "s", template=TEMPLATE % (FIRST | {"member": "", "balancer": "name: one"}))
    cleared = of(cloud_project)
    assert (cleared["balancer"].description, cleared["listener"].allowed_cidrs or []) == ("", [])
    assert not {"a", "b", "c"} & {*cleared["member"].tags}

    # Another port replaces the listener, and the pool and its parts with it.
    run("update", "s", template=TEMPLATE % (FIRST | {"port": "81"}))
    assert of(cloud_project)["listener"].protocol_port == 81
    run("delete", "s", "--yes")
    assert list(cloud_project.sdk.load_balancer.load_balancers(project_id=cloud_project.id)) == []


@pytest.mark.short
def test_changes_from_outside_are_seen_and_repaired(run: Callable[..., str], cloud_project: CloudProject) -> None:
    template = TEMPLATE % FIRST
    run("deploy", "s", template=template)
    made, balancers = of(cloud_project), cloud_project.sdk.load_balancer
    pool = made["pool"].id

    def settled() -> None:
        state = STATES.field
        patience.until(lambda: getattr(balancers.get_load_balancer(made["balancer"].id), state) == "ACTIVE")

    changes = (
        lambda: balancers.update_load_balancer(made["balancer"].id, name="x", description="x", admin_state_up=False),
        lambda: balancers.update_listener(
            made["listener"].id, name="x", description="x", connection_limit=1, admin_state_up=False),
        lambda: balancers.update_pool(
            pool, name="x", description="x", lb_algorithm="SOURCE_IP", admin_state_up=False,
            session_persistence={"type": "SOURCE_IP"}),
        lambda: balancers.update_member(made["member"].id, pool, weight=9, tags=["x"], admin_state_up=False),
        lambda: balancers.update_health_monitor(
            made["monitor"].id, delay=9, max_retries=9, timeout=8, url_path="/x", admin_state_up=False),
    )
    for change in changes:
        change()
        settled()
    seen = run("observe", "s")
    for name in ("name", "description", "admin_state_up", "connection_limit", "lb_algorithm", "session_persistence",
                 "weight", "tags", "delay", "max_retries", "timeout", "url_path"):
        assert name in seen
    run("converge", "s")
    repaired = of(cloud_project)
    assert {kind: one.id for kind, one in repaired.items()} == {kind: one.id for kind, one in made.items()}
    assert all(one.is_admin_state_up for one in repaired.values())
    assert (repaired["balancer"].name, repaired["balancer"].description) == ("one", "a")
    assert (repaired["listener"].name, repaired["listener"].connection_limit) == ("one", 10)
    assert (repaired["pool"].lb_algorithm, repaired["pool"].session_persistence["type"]) == ("ROUND_ROBIN", "HTTP_COOKIE")
    assert (repaired["member"].weight, "a" in repaired["member"].tags, "x" in repaired["member"].tags) == (1, True, False)
    assert (repaired["monitor"].delay, repaired["monitor"].url_path) == (3, "/a")

    balancers.delete_health_monitor(made["monitor"].id)
    settled()
    balancers.delete_member(made["member"].id, pool)
    settled()
    run("converge", "s")
    again = of(cloud_project)
    assert again["pool"].id == pool
    assert not {again["monitor"].id, again["member"].id} & {made["monitor"].id, made["member"].id}
    assert "9 in sync" in run("observe", "s")
    run("delete", "s", "--yes")


def test_a_port_that_is_taken_fails_at_once(run: Callable[..., str], cloud_project: CloudProject) -> None:
    """A second listener at a port is refused with 409, as a busy load balancer is: it fails all the same, at once."""
    listeners = NETWORK + """
  balancer: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: sub}}}
  one:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: TCP, protocol_port: 80}
  two:
    type: OS::Octavia::Listener
    depends_on: one
    properties: {loadbalancer: {get_resource: balancer}, protocol: TCP, protocol_port: %s}
"""
    run("deploy", "s", template=listeners % 80, code=5)
    assert "protocol_port 80 (HTTP 409)" in run("events", "s")
    run("update", "s", template=listeners % 81)
    found = cloud_project.sdk.load_balancer.listeners(project_id=cloud_project.id)
    assert {one.protocol_port for one in found} == {80, 81}
    run("delete", "s", "--yes")
