"""Signals that come as objects in Swift: each PUT of a handle's object is one.

The container of a stack keeps the older versions of its objects in itself: the object `a` has versions `001a/TIME`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.resources.openstack import faults
from isotherm.resources.openstack.swift.account import Account

# The content of an object before its first signal, as Heat writes it.
IN_PROGRESS = "in progress"
SUCCESS, FAILURE = "SUCCESS", "FAILURE"


def _versions(name: str) -> str:
    """Return how the names of older versions begin."""
    return f"{len(name.encode()):03x}{name}/"


async def listed(account: Account, container: str, name: str) -> list[dict[str, Any]]:
    """Return the versions of an object, the oldest first."""
    older = await account.objects(container, _versions(name))
    return [*older, *(one for one in await account.objects(container, name) if one["name"] == name)]


async def read(account: Account, container: str, versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the signals of these versions, with defaults for missing fields. Of two with one id the last counts."""
    found: dict[str, dict[str, Any]] = {}
    for one in versions:
        content = await account.content(container, one["name"])
        if content is None or content == IN_PROGRESS.encode():
            continue
        signal = _signal(content, len(found) + 1)
        found.pop(str(signal["id"]), None)
        found[str(signal["id"])] = signal
    return list(found.values())


def _signal(content: bytes, number: int) -> dict[str, Any]:
    try:
        given = json.loads(content) if content else {}
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        raise errors.Permanent(f"A signal is no map in JSON: {content[:200]!r}")
    id_ = given.get("id", number)
    return {"id": id_, "status": SUCCESS, "reason": f"Signal {id_} received", "data": None, **given}


async def delete(account: Account, container: str, name: str) -> None:
    """Delete an object with its versions, and the container if nothing else is in it."""
    while found := await listed(account, container, name):
        # The newest comes last: with older versions present, its delete would bring one of them back.
        for one in found:
            await account.delete_object(container, one["name"])
    try:
        await account.delete_container(container)
    except (faults.NoSuchObject, faults.InUse):
        # Other handles have their objects in it.
        return
