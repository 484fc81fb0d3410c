"""The base of types that are described by a table: the object, its name, and the token that it carries.

The search by token obeys the rule for requests in flight: a service carries a request out although its client has
died, and the object may appear seconds later. So an object counts as absent only when the intent is older than the
client's own time limit, or when the service refuses a second object anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import polls
from isotherm.resources.openstack import rest
from isotherm.resources.openstack.table import Table, TokenPlace
from isotherm.resources.translation import Kind, Rule

_SEARCH_PAUSE_S = 2.0
# How many ids one list is asked for: the URL of a request has a limit.
_IDS_PER_LIST = 150
# An object is found ready at most a tenth of its own time too late. The poll hub keeps the number of requests small.
POLL = contract.Poll(first=0.1, factor=1.1, most=10.0)
_TRAITS = contract.Traits(poll=POLL, failed_is_observed=True)

Found = dict[str, Any]
_PREFIX = "isotherm-"
# The characters of a name that is cut: its first two, and a hyphen in place of those that are left out.
_CUT_CHARS = 3
_TOKEN = re.compile(rf"{_PREFIX}[0-9a-f-]{{32,36}}")


class TableObject(contract.Resource):
    """An object of a service, as a table describes it."""

    table: ClassVar[Table]
    # Whether the object is read by a request of its own, even where many are asked for.
    is_asked_alone = False
    # How old the intent of a request without an answer is before the request is repeated: the client has given up by then,
    # and the service has had some more time. It was seen to carry a request out 1.5 seconds after its client had gone.
    flight_s = rest.TIMEOUT_S + 15.0

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "table" not in cls.__dict__:
            return
        table = cls.table
        cls.properties_schema = {name: column.schema for name, column in table.columns.items()}
        cls.attributes_schema = table.attributes
        cls.traits = replace(cls.traits if cls.traits != contract.Traits() else _TRAITS, service=table.service)
        resolved = tuple(Rule(Kind.RESOLVE, (name,), finder=column.finder)
                         for name, column in table.columns.items() if column.finder is not None)
        cls.translation_rules = (*cls.__dict__.get("translation_rules", ()), *resolved)

    # Requests.

    @property
    def service(self) -> rest.Service:
        return self.other_service(self.table.service, self.table.headers)

    def other_service(self, name: str, headers: Mapping[str, str] | None = None) -> rest.Service:
        """Return a service of the cloud that the resource is in."""
        return rest.Service(rest.require(self.context.cloud), name, headers or {})

    @property
    def path(self) -> str:
        """The path of the object."""
        return f"{self.collection}/{rest.part(self.physical_id)}"

    @property
    def collection(self) -> str:
        """The path of all objects; a type whose objects are below another object overrides this."""
        return self.table.path

    async def show(self) -> Found | None:
        """Return the object, or None if it is gone. Many that are asked for together are read by one list."""
        if self.physical_id is None or self.is_asked_alone or not (self.table.is_listed and self.table.path):
            return self.present(await self._show_alone())
        return self.present(await self.context.polls.show(self.listed_with, self.physical_id, self._show_alone))

    async def _show_alone(self) -> Found | None:
        answer = await self.service.find(self.path)
        return None if answer is None else answer[self.table.key]

    def present(self, found: Found | None) -> Found | None:
        """Return the object, or None if its state says that it is gone."""
        states = self.table.states
        gone = found is not None and states is not None and found.get(states.field) in states.gone
        return None if gone else found

    @property
    def listed_with(self) -> polls.ObjectList:
        """The collection of the object, as the hub lists it."""
        cloud, table = rest.require(self.context.cloud), self.table
        key = (cloud.credential.key, table.service, table.list_path or self.collection, tuple(table.headers.items()))
        return polls.ObjectList(key, self._list, _IDS_PER_LIST if table.lists_by_id else None)

    async def _list(self, ids: Sequence[str]) -> polls.Listing:
        table = self.table
        pages = await self.service.listing(table.list_path or self.collection, table.plural,
                                           {"id": list(ids)} if table.lists_by_id else {})
        return polls.Listing({self.id_in(one): one for page in pages for one in page if "id" in one}, len(pages))

    def id_in(self, found: Found) -> str:
        """Return the physical id of an object."""
        return str(found["id"])

    @property
    def default_name(self) -> str:
        """The name of an object whose template gives none: its unique end survives when it is cut."""
        name, limit = self.physical_name, self.name_chars
        if len(name) <= limit:
            return name
        return f"{name[:2]}-{name[3 - limit:]}" if limit > _CUT_CHARS else name[-limit:]

    @property
    def name_chars(self) -> int:
        """The longest default name."""
        return self.table.name_chars

    # The token.

    @property
    def token_text(self) -> str:
        """The token as the object carries it."""
        return f"{_PREFIX}{self.token}"

    def put_token(self, body: Found) -> None:
        """Put the token into the body of the POST."""
        place = self.table.token
        if place is None:
            return
        if place.is_list:
            body[place.field] = [*body.get(place.field, ()), self.token_text]
        elif place.key:
            body[place.field] = {**body.get(place.field, {}), place.key: self.token_text}
        else:
            body[place.field] = self.token_text

    def carries_token(self, found: Found) -> bool:
        """Return whether an object was created for this token."""
        place = self.table.token
        if place is None:
            return False
        value = found.get(place.field)
        if place.is_list:
            return self.token_text in (value or ())
        return (value or {}).get(place.key) == self.token_text if place.key else value == self.token_text

    async def with_token(self) -> list[Found]:
        """Return the objects that carry the token, the oldest first."""
        place = self.table.token
        if place is None:
            return []
        path = self.table.list_path or self.collection
        found = await self.service.pages(path, self.table.plural, self.token_query(place))
        return sorted(filter(self.carries_token, found), key=lambda one: str(one.get("created_at", "")))

    def token_query(self, place: TokenPlace) -> dict[str, str]:
        """Return the query of the list of objects that carry the token."""
        return {place.query: self.token_text} if place.query else {}

    async def find_by_token(self) -> contract.Search:
        found = await self.with_token()
        if found:
            return contract.Found(self.id_in(found[0]))
        self.wait_for_flight()
        return contract.Absent()

    def wait_for_flight(self) -> None:
        """Raise Temporary while a request whose answer was lost may still be carried out."""
        age_s = self.context.clock.now() - self.begun_at
        if not self.table.is_unique and age_s < self.flight_s:
            raise errors.Temporary("making sure that nothing was left over", min(_SEARCH_PAUSE_S, self.flight_s - age_s))

    def without_token(self, found: Found) -> Found:
        """Return the object without the token that it carries."""
        place = self.table.token
        if place is None or not self.carries_token(found):
            return found
        if place.is_list:
            return {**found, place.field: [one for one in found[place.field] if one != self.token_text]}
        if place.key:
            return {**found, place.field: {key: one for key, one in found[place.field].items() if key != place.key}}
        return {**found, place.field: ""}


def has_any_token(texts: Iterable[str]) -> bool:
    """Return whether one of these texts is the token of some resource."""
    return any(_TOKEN.fullmatch(text) for text in texts)


def neighbour(found: Found) -> Found:
    """Return an object of another resource, as an attribute shows it: without the token in its description."""
    has_token = _TOKEN.fullmatch(str(found.get("description") or "")) is not None
    return {**found, "description": ""} if has_token else found
