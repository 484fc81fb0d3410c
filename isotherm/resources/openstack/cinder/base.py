"""The parts that all types of Cinder share: the service, and the microversion of its requests."""

from __future__ import annotations

from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.table import Table

SERVICE = "block-storage"


def table(path: str, key: str, **more: Any) -> Table:
    """Return the table of a type of Cinder."""
    return Table(service=SERVICE, path=path, key=key, **{"headers": finders.BLOCK_STORAGE, **more})
