"""The service of records: a table type's view of the simulated cloud. Its objects are the cloud's, and so are its faults.

    POST /records, GET /records?id=, GET /records?description=, GET /records/ID, PUT /records/ID, DELETE /records/ID
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.table import Column, States, Table, TokenPlace
from isotherm.resources.schema import ANY, LIST, STRING, AttributeSchema, Schema
from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.cloud import RECORD, Cloud, Thing, ThingInUse
from isotherm.sim.world.faults import Faults
from isotherm.sim.world.twin import LATE_S, UNLISTED_S, TwinRequest, broken_connection, later, refusal, reply

SERVICE = "records"
_STATUS = {"BUILDING": "BUILD", "READY": "ACTIVE", "ERROR": "ERROR"}
_TOKEN = "isotherm-"


class Record(TableResource):
    """An object of the simulated cloud that is described by a table. `fixed` and `base` cannot change in place."""

    TYPE = RECORD
    DESCRIPTION = "An object of the simulated cloud that is called over HTTP."
    table = Table(
        service=SERVICE, path="/records", key="record", lists_by_id=True,
        states=States(ready=frozenset({"ACTIVE"}), waiting=frozenset({"BUILD"}), failed=frozenset({"ERROR"})),
        token=TokenPlace(field="description", query="description"),
        columns={
            "a": Column(schema=Schema(STRING, "Changes in place.", update_allowed=True)),
            "fixed": Column(schema=Schema(STRING, "A change replaces the object.")),
            "base": Column(schema=Schema(ANY, "Another object; a change replaces this one.")),
            "link": Column(schema=Schema(ANY, "Another object; changes in place.", update_allowed=True)),
            "uses": Column(schema=Schema(LIST, "Other objects; change in place.", update_allowed=True)),
            "seen": Column(schema=Schema(ANY, "What another object shows.", update_allowed=True)),
            "secret": Column(schema=Schema(STRING, "Something to keep.", update_allowed=True)),
            "fail": Column(schema=Schema(STRING, "Fail at create, build, update or delete.", update_allowed=True)),
        },
        attributes={"echo": AttributeSchema("The property a, as the cloud has it.")},
    )
    OWN: ClassVar[frozenset[str]] = frozenset({"id", "name", "status", "description"})

    def create_body(self) -> Found:
        return {**super().create_body(), "name": self.physical_name}

    @property
    def is_made_by_post(self) -> bool:
        return True

    def live(self, found: Found) -> Found:
        return {name: found.get(name) for name in self.table.columns}

    async def attribute_in(self, name: str, found: Found) -> object:
        return found.get("a") if name == "echo" else await super().attribute_in(name, found)

    async def handle_suspend(self) -> object:
        return await self._set_suspended("yes")

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return await self.check_update_complete(progress)

    async def handle_resume(self) -> object:
        return await self._set_suspended(None)

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return await self.check_update_complete(progress)

    async def check_check_complete(self, progress: Any) -> bool | contract.Wait:
        return await self.check_update_complete(progress)

    async def _set_suspended(self, suspended: str | None) -> object:
        found = await self.show()
        if found is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        if found.get("rest") != suspended:
            await self.service.put(self.path, {self.table.key: {"rest": suspended}})
        return None


class Records:
    """The service. The cloud itself is busy, refuses, is slow, loses answers and lets processes die."""

    def __init__(self, cloud: Cloud, chance: Chance, faults: Faults) -> None:
        self._cloud = cloud
        self._chance = chance
        self._faults = faults
        self._made = 0
        # When the newest objects were made: lists may lack them.
        self._made_at: dict[str, float] = {}
        self._tokens: dict[str, str] = {}

    async def answer(self, asked: TwinRequest) -> Reply:
        try:
            match asked.method, asked.path[1:]:
                case "POST", ():
                    return await self._create(asked.body["record"])
                case "GET", ():
                    return await self._list(asked)
                case "GET", (id_,):
                    return self._shown(id_, await self._cloud.get(id_))
                case "PUT", (id_,):
                    return await self._update(id_, asked.body["record"])
                case "DELETE", (id_,):
                    return reply(204) if await self._cloud.delete(id_) else _missing(id_)
        except errors.Temporary as error:
            # The gateway's own answer, or that of a busy service: which of them says whether something was done.
            return refusal(503, str(error), retry_after=f"{error.retry_after_s:.0f}")
        except ThingInUse as error:
            return refusal(409, str(error))
        except errors.Permanent as error:
            return refusal(400, str(error))
        except ConnectionError:
            raise broken_connection() from None
        return refusal(405, f"{asked.method} {'/'.join(asked.path)}")

    async def _create(self, body: Mapping[str, Any]) -> Reply:
        stack, name, _ = body["name"].rsplit("-", 2)
        self._made += 1
        properties = {key: value for key, value in body.items() if key not in Record.OWN}
        thing = Thing(f"{stack}-{name}-{self._made:08x}", RECORD, body["description"].removeprefix(_TOKEN), stack, name,
                      properties, 0.0, made=dict(properties))
        self._tokens[thing.id] = thing.token
        if self._chance.strikes("request late", "twin.create"):
            await self._create_late(thing)
        self._made_at[thing.id] = asyncio.get_running_loop().time()
        await self._cloud.create(RECORD, thing.token, properties, thing.id)
        return self._shown(thing.id, await self._read(thing.id), status=201)

    async def _create_late(self, thing: Thing) -> None:
        """Carry the request out after its client has died, or has lost its connection."""
        await self._cloud.arrive("create", thing)
        seconds = self._chance.world.uniform(0.5, LATE_S)

        def effect() -> None:
            # What it refers to may be gone by now: then the service refuses it, and reports that to no client.
            if not self._cloud.unusable(thing.properties):
                self._made_at[thing.id] = asyncio.get_running_loop().time()
                with contextlib.suppress(errors.Permanent):
                    self._cloud.carry_out(thing)

        later(seconds, effect, self._faults.no_process)
        process = processes.current()
        if process is not None and process.killable and self._chance.world.random() < 0.5:
            self._faults.kill(process, "twin.create.sent")
            await self._faults.point("twin.create.sent")
        raise broken_connection()

    async def _list(self, asked: TwinRequest) -> Reply:
        ids = asked.values("id")
        for text in asked.values("description"):
            found = await self._cloud.find(text.removeprefix(_TOKEN))
            ids += [found] if found is not None else []
        answers = dict(zip(ids, await self._cloud.get_many(ids), strict=True)) if ids else {}
        now = asyncio.get_running_loop().time()
        late = self._chance.strikes("list late", "twin.list")
        return reply(200, {"records": [
            self._body(id_, found) for id_, found in answers.items()
            if found is not None and not (late and now - self._made_at.get(id_, 0.0) < UNLISTED_S)]})

    async def _update(self, id_: str, changes: Mapping[str, Any]) -> Reply:
        thing = self._cloud.things.get(id_)
        if thing is None or not await self._cloud.update(id_, {**thing.properties, **changes}, changes):
            return _missing(id_)
        return self._shown(id_, await self._read(id_))

    async def _read(self, id_: str) -> Mapping[str, Any] | None:
        """Return an object for the answer to a change: that is part of the same request."""
        thing = self._cloud.things.get(id_)
        return None if thing is None else {**thing.properties, "status": self._cloud.status(thing)}

    def _shown(self, id_: str, found: Mapping[str, Any] | None, status: int = 200) -> Reply:
        return _missing(id_) if found is None else reply(status, {"record": self._body(id_, found)})

    def _body(self, id_: str, found: Mapping[str, Any]) -> dict[str, Any]:
        return {**found, "id": id_, "status": _STATUS[found["status"]], "description": f"{_TOKEN}{self._tokens[id_]}"}


def _missing(id_: str) -> Reply:
    return refusal(404, f"Record {id_} could not be found.")
