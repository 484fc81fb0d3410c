"""The registry of the built-in resource types, made once and shared."""

from __future__ import annotations

from functools import cache

from isotherm.resources import heat, http, local
from isotherm.resources.registry import Registry

# Types that reach out of the engine: into a folder of this machine, or into the network.
REACHING = (*http.TYPES, *local.TYPES)


def registry(*, reaching: bool = True) -> Registry:
    """Return all built-in types.

    Without `reaching`, templates must not use those that reach the machine or the network.
    """
    return _registry(reaching)


@cache
def _registry(reaching: bool) -> Registry:
    return Registry((*heat.TYPES, *REACHING)) if reaching else Registry(heat.TYPES, REACHING)
