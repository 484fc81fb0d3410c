"""A plug-in of Neutron that reports as an L3 agent would: floating ips are ACTIVE or DOWN, router ports ACTIVE.

It stands beside the stock plug-in `router`, since other plug-ins ask for that one by its name. It has a thread of its own,
since some events come from within a transaction that holds the rows which are to be updated.
"""

import logging
import queue
import threading
import time

from neutron_lib import constants, exceptions
from neutron_lib import context as neutron_context
from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins import constants as plugins
from neutron_lib.plugins import directory
from neutron_lib.services import base

LOG = logging.getLogger(__name__)
ROUTER_PORTS = (*constants.ROUTER_INTERFACE_OWNERS, constants.DEVICE_OWNER_ROUTER_GW)
DELAY_S, RETRY_S, TRIES = 0.05, 0.1, 20


class NotCommitted(Exception):
    """The event came before the commit of its transaction, or the floating ip has changed since."""


@registry.has_registry_receivers
class LoopbackL3Agent(base.ServicePluginBase):
    """Report the state of floating ips and router ports a moment after they change."""

    supported_extension_aliases = ()

    def __init__(self):
        super().__init__()
        self.reports = queue.Queue()
        self.thread = None

    @classmethod
    def get_plugin_type(cls):
        return "LOOPBACK_L3_AGENT"

    def get_plugin_description(self):
        return "reports as L3 agents do"

    @registry.receives(resources.FLOATING_IP, [events.AFTER_CREATE, events.AFTER_UPDATE])
    def floating_ip_changed(self, resource, event, trigger, payload=None):
        state = payload.latest_state or {}
        self.later(self.report_floating_ip, (payload.resource_id, bool(state.get("port_id"))))

    @registry.receives(resources.PORT, [events.AFTER_CREATE, events.AFTER_UPDATE])
    def port_changed(self, resource, event, trigger, payload=None):
        port = payload.latest_state
        if port["device_owner"] in ROUTER_PORTS and port["status"] != constants.PORT_STATUS_ACTIVE:
            self.later(self.report_port, (port["id"],))

    def later(self, report, arguments):
        # Not in the constructor: the server forks after that, and threads do not survive a fork.
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
        self.reports.put((time.time() + DELAY_S, report, arguments, 0))

    def run(self):
        while True:
            due, report, arguments, tries = self.reports.get()
            time.sleep(max(0, due - time.time()))
            try:
                report(neutron_context.get_admin_context(), *arguments)
            except exceptions.NotFound:
                pass
            except Exception:
                # One report must not end the thread of all.
                LOG.debug("The report is repeated: %s %s", report.__name__, arguments, exc_info=True)
                if tries < TRIES:
                    self.reports.put((time.time() + RETRY_S, report, arguments, tries + 1))

    def report_floating_ip(self, context, floating_ip_id, is_associated):
        plugin = directory.get_plugin(plugins.L3)
        found = plugin.get_floatingip(context, floating_ip_id)
        status = constants.FLOATINGIP_STATUS_ACTIVE if found["port_id"] else constants.FLOATINGIP_STATUS_DOWN
        if found["status"] != status:
            plugin.update_floatingip_status(context, floating_ip_id, status)
        if bool(found["port_id"]) != is_associated:
            raise NotCommitted(floating_ip_id)

    def report_port(self, context, port_id):
        plugin = directory.get_plugin()
        if plugin.get_port(context, port_id)["status"] != constants.PORT_STATUS_ACTIVE:
            plugin.update_port_status(context, port_id, constants.PORT_STATUS_ACTIVE)
