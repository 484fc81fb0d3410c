"""Users that stand for one resource, as servers and handles have them: what they may ask, whatever the policy says.

They may read the metadata of their own resource, and signal it. The check is made before each route, so that a new one is
closed to them until somebody opens it here.
"""

from __future__ import annotations

from collections.abc import Mapping

from isotherm.api.http import faults
from isotherm.api.routes import Route
from isotherm.identity.caller import Caller

ALLOWED = frozenset({"resource:metadata", "resource:signal"})


def check(route: Route, caller: Caller, path: Mapping[str, str]) -> None:
    if caller.stack_user is None:
        return
    own = (path.get("stack_id"), path.get("resource_name"))
    if route.rule not in ALLOWED or own != caller.stack_user:
        raise faults.forbidden(f"You are not authorized to use {route.rule}.", "Forbidden")
