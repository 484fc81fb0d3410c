"""Observation of objects that are described by a table: states, live values, many at once, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import polls
from isotherm.resources.openstack.table_object import Found, TableObject


class ObservedObject(TableObject):
    """An object whose state, properties and attributes are read from the service."""

    def __init__(self, state: contract.ResourceState, context: contract.Context) -> None:
        super().__init__(state, context)
        # The object as the service showed it last, for the attributes.
        self.shown_last: Found | None = None

    # States.

    def problem_of(self, found: Found) -> str:
        """Return the problem of an object in an error state; empty if it has none."""
        states = self.table.states
        if states is None:
            return ""
        state = str(found.get(states.field) or "")
        if state in states.ready or state in states.waiting:
            return ""
        value: Any = found
        for key in states.explained_at:
            value = value.get(key) if isinstance(value, Mapping) else None
        known = state in states.failed
        return f"{self.name} went to status {state or 'unknown'}" + ("" if known else ", which is not known") + (
            f": {value}" if value else "")

    def is_waiting(self, found: Found) -> str:
        """Return what is waited for: the state; empty if the object is ready."""
        states = self.table.states
        if states is None or found.get(states.field) in states.ready:
            return ""
        return f"the status is {found.get(states.field)}"

    # Reality.

    async def handle_get_reality(self) -> contract.LiveState:
        return await self.completed(await self.show())

    async def completed(self, found: Found | None) -> contract.LiveState:
        """Return the live state of an object, shown alone or in a list. A type adds what only further requests tell."""
        return self.gone_or_seen(found)

    def gone_or_seen(self, found: Found | None) -> contract.LiveState:
        return contract.Gone() if found is None else self.seen(found)

    def seen(self, found: Found) -> contract.LiveState:
        """Return the live state of an object."""
        states = self.table.states
        is_broken = states is not None and found.get(states.field) in states.failed
        return contract.Seen(self.live(found), broken=self.problem_of(found) if is_broken else "")

    def live(self, found: Found) -> Found:
        """Return the live values of the properties that can change in place and that the object shows."""
        return {name: column.from_wire(found[wire]) if column.from_wire else found[wire]
                for name, column in self.table.columns.items()
                if column.schema.update_allowed and column.is_sent and (wire := column.wire or name) in found}

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        resources = [cls(one, context) for one in many]
        listable = [one for one in resources if one.physical_id is not None and cls.table.is_listed and cls.table.path]
        if len(listable) < 2:
            return [await contract.observe(one) for one in resources]
        found: dict[str, Found | None] = {}
        # Objects below different objects are in different collections.
        for collection, ids in _by_collection(listable).items():
            found |= zip(ids, await context.polls.show_many(collection, ids), strict=True)
        return [await one.observed(found.get(str(one.physical_id))) for one in resources]

    async def observed(self, known: Found | None) -> contract.LiveState:
        """Return the live state of an object that a list shows; observe by itself one that the list lacks."""
        if known is None:
            # A list may lack an object that was made a moment ago: only a request for the object itself is proof.
            self.is_asked_alone = True
            return await contract.observe(self)
        return await self.completed(self.present(known))

    # Attributes.

    async def attribute(self, name: str) -> object:
        if self.physical_id is None:
            return None
        if self.shown_last is None:
            self.shown_last = await self.show()
        if self.shown_last is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        return await self.attribute_in(name, self.shown_last)

    async def attribute_in(self, name: str, found: Found) -> object:
        """Return an attribute of an object: `show` is all of it."""
        if name == "show":
            return self.without_token(found)
        return self.without_token(found).get(name)


def _by_collection(resources: Sequence[ObservedObject]) -> dict[polls.ObjectList, list[str]]:
    found: dict[polls.ObjectList, list[str]] = {}
    for one in resources:
        found.setdefault(one.listed_with, []).append(str(one.physical_id))
    return found
