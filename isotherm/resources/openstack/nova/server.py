"""OS::Nova::Server: a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract, signal_access
from isotherm.resources.context import transports
from isotherm.resources.openstack import faults, finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.nova import base, server_changes, server_devices, server_images, server_networks
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.observed_server import STATES, ObservedServer
from isotherm.resources.openstack.nova.server_columns import ATTRIBUTES, COLUMNS, RULES, metadata_text
from isotherm.resources.openstack.nova.server_images import ServerImages
from isotherm.resources.openstack.nova.server_networks import ServerNetworks
from isotherm.resources.openstack.nova.server_ports import ServerPorts
from isotherm.resources.openstack.nova.user_data.server_user_data import ServerUserData
from isotherm.resources.openstack.swift import agent_metadata
from isotherm.resources.openstack.table import TokenPlace
from isotherm.resources.openstack.table_object import POLL

# A server that is created and then powered off for so long has shut itself down.
_OFF_S = 60.0


class Server(ObservedServer):
    """A server of Nova."""

    TYPE = "OS::Nova::Server"
    DESCRIPTION = "A virtual server: it boots from an image or a volume and is connected to networks."
    traits = contract.Traits(poll=POLL, failed_is_observed=True, supports_snapshot_delete=True, shows_deployments=True,
                             knows_replaced=True)
    translation_rules = RULES
    joint_constraints: ClassVar[Mapping[str, tuple[str, ...]]] = {"nova.image_of_flavor": (names.IMAGE, names.FLAVOR)}
    table = base.table(
        "/servers", "server", finder=finders.server, headers=names.SHOWN, list_path="/servers/detail", states=STATES,
        name_chars=53, token=TokenPlace(field="tags", is_list=True, query="tags"), columns=COLUMNS, attributes=ATTRIBUTES)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from server_networks.problems(properties)
        yield from server_devices.problems(properties)

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the subnets of the server's networks. A port or subnet in `networks` refers to them itself."""
        entries = properties.get(names.NETWORKS)
        entries = entries if isinstance(entries, Sequence) and not isinstance(entries, str) else ()
        networks = [entry.get(names.NETWORK) or entry.get("uuid") for entry in entries if isinstance(entry, Mapping)]
        return [one.name for one in others.of_type("OS::Neutron::Subnet")
                if (one.properties.get("network") or one.properties.get("network_id")) in filter(None, networks)]

    # Create.

    async def handle_create(self) -> object:
        if not server_devices.boots(self.properties):
            raise errors.Permanent(f"Neither image nor bootable volume is specified for instance {self.name}")
        await ServerUserData(self).prepare()
        await ServerUserData(self).publish()
        networks = ServerNetworks(self)
        body = self.create_body() | server_devices.body(self.properties)
        user_data = await self.user_data()
        if user_data:
            body["user_data"] = server_changes.encoded(user_data)
        try:
            answer = await self._post({**body, "networks": await networks.requested()})
        except (faults.Rejected, faults.InUse, faults.ServiceError) as error:
            found = await self.with_token() if isinstance(error, faults.ServiceError) else []
            if not found:
                await ServerPorts(self).delete_internal()
                # The server that this one replaces may have its ports and addresses.
                await networks.take_over(self._is_predecessor)
                raise
            answer = {"server": found[0]}
        else:
            self._posted = answer["server"]
        self.has_made(answer["server"]["id"])
        return {"made": True}

    async def _post(self, body: Found) -> Any:
        reservation = self.properties[names.RESERVATION]
        hints = {**(self.properties[names.HINTS] or {}), **await self.context.servers.hints(self),
                 **({"reservation": reservation} if reservation else {})}
        version = names.CREATED
        if server_devices.need_volume_type(self.properties):
            version = names.CREATED_WITH_VOLUME_TYPE
        return await self.other_service(base.SERVICE, version).post(
            "/servers", {"server": body, **({"os:scheduler_hints": hints} if hints else {})})

    def create_body(self) -> Found:
        body = super().create_body()
        body["tags"] = self.wanted_tags()
        if self.properties[names.PERSONALITY]:
            body["personality"] = server_changes.files(self.properties[names.PERSONALITY])
        return body

    async def user_data(self) -> str:
        """Return the user data of the server."""
        return await ServerUserData(self).text()

    def _is_predecessor(self, server: str) -> bool:
        return server == self.data.get(contract.REPLACED)

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        answer = await super().check_create_complete(progress)
        if not isinstance(answer, contract.Wait) or "SHUTOFF" not in answer.reason:
            return answer
        off_since = (progress or {}).get("off_since") or self.context.clock.now()
        if self.context.clock.now() - off_since > _OFF_S:
            raise errors.Permanent(f"{self.name} was created and then shut itself down")
        return replace(answer, progress={**_map(answer.progress), "off_since": off_since})

    # Update.

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any], changed: Mapping[str, Any]) -> str | None:
        for name, policy in ((names.IMAGE, names.IMAGE_POLICY), (names.FLAVOR, names.FLAVOR_POLICY),
                             (names.USER_DATA, names.USER_DATA_POLICY)):
            if name in changed and after.get(policy) == names.REPLACE:
                return name
        # A server that boots from a volume cannot be rebuilt with an image.
        is_from_volume = not before.get(names.IMAGE) or not after.get(names.IMAGE)
        return names.IMAGE if names.IMAGE in changed and is_from_volume else None

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        return super().update_body(before, {name: changed[name] for name in (names.NAME,) if name in changed})

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if changed.keys() & {names.TRANSPORT, names.SWIFT} and ServerUserData(self).is_collected:
            await ServerUserData(self).prepare()
            if names.TRANSPORT in changed:
                transports.changed(self, before.get(names.TRANSPORT))
        # Also where nothing but the metadata of the resource has changed.
        await ServerUserData(self).publish()
        if names.METADATA in changed:
            await self.service.put(f"{self.path}/metadata", {"metadata": metadata_text(self.properties[names.METADATA])})
        if names.TAGS in changed:
            await self.service.put(f"{self.path}/tags", {"tags": self.wanted_tags()})
        rebuilds_user_data = (names.USER_DATA in changed
                              and self.properties[names.USER_DATA_POLICY] == names.REBUILD)
        rebuilds = names.IMAGE in changed or rebuilds_user_data
        if names.ADMIN_PASS in changed and self.properties[names.ADMIN_PASS] and not rebuilds:
            await self.act("changePassword", {"adminPass": self.properties[names.ADMIN_PASS]})
        left = [name for name, is_due in (
            (server_changes.FLAVOR, names.FLAVOR in changed), (server_changes.IMAGE, rebuilds),
            (server_changes.NETWORKS, names.NETWORKS in changed)) if is_due]
        return {"left": left, "user_data": rebuilds_user_data, "before": list(before.get(names.NETWORKS) or ())}

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        progress = dict(progress or {})
        left = list(progress.get("left", ()))
        while left:
            if left[0] == server_changes.NETWORKS:
                waits = await ServerNetworks(self).step(progress["before"])
            else:
                waits = await server_changes.STEPS[left[0]](self, progress)
            if waits:
                return contract.Wait(reason=waits, progress={**progress, "left": left})
            left.pop(0)
        return True

    # Delete.

    async def handle_delete(self) -> object:
        await agent_metadata.delete(self)
        if self.physical_id is None:
            await ServerPorts(self).delete_internal()
        return await super().handle_delete()

    async def delete_step(self, progress: Found) -> Found | None:
        if self.snapshot_on_delete and not progress.get("copied"):
            return await self._copy_step(progress)
        if not progress.get("asked"):
            left = await super().delete_step(progress)
        else:
            left = await self._deleted_step(progress)
        if left is None:
            await ServerPorts(self).delete_internal()
        return left

    async def _copy_step(self, progress: Found) -> Found | None:
        """Make the image that stays when the server is deleted."""
        found = await self.show()
        if found is None or self.problem_of(found):
            return {**progress, "copied": True}
        images, copy = ServerImages(self), progress.get("copy")
        if copy is None:
            return {**progress, "copy": {server_images.MARK: images.new_mark()}, "reason": "an image of it is being made"}
        waits = await images.make(copy, found)
        if waits is None:
            return {**progress, "copied": True, "reason": "its image is complete"}
        return {**progress, "copy": waits.progress, "reason": waits.reason}

    async def _deleted_step(self, progress: Found) -> Found | None:
        found = await self.show()
        if found is None:
            return None
        if found["status"] == "SOFT_DELETED":
            await self.act("forceDelete")
        elif found["status"] in STATES.failed and found.get(names.TASK) is None:
            raise errors.Permanent(f"the delete failed: {self.problem_of(found)}")
        return progress

    # Suspend, resume, snapshot.

    async def handle_suspend(self) -> object:
        if (await self.shown())["status"] != "SUSPENDED":
            await self.act("suspend")
        await signal_access.enable(self, False)
        return None

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._reaches("SUSPENDED")

    async def handle_resume(self) -> object:
        if (await self.shown())["status"] == "SUSPENDED":
            await self.act("resume")
        await signal_access.enable(self, True)
        return None

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._reaches("ACTIVE")

    async def _reaches(self, wanted: str) -> bool | contract.Wait:
        found = await self.shown()
        if found["status"] == wanted:
            return True
        problem = self.problem_of(found)
        if problem:
            raise errors.Permanent(problem)
        return contract.Wait(reason=f"the status is {found['status']}")

    async def handle_snapshot(self) -> object:
        return {server_images.MARK: ServerImages(self).new_mark()}

    async def check_snapshot_complete(self, progress: Any) -> bool | contract.Wait:
        return await ServerImages(self).make(dict(progress), await self.show()) or True

    async def handle_delete_snapshot(self, data: Any) -> None:
        if data and data.get("image"):
            await ServerImages(self).delete(data["image"])

    @classmethod
    def restored_properties(cls, properties: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
        return {**properties, names.IMAGE: data["image"]} if data and data.get("image") else properties

def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
