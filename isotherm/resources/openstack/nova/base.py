"""The parts that all types of Nova share: the service, and the microversion of its requests."""

from __future__ import annotations

from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.table import Table

SERVICE = "compute"


def table(path: str, key: str, **more: Any) -> Table:
    """Return the table of a type of Nova."""
    return Table(service=SERVICE, path=path, key=key, **{"headers": finders.COMPUTE, **more})
