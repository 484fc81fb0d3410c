"""Isotherm::Http::Object: an object of an HTTP service, described by the template alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import local_access
from isotherm.resources.http import filling
from isotherm.resources.http.schemas import (
    AUTH,
    AUTH_HEADER,
    BODY,
    CREATE,
    DELETE,
    FAILED,
    FIND,
    HEADERS,
    ID_PATH,
    METHOD,
    OBJECT,
    OBJECT_PATH,
    PATH,
    PROPERTIES,
    READ,
    READY,
    STATUSES,
    TIMEOUT,
    TOKEN_HEADER,
    UPDATE,
    URL,
    VALUES,
)
from isotherm.resources.schema import ANY, CACHE_NONE, STRING, AttributeSchema, Schema

_GONE = (404, 410)
# A proxy says 503 too, of a service that may have acted: such a request counts as begun.
_LATER = frozenset({408, 502, 503, 504})
# The same, and the service says that it has not begun with the request.
_NOT_BEGUN = frozenset({425, 429})
_LONGEST_PAUSE_S = 300.0
_LONGEST_TEXT = 300
_OWN_ID = "{token}"


class Object(contract.Resource):
    """An object of an HTTP service. The physical id is the service's id."""

    TYPE = "Isotherm::Http::Object"
    DESCRIPTION = ("An object of any service that speaks HTTP. In URLs and bodies, {id}, {token}, {name} and {object.a.b} "
                   "are filled in.")
    properties_schema: ClassVar[Mapping[str, Schema]] = PROPERTIES
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "id": AttributeSchema("What the service calls it.", STRING),
        "object": AttributeSchema("The object, as the service has it now.", ANY, CACHE_NONE),
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        create = properties[CREATE] or {}
        if filling.uses([create.get(URL), create.get(BODY)], "id"):
            yield "create: {id} is not known before it is made"
        if properties[FIND] and not filling.uses(properties[FIND][URL], "token"):
            yield "find: the URL has no {token} in it, so it finds anything"

    # Its life.

    async def handle_create(self) -> object:
        reply = await self._ask(CREATE, {self.properties[TOKEN_HEADER]: self.token})
        self.physical_id = self._id_in(reply)
        return None

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ready()

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.properties[UPDATE] and changed.keys() & {OBJECT, UPDATE}:
            await self._ask(UPDATE)
        return None

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ready()

    async def handle_delete(self) -> object:
        if self.physical_id is None:
            return None
        reply = await self._ask(DELETE, gone_is_fine=True)
        return {"awaited": True} if reply.status == 202 else None

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        if progress is None or await self._read() is None:
            return True
        return contract.Wait(reason="being deleted")

    async def find_by_token(self) -> contract.Search:
        find = self.properties[FIND]
        if self.context.http is None:
            return self._unknown(is_repeatable=False)
        if self.properties[ID_PATH] == _OWN_ID:
            self.physical_id = self.token
            return contract.found(self.token if await self._read() is not None else None)
        if not find:
            return self._unknown(is_repeatable=bool(self.properties[TOKEN_HEADER]))
        reply = await self._call(FIND, "GET", find[URL], None, {})
        if reply.status in _GONE:
            return contract.Absent()
        self._expect(FIND, reply, (200,))
        found = filling.found(_decoded(reply), find[ID_PATH])
        return contract.found(None if found is None else str(found))

    def _unknown(self, *, is_repeatable: bool) -> contract.CannotTell:
        create = self.properties[CREATE] or {}
        where = filling.url(create[URL], self._values()) if create.get(URL) else "the service"
        return contract.CannotTell(f"an object that {where} made for {self.physical_name}", is_repeatable)

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any],
                      changed: Mapping[str, Any]) -> str | None:
        if CREATE in changed and (before.get(CREATE) or {}).get(URL) != (after.get(CREATE) or {}).get(URL):
            return CREATE
        return OBJECT if OBJECT in changed and not after.get(UPDATE) else None

    # Reality.

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self._read()
        if found is None:
            return contract.Gone()
        return contract.Seen({OBJECT: _like(self.properties[OBJECT], self._object_in(found))})

    async def attribute(self, name: str) -> object:
        if name == "id" or self.physical_id is None:
            return self.physical_id
        found = await self._read()
        return None if found is None else self._object_in(found)

    async def _ready(self) -> bool | contract.Wait:
        ready = self.properties[READY]
        if not ready:
            return True
        found = await self._read()
        state = str(filling.found(_decoded(found), ready[PATH])) if found is not None else "not there"
        if found is not None and state in ready[VALUES]:
            return True
        if found is not None and state in (ready[FAILED] or ()):
            raise errors.Permanent(f"the service says that it is {state}")
        return contract.Wait(reason=f"the service says: {state}"[:_LONGEST_TEXT])

    def _object_in(self, reply: local_access.Reply) -> Any:
        return filling.found(_decoded(reply), self.properties[OBJECT_PATH])

    def _id_in(self, reply: local_access.Reply) -> str:
        path = self.properties[ID_PATH]
        if path == _OWN_ID:
            return self.token
        if path.startswith("header:"):
            value = reply.headers.get(path.removeprefix("header:").strip().lower(), "")
            found: Any = value.rstrip("/").rpartition("/")[2] or None
        else:
            found = filling.found(_decoded(reply), path)
        # Not every database can keep NUL, and an id that is stored without it names no object.
        if not isinstance(found, str | int) or isinstance(found, bool) or found == "" or "\0" in str(found):
            raise errors.Permanent(f"it was made, but the answer has no id at {path}")
        return str(found)

    # Asking.

    async def _read(self) -> local_access.Reply | None:
        """Return the reply for the object, or None if it is gone."""
        reply = await self._ask(READ, gone_is_fine=True)
        return None if reply.status in _GONE else reply

    async def _ask(
        self, what: str, headers: Mapping[str, str] | None = None, *, gone_is_fine: bool = False
    ) -> local_access.Reply:
        request = self.properties[what] or {METHOD: "DELETE", STATUSES: [200, 202, 204]}
        body = None
        if what in (CREATE, UPDATE):
            body = self.properties[OBJECT] if request.get(BODY) is None else filling.body(request[BODY], self._values())
        reply = await self._call(what, request[METHOD], request.get(URL) or self.properties[READ][URL], body, headers or {})
        if not (gone_is_fine and reply.status in _GONE):
            self._expect(what, reply, request[STATUSES])
        return reply

    async def _call(self, what: str, method: str, url: str, body: Any, headers: Mapping[str, str]) -> local_access.Reply:
        if self.context.http is None:
            raise errors.Permanent(f"{self.TYPE} is not allowed here. {local_access.HINT}")
        sent = {"Accept": "application/json", **(self.properties[HEADERS] or {})}
        sent.update({name: value for name, value in headers.items() if name})
        if self.properties[AUTH]:
            sent[self.properties[AUTH_HEADER] or "Authorization"] = self.properties[AUTH]
        if body is not None and not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = "text/plain; charset=utf-8" if isinstance(body, str) else "application/json"
        content = b"" if body is None else body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        where = filling.url(url, self._values())
        return await self.context.http.call(local_access.Call(method, where, sent, content, self.properties[TIMEOUT]))

    def _values(self) -> dict[str, Any]:
        return {"id": self.physical_id, "token": self.token, "name": self.physical_name, "object": self.properties[OBJECT]}

    def _expect(self, what: str, reply: local_access.Reply, statuses: Any) -> None:
        if reply.status in (statuses or ()):
            return
        text = reply.body[:_LONGEST_TEXT].decode("utf-8", "replace").strip()
        secret = self.properties[AUTH]
        if secret:
            text = text.replace(secret, "******")
        said = f"{what}: the service answered {reply.status}" + (f": {text}" if text else "")
        if reply.status in _NOT_BEGUN:
            raise errors.NotBegun(said, _pause(reply))
        if reply.status in _LATER:
            raise errors.Temporary(said, _pause(reply))
        raise errors.Permanent(said)


def _pause(reply: local_access.Reply) -> float | None:
    """Return what the header Retry-After says, in seconds; None without one."""
    text = reply.headers.get("retry-after", "")
    return min(float(text), _LONGEST_PAUSE_S) if text.isdigit() and text.isascii() else None


def _decoded(reply: local_access.Reply) -> Any:
    try:
        return msgspec.json.decode(reply.body) if reply.body else None
    except msgspec.DecodeError:
        raise errors.Permanent("the service's answer is not JSON") from None


def _like(wanted: Any, live: Any) -> Any:
    """Return the live value, reduced to the keys that the template gives."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return live
    return {name: _like(one, live[name]) for name, one in wanted.items() if name in live}
