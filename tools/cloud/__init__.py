"""A small real OpenStack for tests and for trying out: `make cloud`, or as a library.

    with cloud.running() as folder:
        folder / "clouds.yaml"

Keystone, Glance, Placement, Nova, Neutron, Cinder, Swift and Octavia, unchanged, on private MariaDB and RabbitMQ, all on
free loopback ports under one folder. Drivers of our own (`plugins/loopback`) stand in for hypervisors, agents and storage.
"""

from tools.cloud.site import DEFAULT, Site, running

__all__ = ["DEFAULT", "Site", "running"]
