"""OS::Swift::Container: a container for objects.

Its name is its id, and a PUT of a container that exists changes that one. So a container is looked for before it is made,
it carries the token of its resource, and one that is not ours is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from isotherm import errors
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.swift.account import SERVICE, Account
from isotherm.resources.openstack.table import Column, Table, since
from isotherm.resources.schema import BOOLEAN, INTEGER, MAP, STRING, AttributeSchema, Schema

NAME, READ, WRITE = "name", "X-Container-Read", "X-Container-Write"
META, ACCOUNT_META, PURGE = "X-Container-Meta", "X-Account-Meta", "PurgeOnDelete"
TOKEN = "x-container-meta-isotherm"
_MARKED = "marked"
_NAME_BYTES = 256
# How many objects of a container one step deletes.
_PURGED = 200
_LATE_S = 180.0
_URLS = frozenset({"DomainName", "WebsiteURL", "RootURL"})
_NUMBERS = {"ObjectCount": "x-container-object-count", "BytesUsed": "x-container-bytes-used"}


def _column(schema: Schema) -> Column:
    return Column(schema=schema, is_sent=False)


class Container(TableResource):
    """A container of Swift."""

    TYPE = "OS::Swift::Container"
    DESCRIPTION = "A container for objects."
    table = Table(
        service=SERVICE, path="", key="container", is_listed=False, waits_for_delete=False,
        columns={
            NAME: _column(Schema(STRING, "The name of the container.")),
            READ: _column(Schema(STRING, "Who may read the container.", update_allowed=True)),
            WRITE: _column(Schema(STRING, "Who may write into the container.", update_allowed=True)),
            META: _column(Schema(MAP, "The metadata of the container. An empty value is no value to Swift.", default={},
                                 update_allowed=True)),
            ACCOUNT_META: _column(Schema(
                MAP, "Metadata that the account gets. It stays when the container is deleted.", default={},
                update_allowed=True, observable=False)),
            PURGE: _column(Schema(
                BOOLEAN, "Whether the objects of the container are deleted with it. A container with objects is "
                "not deleted otherwise.", default=False, update_allowed=True, observable=False, support=since("2015.1"))),
        },
        attributes={
            "DomainName": AttributeSchema("The host of the account's URL.", STRING),
            "WebsiteURL": AttributeSchema("The URL of the container.", STRING),
            "RootURL": AttributeSchema("The URL of the account.", STRING),
            "ObjectCount": AttributeSchema("The number of objects in the container.", INTEGER),
            "BytesUsed": AttributeSchema("The number of bytes in the container.", INTEGER),
            "HeadContainer": AttributeSchema("The headers of the container.", MAP),
        })

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        name = properties.get(NAME)
        if isinstance(name, str) and ("/" in name or not 1 <= len(name.encode("utf-8", "replace")) <= _NAME_BYTES):
            yield f"The name of a container has 1 to {_NAME_BYTES} bytes, and no slash."
        texts = [properties.get(READ), properties.get(WRITE)]
        for meta in (properties.get(META), properties.get(ACCOUNT_META)):
            texts += [text for pair in (meta or {}).items() for text in pair]
        if any(isinstance(one, str) and not one.isprintable() for one in texts):
            yield "The headers of a container have no line breaks or control characters."
        names = [one for meta in (META, ACCOUNT_META) for one in properties.get(meta) or ()]
        if any(not one or ":" in one or " " in one for one in names):
            yield "The names of metadata have neither spaces nor colons, and are not empty."

    @property
    def _account(self) -> Account:
        return Account.of(self.context.cloud)

    # Create.

    async def handle_create(self) -> object:
        name = str(self.properties[NAME] or self.default_name)
        found = await self._account.container(name)
        if found is not None and not self.carries_token(found):
            raise _exists(name)
        if not await self._account.put_container(name, {TOKEN: self.token_text}) and found is None:
            # Another client has created it since the search.
            await self._account.set_container_headers(name, {f"x-remove-{TOKEN.removeprefix('x-')}": "x"})
            raise _exists(name)
        self.physical_id = name
        return {"made": True}

    async def with_token(self) -> list[Found]:
        found = await self._account.container(str(self.properties[NAME] or self.default_name))
        return [dict(found)] if found is not None and self.carries_token(found) else []

    def carries_token(self, found: Mapping[str, str]) -> bool:
        return found.get(TOKEN) == self.token_text

    def id_in(self, found: Found) -> str:
        return str(self.properties[NAME] or self.default_name)

    async def finish(self) -> None:
        self.data[_MARKED] = True
        await self._set_headers({})

    async def _set_headers(self, before: Mapping[str, Any]) -> None:
        """Bring the headers of the container to the wanted ones; those of before that are not wanted are removed."""
        wanted = _headers(self.properties)
        gone = {f"x-remove-{name.removeprefix('x-')}": "x" for name in _headers(before).keys() - wanted.keys()}
        token = {TOKEN: self.token_text} if self.data.get(_MARKED) else {}
        await self._account.set_container_headers(str(self.physical_id), {**gone, **wanted, **token})
        account = _meta("x-account-meta", self.properties[ACCOUNT_META])
        if account:
            await self._account.set_headers(account)

    # Update.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        await self._set_headers(before)
        return None

    # Delete.

    async def delete_step(self, progress: Found) -> Found | None:
        if await self.show() is None:
            return None
        try:
            await self._account.delete_container(str(self.physical_id))
        except faults.NoSuchObject:
            return None
        except faults.InUse as error:
            return await self._emptied(progress, error)
        return None

    async def _emptied(self, progress: Found, refusal: faults.InUse) -> Found:
        """Delete some of the objects, if they are to be deleted with the container."""
        name = str(self.physical_id)
        found = await self._account.objects(name, limit=_PURGED)
        if found and not self.properties[PURGE]:
            raise errors.Permanent(f"The container {name} is not empty, and is deleted with its objects only with "
                                   f"{PURGE}: true. Its first object is {found[0]['name']}.")
        if not found and self.context.clock.now() - progress["since"] > _LATE_S:
            raise refusal
        for one in found:
            await self._account.delete_object(name, one["name"])
        # Without objects, the numbers that Swift keeps of the container are a little late.
        begun = self.context.clock.now() if found else progress["since"]
        return {"since": begun, "reason": "its objects are being deleted"}

    # Reality.

    async def _show_alone(self) -> Found | None:
        found = await self._account.container(str(self.physical_id))
        return None if found is None else dict(found)

    def present(self, found: Found | None) -> Found | None:
        """Return the container; None if another one of this name has taken its place."""
        if found is not None and self.data.get(_MARKED) and not self.carries_token(found):
            return None
        return found

    def live(self, found: Found) -> Found:
        meta = self.properties[META] or {}
        shown = {name: found.get(_name("x-container-meta", name), "") for name in meta}
        return {READ: found.get(READ.lower(), ""), WRITE: found.get(WRITE.lower(), ""),
                META: {name: given if str(given) == shown[name] else shown[name] for name, given in meta.items()}}

    # Attributes.

    async def attribute(self, name: str) -> object:
        if name not in _URLS:
            return await super().attribute(name)
        url = await rest.require(self.context.cloud).endpoint(SERVICE)
        if name == "DomainName":
            return urlsplit(url).hostname
        return f"{url}/{rest.part(self.physical_id or self.default_name)}" if name == "WebsiteURL" else url

    async def attribute_in(self, name: str, found: Found) -> object:
        if name in _NUMBERS:
            return int(found.get(_NUMBERS[name], 0))
        return self.without_token(found)

    def without_token(self, found: Found) -> Found:
        return {name: value for name, value in found.items() if name != TOKEN}


def _exists(name: str) -> errors.Permanent:
    return errors.Permanent(f"There is a container {name} that this stack did not make. Name another one, or adopt it with "
                            "external_id.")


def _headers(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a container with these properties."""
    acl = {name.lower(): str(properties[name]) for name in (READ, WRITE) if properties.get(name)}
    return {**acl, **_meta("x-container-meta", properties.get(META))}


def _meta(prefix: str, given: Mapping[str, Any] | None) -> dict[str, str]:
    return {_name(prefix, name): "" if value is None else str(value) for name, value in (given or {}).items()}


def _name(prefix: str, name: str) -> str:
    return f"{prefix}-{name}".lower()
