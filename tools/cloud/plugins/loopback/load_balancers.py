"""A provider of Octavia without a data path.

Objects that the API has marked PENDING_* become what was asked for after DELAY_S, so clients see the real order: PENDING,
409 for changes meanwhile, then ACTIVE and ONLINE. Octavia makes the VIP port in Neutron, since this provider makes none. An
object whose name begins with `loopback-error` goes to ERROR.
"""

import logging
import threading
import time

from octavia.api.drivers.driver_agent import driver_updater
from octavia.db import api as database
from octavia.db import models, repositories
from octavia_lib.api.drivers import provider_base

LOG = logging.getLogger(__name__)
DELAY_S = 0.3
POLL_S = 0.1
#: It polls so long after a request; between requests it looks every IDLE_S.
AWAKE_S, IDLE_S = 10, 5


class Settler(threading.Thread):
    """Settle pending load balancers, each a moment after it was first seen."""

    def __init__(self):
        super().__init__(daemon=True)
        self.requested = threading.Event()
        self.awake_until = time.time() + AWAKE_S
        self.seen = {}
        self.start()

    def wake(self):
        self.awake_until = time.time() + AWAKE_S
        self.requested.set()

    def run(self):
        while True:
            if time.time() > self.awake_until:
                self.requested.wait(IDLE_S)
            self.requested.clear()
            time.sleep(POLL_S)
            try:
                self.settle_due()
            except Exception:
                # One failure must not end the thread of all.
                LOG.exception("Settling failed and is repeated")
                time.sleep(1)

    def settle_due(self):
        session = database.get_session()
        with session.begin():
            pending = [found for found, in session.query(models.LoadBalancer.id).filter(
                models.LoadBalancer.provisioning_status.like("PENDING%"))]
        now = time.time()
        self.seen = {one: self.seen.get(one, now) for one in pending}
        for one in pending:
            if now - self.seen[one] >= DELAY_S:
                settle(one)
                del self.seen[one]
        if pending:
            self.awake_until = max(self.awake_until, time.time() + 2)


def settle(load_balancer_id):
    """Report to Octavia that the pending objects of a load balancer are as they were asked for."""
    session = database.get_session()
    with session.begin():
        found = repositories.LoadBalancerRepository().get(session, id=load_balancer_id)
    if found is None:
        return
    is_deleted = found.provisioning_status == "PENDING_DELETE"
    status = {}
    for kind, one, online in parts(found):
        if is_deleted or one.provisioning_status.startswith("PENDING"):
            status.setdefault(kind, []).append({"id": one.id, **outcome(one, online, is_deleted)})
    result = driver_updater.DriverUpdater().update_loadbalancer_status(status)
    if result.get("status_code") != 200:
        raise RuntimeError(f"{load_balancer_id}: {result}")


def parts(load_balancer):
    """Yield the kind and the object of each part, the inner ones first, and its status when it works."""
    for pool in load_balancer.pools:
        for member in pool.members:
            yield "members", member, "ONLINE" if pool.health_monitor else "NO_MONITOR"
        if pool.health_monitor is not None:
            yield "healthmonitors", pool.health_monitor, "ONLINE"
        yield "pools", pool, "ONLINE"
    for listener in load_balancer.listeners:
        for policy in listener.l7policies:
            for rule in policy.l7rules:
                yield "l7rules", rule, "ONLINE"
            yield "l7policies", policy, "ONLINE"
        yield "listeners", listener, "ONLINE"
    yield "loadbalancers", load_balancer, "ONLINE"


def outcome(one, online, is_deleted):
    if is_deleted or one.provisioning_status == "PENDING_DELETE":
        return {"provisioning_status": "DELETED", "operating_status": "OFFLINE"}
    if (getattr(one, "name", None) or "").startswith("loopback-error"):
        return {"provisioning_status": "ERROR", "operating_status": "ERROR"}
    return {"provisioning_status": "ACTIVE", "operating_status": online if getattr(one, "enabled", True) else "OFFLINE"}


settler = None


class LoopbackProvider(provider_base.ProviderDriver):
    """Accept every request. Octavia makes a new object for each, so the settler is outside."""

    def __init__(self):
        global settler
        super().__init__()
        if settler is None:
            settler = Settler()

    def accept(self, *args, **kwargs):
        settler.wake()

    loadbalancer_create = loadbalancer_delete = loadbalancer_update = loadbalancer_failover = accept
    listener_create = listener_delete = listener_update = accept
    pool_create = pool_delete = pool_update = accept
    member_create = member_delete = member_update = member_batch_update = accept
    health_monitor_create = health_monitor_delete = health_monitor_update = accept
    l7policy_create = l7policy_delete = l7policy_update = accept
    l7rule_create = l7rule_delete = l7rule_update = accept

    def get_supported_flavor_metadata(self):
        return {"loadbalancer_topology": "The topology", "amp_image_tag": "A tag"}

    def validate_flavor(self, flavor_metadata):
        pass

    def get_supported_availability_zone_metadata(self):
        return {"compute_zone": "The zone"}

    def validate_availability_zone(self, availability_zone_metadata):
        pass
