"""Images of a server: snapshots of the resource, and the copy that the deletion policy `snapshot` keeps."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.table_object import Found, TableObject

_IMAGE_TASKS = frozenset({"image_snapshot", "image_snapshot_pending", "image_pending_upload", "image_uploading"})
_FAILED = frozenset({"killed", "deleted", "pending_delete", "error"})
# The first microversion whose answer has the id of the image is 2.45.
_ACTION = names.SHOWN
# Keys of the progress: the mark, the id of the image, and that the mark is stored.
MARK, IMAGE, _STORED = "mark", "image", "stored"
# The property of an image that has its mark.
_PROPERTY = "isotherm"


class ServerImages:
    """Makes and deletes images of one server."""

    def __init__(self, server: TableObject) -> None:
        self._server = server
        self._glance = server.other_service("image")

    def new_mark(self) -> str:
        """Return the mark of an image that is not asked for yet. An image whose request had no answer is found by it."""
        return f"{self._server.token_text}-{self._server.context.random.getrandbits(48):012x}"

    async def make(self, progress: Found, server: Found | None) -> contract.Wait | None:
        """Go one step on in the creation of an image; return None when `progress["image"]` is complete."""
        if _STORED not in progress:
            # A kill between the request and its answer leaves an image that only a stored mark leads to.
            return contract.Wait(0.0, "an image of it is being made", {**progress, _STORED: True})
        if IMAGE not in progress:
            found = await self._marked(progress[MARK])
            made = found[0] if found else await self._begin(progress[MARK])
            return contract.Wait(reason=f"the image {made} is being made", progress={**progress, IMAGE: made})
        waits = await self._waits_for(progress[IMAGE], server)
        if waits:
            return contract.Wait(reason=waits, progress=progress)
        for double in await self._marked(progress[MARK]):
            if double != progress[IMAGE]:
                await self.delete(double)
        return None

    async def _begin(self, mark: str) -> str:
        """Ask for an image of the server; return the id of the image."""
        nova = self._server.other_service("compute", _ACTION)
        answer: Any = await nova.post(f"{self._server.path}/action", {
            "createImage": {"name": self._server.default_name, "metadata": {_PROPERTY: mark}}})
        return str(answer["image_id"])

    async def _marked(self, mark: str) -> list[str]:
        """Return the ids of the images with a mark, the oldest first, without those that failed."""
        found = await self._glance.pages("/images", "images", {_PROPERTY: mark})
        ours = [one for one in found if one.get(_PROPERTY) == mark and one["status"] not in _FAILED]
        return [str(one["id"]) for one in sorted(ours, key=lambda one: str(one["created_at"]))]

    async def _waits_for(self, image: str, server: Found | None) -> str:
        """Return what is waited for until the image is complete; empty if it is. Raises Permanent if it failed."""
        answer = await self._glance.find(f"/images/{rest.part(image)}")
        status = "deleted" if answer is None else str(answer["status"])
        if status in _FAILED:
            raise errors.Permanent(f"the image {image} of {self._server.name} went to status {status}")
        if status != "active" or (server is not None and server.get(names.TASK) in _IMAGE_TASKS):
            return f"the image {image} is {status}"
        return ""

    async def delete(self, image: str) -> None:
        try:
            await self._glance.delete(f"/images/{rest.part(image)}")
        except faults.NoSuchObject:
            return
