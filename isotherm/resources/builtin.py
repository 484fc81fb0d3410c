"""The registry of the built-in resource types, made once and shared. Classes are loaded when they are first needed."""

from __future__ import annotations

from functools import cache

from isotherm.resources import aws, heat, http, local
from isotherm.resources.catalog.type_table import TypeTable
from isotherm.resources.openstack import cinder, finders, neutron, nova, octavia, swift
from isotherm.resources.registry import Registry
from isotherm.resources.validation import custom_constraints

# Types that reach out of the engine: into a folder of this machine, or into the network.
REACHING = {**http.TYPES, **local.TYPES}
# Types that need no permission of the operator: those of Heat itself, and those of a cloud's services.
BASE = {**heat.TYPES, **aws.TYPES, **cinder.TYPES, **neutron.TYPES, **nova.TYPES, **octavia.TYPES, **swift.TYPES}


def registry(*, reaching: bool = True) -> Registry:
    """Return all built-in types.

    Without `reaching`, templates must not use those that reach the machine or the network.
    """
    return _registry(reaching)


@cache
def _registry(reaching: bool) -> Registry:
    custom_constraints.add(finders.CONSTRAINTS)
    if reaching:
        return Registry(TypeTable(addresses={**BASE, **REACHING}))
    return Registry(TypeTable(addresses=BASE), TypeTable(addresses=REACHING))
