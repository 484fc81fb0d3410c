"""Types for objects of HTTP services."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.http.object import Object

TYPES: tuple[type[Resource], ...] = (Object,)
