"""Changes of a server in place that take several requests: resize, rebuild, interfaces.

Each is a function that goes one step on: it looks at the server, asks for what is missing, and says what is waited for. It
may be called again after a crash at any moment.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from isotherm import errors
from isotherm.resources.openstack import faults
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server_columns import metadata_text
from isotherm.resources.openstack.table_object import Found

FLAVOR, IMAGE, NETWORKS = "flavor", "image", "networks"
# How often Nova may refuse a rebuild because of the status of a volume: about three minutes with the pauses of a server.
_REFUSALS = 30
_CONFIRMING = "has not been resized"


class Changeable(Protocol):
    """The parts of a server that changes use."""

    @property
    def name(self) -> str: ...

    @property
    def properties(self) -> Any: ...

    async def shown(self) -> Found: ...

    async def act(self, action: str, arguments: object = None, headers: Any = ...) -> Any: ...

    async def user_data(self) -> str: ...


async def resize(server: Changeable, progress: Found) -> str:
    """Go one step on in a resize; return what is waited for, or an empty text when the flavor is the wanted one."""
    found, wanted = await server.shown(), server.properties[names.FLAVOR]
    status, flavor = found["status"], found["flavor"]["id"]
    if status == "VERIFY_RESIZE":
        if found.get(names.TASK) is None and not progress.get("confirm"):
            await _confirm(server)
            progress["confirm"] = True
        return "waiting until the resize is confirmed"
    if status == "RESIZE" or found.get(names.TASK) is not None:
        return "waiting until the server is resized"
    # Clouds that confirm by themselves show the new flavor at once.
    if flavor == wanted:
        return ""
    if progress.get("resize"):
        raise errors.Permanent(f"Resizing to '{wanted}' failed, status '{status}'")
    body: Found = {"flavorRef": wanted}
    if server.properties["diskConfig"]:
        body[names.DISK_CONFIG] = server.properties["diskConfig"]
    await server.act("resize", body)
    progress["resize"] = True
    return "waiting until the server is resized"


async def _confirm(server: Changeable) -> None:
    """Confirm a resize. While Nova confirms one, it shows no task, and refuses another request to confirm."""
    try:
        await server.act("confirmResize")
    except faults.Rejected as error:
        # An engine that died has asked already.
        if _CONFIRMING not in str(error):
            raise


async def rebuild(server: Changeable, progress: Found) -> str:
    """Go one step on in a rebuild; return what is waited for, or an empty text when it is done."""
    found = await server.shown()
    if found["status"] == "REBUILD" or found.get(names.TASK) is not None:
        return "waiting until the server is rebuilt"
    if progress.get("rebuild"):
        return ""
    try:
        await _ask_rebuild(server, found, with_user_data=bool(progress.get("user_data")))
    except faults.Rejected as error:
        progress["refused"] = int(progress.get("refused", 0)) + 1
        if faults.OF_STATUS not in str(error) or progress["refused"] > _REFUSALS:
            raise
        return "waiting until no volume of the server is being attached or detached"
    progress["rebuild"] = True
    return "waiting until the server is rebuilt"


async def _ask_rebuild(server: Changeable, found: Found, *, with_user_data: bool) -> None:
    properties = server.properties
    body: Found = {"imageRef": properties[names.IMAGE] or found["image"]["id"],
                   "metadata": metadata_text(properties[names.METADATA])}
    if properties[names.ADMIN_PASS]:
        body["adminPass"] = properties[names.ADMIN_PASS]
    if properties["diskConfig"]:
        body[names.DISK_CONFIG] = properties["diskConfig"]
    if properties[names.IMAGE_POLICY] == names.REBUILD_PRESERVE:
        body["preserve_ephemeral"] = True
    if with_user_data:
        # Files are refused by the microversion that takes user data; the server was created with them.
        body["user_data"] = encoded(await server.user_data()) or None
        await server.act("rebuild", body, names.REBUILT_WITH_USER_DATA)
        return
    if properties[names.PERSONALITY]:
        body["personality"] = files(properties[names.PERSONALITY])
    await server.act("rebuild", body)


def encoded(text: str) -> str:
    """Return a text as Nova takes user data."""
    return base64.b64encode(text.encode()).decode()


def files(personality: dict[str, str]) -> list[Found]:
    """Return the files of `personality` as Nova takes them."""
    return [{"path": path, "contents": encoded(str(content))} for path, content in personality.items()]


STEPS: dict[str, Callable[[Changeable, Found], Awaitable[str]]] = {FLAVOR: resize, IMAGE: rebuild}
