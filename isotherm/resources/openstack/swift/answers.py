"""Answers of servers that come as objects in Swift: the transport TEMP_URL_SIGNAL of deployments.

Each question is an empty object in a container of its resource, and a URL at which the server puts its answer there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.resources.context.context import Cloud
from isotherm.resources.openstack.swift import temp_urls
from isotherm.resources.openstack.swift.account import Account

METHOD = "PUT"


async def ask(cloud: Cloud, container: str, name: str) -> str:
    """Make the object for an answer unless it is there, and return the URL that takes the answer."""
    account = Account.of(cloud)
    url = await temp_urls.url(account, METHOD, container, name)
    await account.put_container(container, {})
    # After a crash the object may be there, and have the answer already.
    if not await account.has_object(container, name):
        await account.put_object(container, name, "")
    return url


async def answer(cloud: Cloud, container: str, name: str) -> Mapping[str, Any] | None:
    """Return the answer, or None while there is none. Raises Permanent for one that is no map in JSON."""
    content = await Account.of(cloud).content(container, name)
    if content is None:
        raise errors.Permanent(f"The object {container}/{name}, which takes the answer of the server, is gone.")
    if not content:
        return None
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise errors.Permanent(f"The answer of the server is no map in JSON: {content[:200]!r}")
    return found


async def forget(cloud: Cloud, container: str, name: str) -> None:
    """Delete the object of an earlier question."""
    await Account.of(cloud).delete_object(container, name)


async def forget_all(cloud: Cloud, container: str) -> None:
    await Account.of(cloud).delete_whole(container)
