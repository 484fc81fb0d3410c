"""The resource types that this installation has: one registry, made once and shared."""

from __future__ import annotations

from functools import cache

from isotherm.resources import heat
from isotherm.resources.registry import Registry


@cache
def registry() -> Registry:
    return Registry(heat.TYPES)
