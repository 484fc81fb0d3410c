"""Checks of imports: what was found of an object beside its definition, and what an import may not change. Pure reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.planning import desired
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract
from isotherm.resources.reality import drift
from isotherm.resources.reality.observation import Gone, LiveState, Seen, Unseen
from isotherm.resources.schema import Schema
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.operations import plan
from isotherm.store.reads import lookups
from isotherm.store.records import Input
from isotherm.store.versions import current

EQUAL, DIFFERS, NOT_FOUND, NOT_SEEN, NOT_OBSERVABLE = "equal", "differs", "not found", "not seen", "not observable"
UNKNOWN = "(known only when applied)"
_REFUSED = {NOT_FOUND: "there is no such object", NOT_SEEN: "it could not be observed"}
_HINTS = {NOT_FOUND: "Name the object by the id that its service gives it.",
          NOT_SEEN: "Ask again when its service answers."}


class ImportReferences(PublishedReferences):
    """References in which values that no resource has published yet are a fixed word."""

    def reference_id(self, resource: str) -> object:
        return UNKNOWN if self._published(resource) is None else super().reference_id(resource)

    def attribute(self, resource: str, attr: str, path: Sequence[Any] = ()) -> Any:
        return UNKNOWN if self._published(resource) is None else super().attribute(resource, attr, path)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object as an observation has found it, beside the definition of its resource."""

    name: str
    type: str
    physical_id: str
    result: str
    reason: str = ""
    # By property: the live value, and the one that the template wants.
    differences: Mapping[str, tuple[Any, Any]] | None = None
    live: Mapping[str, Any] | None = None

    @property
    def problem(self) -> errors.Problem | None:
        """Return why the object cannot be imported; None if it can."""
        if self.result not in _REFUSED:
            return None
        reason = f" ({self.reason})" if self.reason else ""
        return errors.Problem(f"{_REFUSED[self.result]}: {self.physical_id}{reason}", f"resources.{self.name}",
                              hint=_HINTS[self.result])

    def as_dict(self) -> dict[str, Any]:
        differences = {} if self.differences is None else self.differences
        return {"resource_name": self.name, "resource_type": self.type, "physical_resource_id": self.physical_id,
                "found": self.result, "reason": self.reason,
                "changes": {name: {"from": live, "to": wanted} for name, (live, wanted) in differences.items()}}


def compared(
    state: contract.ResourceState, type_: type[contract.Resource], type_name: str, live: LiveState | None
) -> FoundObject:
    """Compare a live object with its definition, whose properties `state` has. None: the type cannot be observed."""
    about = state.name, type_name, state.physical_id or ""
    if live is None:
        return FoundObject(*about, NOT_OBSERVABLE)
    if isinstance(live, Gone):
        return FoundObject(*about, NOT_FOUND)
    if isinstance(live, Unseen):
        return FoundObject(*about, NOT_SEEN, live.reason)
    wanted = drift.to_change(type_, state.properties, live, state.properties)
    differences = {name: (live.properties[name], value) for name, value in wanted.items()}
    return FoundObject(*about, DIFFERS if differences else EQUAL, "", differences, live.properties)


def live_properties(type_: type[contract.Resource], live: Seen) -> dict[str, Any]:
    """Return the live properties that a template has to give: those that the type shows and that are no defaults."""

    def counts(schema: Schema, value: Any) -> bool:
        shown = schema.observable and schema.implemented and not (schema.managed or schema.write_only)
        return shown and value not in (None, "", [], {}) and value != schema.default

    return {name: live.properties[name] for name, schema in type_.properties_schema.items()
            if counts(schema, live.properties.get(name))}


def refuse_other_changes(
    connection: Connection, stack_id: str, goal: desired.Desired, names: Mapping[str, str]
) -> list[Input]:
    """Return the published values of the stack. Raises UserError if the template changes more than these resources."""
    if problems := tuple(_other_changes(connection, stack_id, goal, names)):
        raise errors.UserError(problems=problems)
    return [Input(name, id_, text) for name, id_, text in lookups.published(connection, stack_id, None)]


def unmade(connection: Connection, stack_id: str, names: Collection[str]) -> list[int]:
    """Return the versions of these names for which nothing was made: their creation was refused."""
    slots = [slot.resource_id for slot in current.of(connection, stack_id).values() if slot.name in names]
    found = rows.versions(connection, [id_ for id_ in slots if id_ is not None])
    return [id_ for id_, one in found.items() if one.physical_id is None and one.intent is None
            and (one.action, one.status) == (Action.CREATE, Status.FAILED)]


def _other_changes(
    connection: Connection, stack_id: str, goal: desired.Desired, names: Mapping[str, str]
) -> Iterator[errors.Problem]:
    present, planned = current.of(connection, stack_id), current.planned(connection, stack_id)
    wanted = {want.name: want for want in plan.recognised(connection, stack_id, goal.wanted)}
    for name in names:
        if name in present and present[name].resource_id not in (None, *unmade(connection, stack_id, names)):
            yield errors.Problem("the stack has it already.", f"resources.{name}", hint="Import under a name that is free.")
    for name, want in wanted.items():
        if name not in names and planned.get(name) != want.digest:
            yield errors.Problem("an import changes no other resource, and this one would change.", f"resources.{name}",
                                 hint="Update the stack to the rest of the template in an operation of its own.")
    for name in present.keys() - wanted.keys():
        yield errors.Problem("an import deletes no resource, and the template lacks this one.", f"resources.{name}",
                             hint="Give a template with all resources of the stack.")
