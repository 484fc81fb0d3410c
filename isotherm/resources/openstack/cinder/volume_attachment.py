"""OS::Cinder::VolumeAttachment: a volume that is attached to a server. Its physical id is `SERVER:VOLUME`.

The id of Nova's own attachment is that of the volume, which does not tell two servers of one volume apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.cinder import attachments, base
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.table import Column, custom
from isotherm.resources.schema import STRING, Schema

SERVER, VOLUME, DEVICE = "instance_uuid", "volume_id", "mountpoint"
# The status of a volume whose attachment failed on the host of the server.
_FAILED = "error_attaching"
# The statuses of a volume that Nova is attaching: it has another one once Nova has attached it or has given up.
_ATTACHING = frozenset({"reserved", "attaching"})


class VolumeAttachment(TableResource):
    """An attachment. It has no token: a server has a volume once."""

    TYPE = "OS::Cinder::VolumeAttachment"
    DESCRIPTION = "Attaches a volume to a server. An update moves the attachment."
    table = base.table(
        "/volumes", "volume", list_path="/volumes/detail", is_unique=True,
        columns={
            SERVER: Column(schema=Schema(
                STRING, "The id of the server.", required=True, update_allowed=True)),
            VOLUME: Column(schema=Schema(
                STRING, "The id of the volume.", required=True, update_allowed=True, constraints=custom("cinder.volume"))),
            DEVICE: Column(schema=Schema(
                STRING, "The name of the device on the server, such as /dev/vdb. Many hypervisors choose it themselves.",
                update_allowed=True, observable=False)),
        },
        attributes={},
    )

    @property
    def compute(self) -> rest.Service:
        return self.other_service("compute", finders.COMPUTE)

    @property
    def _wanted(self) -> tuple[str, str]:
        """The server and the volume of the template."""
        return str(self.properties[SERVER]), str(self.properties[VOLUME])

    @property
    def _present(self) -> tuple[str, str]:
        """The server and the volume of the physical id. An id of Heat is the volume alone."""
        server, _, volume = str(self.physical_id).rpartition(":")
        return server or str(self.properties[SERVER]), volume

    @property
    def path(self) -> str:
        return f"{self.collection}/{rest.part(self._present[1])}"

    async def reference(self) -> object:
        return None if self.physical_id is None else self._present[1]

    async def show(self) -> Found | None:
        """Return the volume of the attachment; None if the server does not have it."""
        return self._of_server(await self._volume())

    async def _volume(self) -> Found | None:
        if self.is_asked_alone:
            return await self._show_alone()
        return await self.context.polls.show(self.listed_with, self._present[1], self._show_alone)

    def _of_server(self, volume: Found | None) -> Found | None:
        has_it = volume is not None and self._present[0] in attachments.servers_of(volume)
        return volume if has_it else None

    # Create.

    async def handle_create(self) -> object:
        server, volume = self._wanted
        await attachments.attach(self.compute, server, volume, self.properties[DEVICE])
        self.physical_id = f"{server}:{volume}"
        return {"asked": True}

    async def find_by_token(self) -> contract.Search:
        server, volume = self._wanted
        return contract.found(f"{server}:{volume}" if await attachments.is_attached(self.compute, server, volume) else None)

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        if progress and progress.get("asked"):
            # Nova takes a moment for each attachment.
            return contract.Wait(reason="it is being attached", progress={})
        server, volume = self._present
        found = await self._volume()
        if found is not None and self._of_server(found) and found["status"] == "in-use":
            return True
        status = None if found is None else found["status"]
        if status in (None, _FAILED) or not (
                status in _ATTACHING or await attachments.is_attached(self.compute, server, volume)):
            raise attachments.attach_failed(server, volume)
        return contract.Wait(reason=f"the status of the volume is {status}")

    # Update: the old attachment is removed, then the new one is made.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        return {"detach": await self._begin_detach()}

    async def _begin_detach(self) -> Found | None:
        return await self.delete_step({"since": self.context.clock.now()})

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        left = progress["detach"]
        if left is not None:
            waits = await self.check_delete_complete(left)
            if isinstance(waits, contract.Wait):
                return contract.Wait(reason="it is detached first", progress={"detach": waits.progress})
            return contract.Wait(0.0, progress={"detach": None})
        if not progress.get("attached"):
            await self.handle_create()
            return contract.Wait(reason="it is attached", progress={"detach": None, "attached": True})
        return await self.check_create_complete(None)

    # Delete.

    async def delete_object(self) -> None:
        await attachments.detach(self.compute, *self._present)

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        waits = await super().check_delete_complete(progress)
        if waits is True and progress is not None and await attachments.is_attached(self.compute, *self._present):
            return contract.Wait(reason="Nova has not detached it yet", progress=progress)
        return waits

    # Reality.

    def seen(self, found: Found) -> contract.LiveState:
        server, volume = self._present
        return contract.Seen({SERVER: server, VOLUME: volume})

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        resources = [cls(one, context) for one in many]
        if len(resources) < 2 or any(one.physical_id is None for one in resources):
            return [await contract.observe(one) for one in resources]
        # All are volumes of one list, as all are of one credential.
        ids = sorted({one._present[1] for one in resources})
        found = dict(zip(ids, await context.polls.show_many(resources[0].listed_with, ids), strict=True))
        return [await one._observed(found[one._present[1]]) for one in resources]

    async def _observed(self, volume: Found | None) -> contract.LiveState:
        if volume is None or self._of_server(volume) is None:
            # A list may be older than the attachment: only a request for the volume itself is proof.
            self.is_asked_alone = True
            return await contract.observe(self)
        return self.seen(volume)

    async def attribute_in(self, name: str, found: Found) -> object:
        if name != "show":
            raise errors.Permanent(f"{self.name} has no attribute {name}")
        server, volume = self._present
        answer = await self.compute.get(f"/servers/{rest.part(server)}/os-volume_attachments/{rest.part(volume)}")
        return answer["volumeAttachment"]
