"""Makes a resource type of a table: the handlers of create, update and delete.

A creation is one POST that carries the token, then `finish` (further requests that may be repeated), then polling until
the object is ready. A create that ends in an error state is undone and tried again, a few times. A delete of an object
in use is tried again for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.observed_object import ObservedObject
from isotherm.resources.openstack.table_object import Found

__all__ = ["Found", "TableResource"]

# How often a creation that ended in an error state is tried again.
_RETRIES = 5
_RETRIES_KEY = "create_retries"
# How long a delete of an object in use is tried again.
_IN_USE_S = 180.0


class TableResource(ObservedObject):
    """The base class of types that are described by a table."""

    # The answer of the POST, in the step that sent it.
    _posted: Found | None = None

    # Create.

    def create_body(self) -> Found:
        """Return the body of the POST, with the token. Properties without a value are not sent."""
        body: Found = {}
        for name, column in self.table.columns.items():
            value = self.properties.get(name)
            if column.is_name:
                value = value or self.default_name
            if value is not None and column.is_sent:
                body[column.wire or name] = column.to_wire(value) if column.to_wire else value
        self.put_token(body)
        return body

    def create_request(self) -> Found:
        """Return the whole request of the POST; a type adds the keys that are beside the body."""
        return {self.table.key: self.create_body()}

    async def handle_create(self) -> object:
        try:
            made = self._posted = (await self.service.post(self.collection, self.create_request()))[self.table.key]
        except (faults.ServiceError, faults.InUse):
            # The service may have acted all the same, or refuses the object because an earlier request has made it.
            found = await self.with_token()
            if not found:
                raise
            made = found[0]
        self.has_made(self.id_in(made))
        return {"made": True}

    def has_made(self, id_: str) -> None:
        """Keep the id of the object. Other resources refer to it soon, and it need not be looked up for them."""
        self.physical_id = id_
        if self.table.finder is not None:
            self.context.lookups.learn(self.context.cloud, self.table.finder, id_, self.context.clock.now())

    @property
    def is_made_by_post(self) -> bool:
        """Return whether `finish` has nothing to do, so that the answer of the POST shows the object as it is."""
        return False

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        progress = progress or {}
        if "failed" in progress:
            return await self._undo_create(progress)
        if not progress.get("finished"):
            if not progress:
                await self._delete_doubles()
            if self.replaces_token and not progress.get("stored"):
                # Without the token, only the stored id leads to the object: a step that waits is stored.
                return contract.Wait(0.0, "its id is stored", {"stored": True})
            await self.finish()
        posted, self._posted = self._posted, None
        if posted is None or not self.is_made_by_post:
            found = await self.show()
        elif self.table.states is not None and self.table.states.field not in posted:
            return contract.Wait(reason="it is being created", progress={"finished": True})
        else:
            found = posted
        if found is None:
            raise errors.Permanent(f"{self.physical_id} was created and does not exist any more")
        # The attributes are read in the same step.
        self.shown_last = found
        problem = self.problem_of(found)
        if problem:
            return await self._undo_create({"failed": problem})
        waits = self.is_waiting(found)
        return contract.Wait(reason=waits, progress={"finished": True}) if waits else True

    async def finish(self) -> None:
        """Make what the POST cannot make: tags, a description. Called again after a crash."""

    @property
    def replaces_token(self) -> bool:
        """Return whether `finish` takes the token from the object."""
        return False

    async def _delete_doubles(self) -> None:
        """Delete further objects with the token: requests that were carried out after they had been given up."""
        if self.table.is_unique:
            return
        for found in await self.with_token():
            if self.id_in(found) != self.physical_id:
                try:
                    await self.service.delete(f"{self.collection}/{rest.part(self.id_in(found))}")
                except faults.NoSuchObject:
                    continue

    async def _undo_create(self, progress: Mapping[str, Any]) -> bool | contract.Wait:
        """Delete an object that came up in an error state, then have it created again, a few times."""
        reason, retries = str(progress["failed"]), int(self.data.get(_RETRIES_KEY, 0))
        if retries >= _RETRIES or not self.retries_create(reason):
            raise errors.Permanent(reason)
        left = await self.delete_step(dict(progress.get("delete") or {"since": self.context.clock.now()}))
        if left is not None:
            return contract.Wait(reason=f"{reason}; it is deleted and created again",
                                 progress={"failed": reason, "delete": left})
        self.data[_RETRIES_KEY] = retries + 1
        self.physical_id = None
        raise contract.CreateAgain(reason, 2.0 ** retries)

    def retries_create(self, reason: str) -> bool:
        """Return whether a creation that ended like this may succeed when it is tried again."""
        return True

    # Update.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        body = self.update_body(before, changed)
        if body:
            await self.service.send(self.table.update_method, self.path, {self.table.key: body})
        return await self.apply(before, changed)

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        """Return the body of the update: the changed properties."""
        body: Found = {}
        for name in changed:
            column = self.table.columns.get(name)
            if column is None or not column.is_sent:
                continue
            value = self.properties.get(name)
            # After a failure all properties are in doubt: a value that was neither given nor changed is not taken back.
            if (column.only_given and value is None and before.get(name) is None) or (
                    column.schema.managed and value == before.get(name)):
                continue
            if column.is_name:
                value = value or self.default_name
            elif value is None:
                value = column.cleared
            elif column.to_wire is not None:
                value = column.to_wire(value)
            body[column.wire or name] = value
        return body

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        """Make the changes that the update request cannot make; return the progress. Called again after a crash."""
        return None

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        if self.table.states is None:
            return True
        found = await self.show()
        if found is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        problem = self.problem_of(found)
        if problem:
            raise errors.Permanent(problem)
        waits = self.is_waiting(found)
        return contract.Wait(reason=waits) if waits else True

    # Delete.

    async def handle_delete(self) -> object:
        if self.physical_id is None:
            return None
        return await self.delete_step({"since": self.context.clock.now()})

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        if progress is None:
            return True
        left = await self.delete_step(dict(progress))
        return True if left is None else contract.Wait(reason=str(left.get("reason", "")), progress=left)

    async def delete_step(self, progress: Found) -> Found | None:
        """Go one step on in the delete of the object; return the progress, or None if it is gone."""
        if progress.get("asked"):
            return await self._deleted(progress)
        try:
            await self.delete_object()
        except faults.NoSuchObject:
            return None
        except faults.InUse as error:
            if self.context.clock.now() - progress["since"] > _IN_USE_S:
                raise
            return {**progress, "reason": str(error)}
        if not self.table.waits_for_delete:
            return None
        return {**progress, "asked": True, "reason": "it is being deleted"}

    async def delete_object(self) -> None:
        """Ask the service to delete the object."""
        await self.service.delete(self.path)

    async def _deleted(self, progress: Found) -> Found | None:
        found = await self.show()
        if found is None:
            return None
        states = self.table.states
        if states is not None and found.get(states.field) in states.failed:
            raise errors.Permanent(f"the delete failed: {self.problem_of(found)}")
        return progress
