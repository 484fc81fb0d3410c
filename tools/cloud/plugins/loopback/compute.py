"""nova-compute on Nova's fake hypervisor, with snapshots that become active images and servers that survive a restart.

The stock fake driver makes a node with a new uuid in each process, and nova-compute then refuses to start a second time.
"""

import io
import sys

from nova.cmd import compute  # isort: skip - first, since it patches the standard library
from nova import context as nova_context
from nova import objects
from nova.compute import power_state
from nova.image import glance
from nova.virt import fake


class LoopbackDriver(fake.FakeDriverWithoutFakeNodes):
    """A hypervisor without guests."""

    def init_host(self, host):
        super().init_host(host)
        for one in objects.InstanceList.get_by_host(nova_context.get_admin_context(), host):
            self.instances[one.uuid] = fake.FakeInstance(one.name, one.power_state or power_state.RUNNING, one.uuid)

    def snapshot(self, context, instance, image_id, update_task_state):
        super().snapshot(context, instance, image_id, update_task_state)
        images = glance.API()
        known = images.get(context, image_id)
        images.update(context, image_id, {
            "name": known.get("name"), "disk_format": "raw", "container_format": "bare",
            "properties": known.get("properties") or {},
        }, data=io.BytesIO(instance.uuid.encode()), purge_props=False)


def main():
    # Nova loads drivers from its own package `nova.virt` only.
    sys.modules["nova.virt.loopback"] = sys.modules[__name__]
    compute.main()
