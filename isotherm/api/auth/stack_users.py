"""Limits stack users (the users of one resource, for servers and wait handles), whatever the policy says.

A stack user may read the metadata of its own resource and signal it. `app` calls `check` before every route, so a new route
is closed to stack users until its rule is in `ALLOWED`.
"""

from __future__ import annotations

from collections.abc import Mapping

from isotherm.api.http import faults
from isotherm.api.routes import Route
from isotherm.identity.caller import Caller

ALLOWED = frozenset({"resource:metadata", "resource:signal"})


def check(route: Route, caller: Caller, path: Mapping[str, str]) -> None:
    """Refuse a stack user on any route but those of its own resource."""
    if caller.stack_user is None:
        return
    own = (path.get("stack_id"), path.get("resource_name"))
    if route.rule not in ALLOWED or own != caller.stack_user:
        raise faults.forbidden(f"You are not authorized to use {route.rule}.", "Forbidden")
