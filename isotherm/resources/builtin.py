"""The resource types that this installation has: one registry, made once and shared."""

from __future__ import annotations

from functools import cache

from isotherm.resources import heat, http, local
from isotherm.resources.registry import Registry

# Types that reach out of the engine: into a folder of this machine, or into the network.
REACHING = (*http.TYPES, *local.TYPES)


def registry(*, reaching: bool = True) -> Registry:
    """All types; those that reach out of the engine are refused in templates where the operator does not allow them."""
    return _registry(reaching)


@cache
def _registry(reaching: bool) -> Registry:
    return Registry((*heat.TYPES, *REACHING)) if reaching else Registry(heat.TYPES, REACHING)
