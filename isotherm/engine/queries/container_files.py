"""The files of a request that are in a container of Swift: they are read with the caller's credential."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.resources.openstack.swift.account import Account

FIELD = "files_container"
_AT_ONCE = 8
# The largest number of objects of such a container.
_MOST = 1000


async def read(ports: ServicePorts, requester: Requester, container: str, known: Collection[str]) -> dict[str, str]:
    """Return the objects of a container as texts by their names, without those that are `known`.

    Raises UserError if they cannot be read, or are larger than the files of a request may be.
    """
    cloud = ports.cloud_of(requester)
    if cloud is None:
        raise errors.UserError(f"{FIELD} names a container of Swift, and the request names no cloud.", kind="NotSupported",
                               hint="Send the files with the request.")
    try:
        return await _texts(Account(cloud), container, known, ports.settings.max_files_size)
    except errors.Permanent as error:
        raise errors.NotFound(f"Could not fetch files from container {container}, reason: {error}.",
                              kind="NotFound") from error
    except errors.Temporary as error:
        raise errors.Unavailable(str(error), error.retry_after_s) from error


async def _texts(account: Account, container: str, known: Collection[str], most: int) -> dict[str, str]:
    if await account.container(container) is None:
        raise errors.Permanent("there is no such container")
    found = await account.objects(container, limit=_MOST + 1)
    if len(found) > _MOST:
        raise errors.UserError(f"Request limit exceeded: the container {container} has more than {_MOST} objects.",
                               kind="RequestLimitExceeded")
    listed = [one for one in found if one["name"] not in known]
    size = sum(int(one["bytes"]) for one in listed)
    if size > most:
        raise errors.UserError(f"Total size of files to download ({size} bytes) exceeds maximum allowed ({most} bytes).",
                               kind="DownloadLimitExceeded")
    places = asyncio.Semaphore(_AT_ONCE)

    async def text(name: str) -> str:
        async with places:
            content = await account.content(container, name)
        try:
            return (content or b"").decode()
        except UnicodeDecodeError:
            raise errors.UserError(f"The object {name} in container {container} is not UTF-8 text.",
                                   kind="HTTPBadRequest") from None

    names = [str(one["name"]) for one in listed]
    return dict(zip(names, await asyncio.gather(*map(text, names)), strict=True))
