"""Signals of a resource, for types that receive them or wait for them."""

from __future__ import annotations

import msgspec

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import signal_urls, signals, stack_users


def admit(resource: contract.Resource) -> None:
    """Make `signed_url` valid from now on, for the lifetime of signal URLs. Called by `handle_create`."""
    context = resource.context
    resource.data["signed_until"] = int(context.clock.now() + context.signal_urls.lifetime_s)


def signed_url(resource: contract.Resource, method: str = "POST") -> str | None:
    """Return a URL at which a caller that knows it may signal the resource; None while no API is served."""
    until = resource.data.get("signed_until")
    if until is None:
        return None
    return resource.context.signal_urls.signed_url(method, resource.stack_id, resource.token, until)


async def user(resource: contract.Resource, transport: str) -> stack_users.StackUser | None:
    """Return the user that a sender of signals logs in as; create it where there are stack users.

    None for other transports than HEAT_SIGNAL, and where there are no stack users: a signed URL takes the place of one.
    """
    users = resource.context.stack_users
    if users is None or transport != signal_urls.HEAT:
        return None
    return await users.ensure(resource.stack_id, resource.token, resource.name)


async def enable(resource: contract.Resource, enabled: bool) -> None:
    """Let the user of the resource log in, or not, while the resource is suspended."""
    if resource.context.stack_users is not None:
        await resource.context.stack_users.set_enabled(resource.token, enabled)


async def inbox(resource: contract.Resource, reference: str | None = None) -> signals.Inbox | None:
    """Return the signals of the resource, or of the one in its stack with the physical id or token `reference`."""
    port = resource.context.signals
    if port is None:
        raise errors.Bug("this engine has no signals")
    if reference is None:
        return await port.inbox(resource.stack_id, resource.token, (resource.row_id,))
    return await port.inbox(resource.stack_id, reference, msgspec.json.decode(resource.requires))
