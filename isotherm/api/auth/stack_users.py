"""Limits stack users (the users of one resource, for servers and wait handles), whatever the policy says.

A stack user may read the metadata of its own resource and signal it. `app` calls `check` before every route, so a new route
is closed to stack users until its rule is in `ALLOWED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from isotherm.api.http import faults
from isotherm.api.request.service import ApiPorts
from isotherm.api.routes import Route
from isotherm.identity.caller import Caller

ALLOWED = frozenset({"resource:metadata", "resource:signal"})


async def recognised(caller: Caller, service: ApiPorts) -> Caller:
    """Return a stack user as the user of its resource, in the project of the stack; any other caller unchanged.

    The row of the user is read for each request: it is gone together with the resource, however long the token lasts.
    """
    if service.stack_users is None or service.settings.heat_stack_user_role not in caller.roles:
        return caller
    found = await service.stack_users.resource_of(caller.user_id)
    if found is None:
        return caller
    return replace(caller, project=found.project, stack_user=(found.stack_id, found.resource_name))


def check(route: Route, caller: Caller, path: Mapping[str, str]) -> None:
    """Refuse a stack user on any route but those of its own resource."""
    if caller.stack_user is None:
        return
    own = (path.get("stack_id"), path.get("resource_name"))
    if route.rule not in ALLOWED or own != caller.stack_user:
        raise faults.forbidden(f"You are not authorized to use {route.rule}.", "Forbidden")
