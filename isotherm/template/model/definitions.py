"""Resource definitions and outputs, once parameters and conditions are known.

A definition is self-contained: to resolve the rest of it takes only `References`, and `freeze` turns it into data that
another process can `thaw` without the template. It lists the resources and attributes that it requires, so that a graph
can be built without evaluating it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from isotherm import errors
from isotherm.template import limits
from isotherm.template.functions import node, walk
from isotherm.template.functions.node import Known, Live, Misuse, References, Scope
from isotherm.template.functions.references import select
from isotherm.template.model import frozen

__all__ = ["Definition", "Known", "Output", "References", "Resolved", "Unresolved", "resolve_value", "select", "thaw"]

Needs = frozenset[tuple[str, tuple[Any, ...]]]
_NOTHING_NEEDED: Needs = frozenset()


@dataclass(frozen=True, slots=True)
class Resolved:
    """A definition with every function replaced by its value."""

    properties: Any
    metadata: Any
    update_policy: Any
    external_id: Any


class Definition(msgspec.Struct, frozen=True, eq=True, gc=False):
    """The definition of one resource. Absent maps are None, as in Heat."""

    name: str
    type: str
    properties: Any = None
    metadata: Any = None
    depends_on: tuple[str, ...] = ()
    deletion_policy: str = "Delete"
    update_policy: Any = None
    external_id: Any = None
    description: str = ""
    requires: frozenset[str] = frozenset()
    needs: Needs = _NOTHING_NEEDED
    secrets: frozenset[str] = frozenset()
    # The first and third name of a property's path, in the spelling of the family.
    path: tuple[str, str] = ("resources", "properties")

    def resolve(self, references: References, *, limits: limits.Limits = limits.DEFAULT) -> Resolved:
        """Return the definition as plain data. Raises UserError with the path of the property and the kind of the cause."""
        return Resolved(self.resolve_properties(references, limits=limits),
                        self._plain(self.metadata, references, limits),
                        self.resolve_update_policy(references, limits=limits),
                        self.resolve_external_id(references, limits=limits))

    def resolve_properties(self, references: References, *, limits: limits.Limits = limits.DEFAULT) -> Any:
        if not isinstance(self.properties, node.LiveMap):
            return self._map(self.path[1], self._plain(self.properties, references, limits, self.path[1]))
        scope = Scope(references, _budget(limits))
        resolved = {}
        for name, value in self.properties.items():
            if isinstance(value, Live):
                value = _resolved(value, scope, (self.path[0], self.name, self.path[1], name))
            if value is not node.NOTHING:
                resolved[name] = value
        return resolved

    def resolve_update_policy(self, references: References, *, limits: limits.Limits = limits.DEFAULT) -> Any:
        return self._map(_word(self.path[1], "update_policy"), self._plain(self.update_policy, references, limits))

    def resolve_external_id(self, references: References, *, limits: limits.Limits = limits.DEFAULT) -> str | None:
        found = self._plain(self.external_id, references, limits)
        if found is None or isinstance(found, str):
            return found
        if isinstance(found, int | float) and not isinstance(found, bool):
            return str(found)
        raise self._no("external_id", "string", found)

    def _map(self, word: str, value: Any) -> Any:
        if value is None or isinstance(value, Mapping):
            return value
        raise self._no(word, "object", value)

    def _no(self, word: str, wanted: str, found: object) -> errors.UserError:
        """Return the error for a field that a function evaluated to a wrong type; the text is that of a literal."""
        return errors.UserError(f"Resource {self.name} {word} type must be {wanted}",
                                hint=f"the value of the function is of type {type(found).__name__}")

    def _plain(self, value: Any, references: References, limits: limits.Limits, *path: str) -> Any:
        if not isinstance(value, Live):
            return value
        return _resolved(value, Scope(references, _budget(limits)), (self.path[0], self.name, *path))

    def check(self, known: Known) -> None:
        """Check its functions: references, attributes, arguments. Raises UserError."""
        words = (self.path[1], _word(self.path[1], "metadata"), _word(self.path[1], "update_policy"))
        for word, value in zip(words, (self.properties, self.metadata, self.update_policy), strict=True):
            if isinstance(value, Live):
                _checked(value, known, (self.path[0], self.name, word))

    def freeze(self) -> Any:
        """Return compact JSON-able data: a list in the order of the fields."""
        freeze = frozen.freeze
        return [self.name, self.type, freeze(self.properties), freeze(self.metadata), list(self.depends_on),
                self.deletion_policy, freeze(self.update_policy), freeze(self.external_id), self.description,
                sorted(self.requires), [[name, freeze(list(path))] for name, path in sorted(self.needs, key=repr)],
                sorted(self.secrets), list(self.path)]


def type_of(data: Any) -> str:
    """Return the type in the data of `freeze`, without restoring the rest."""
    return str(data[1])


def thaw(data: Any) -> Definition:
    """Restore a definition from the data of `freeze`."""
    (name, kind, properties, metadata, depends_on, deletion_policy, update_policy, external_id, description, requires,
     needs, secrets, path) = data
    return Definition(
        name, kind, frozen.thaw(properties), frozen.thaw(metadata), tuple(depends_on), deletion_policy,
        frozen.thaw(update_policy), frozen.thaw(external_id), description, frozenset(requires),
        frozenset((each, tuple(frozen.thaw(steps))) for each, steps in needs), frozenset(secrets), tuple(path))


class Output(msgspec.Struct, frozen=True, eq=True, gc=False):
    """One output. `is_enabled` is false when its condition does not hold; its value is None then."""

    name: str
    value: Any = None
    description: str = "No description given"
    is_enabled: bool = True
    requires: frozenset[str] = frozenset()
    needs: Needs = _NOTHING_NEEDED
    secrets: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()  # missing resources that it refers to
    path: tuple[str, str] = ("outputs", "value")

    def resolve(self, references: References, *, limits: limits.Limits = limits.DEFAULT) -> Any:
        """Return the value. Raises UserError without a path, as Heat does for outputs."""
        if self.unknown:
            raise errors.UserError(f'The specified reference "{self.unknown[0]}" (in unknown) is incorrect.',
                                   kind="InvalidTemplateReference")
        if not isinstance(self.value, Live):
            return self.value
        return _resolved(self.value, Scope(references, _budget(limits)), ())

    def check(self, known: Known) -> None:
        if isinstance(self.value, Live):
            _checked(self.value, known, (self.path[0], self.name, self.path[1]))


class Unresolved:
    """References before any object exists: attributes are unknown, and an id is the name, as in Heat."""

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        self._parameters = parameters if parameters is not None else {}

    def reference_id(self, resource: str) -> object:
        return resource

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        return None

    def attributes(self, resource: str) -> object:
        return None

    def parameter(self, name: str) -> object:
        try:
            return self._parameters[name]
        except KeyError:
            raise errors.UserError(f"The Parameter ({name}) was not provided.", kind="UserParameterMissing") from None


def resolve_value(value: Any, references: References, *, limits: limits.Limits = limits.DEFAULT) -> Any:
    """Resolve a tree that may hold functions to plain data. Raises UserError."""
    return _resolved(value, Scope(references, _budget(limits)), ()) if isinstance(value, Live) else value


def _budget(given: limits.Limits) -> limits.Budget:
    return limits.Budget(given)


def _resolved(value: Any, scope: Scope, path: tuple[object, ...]) -> Any:
    try:
        found = walk.resolve(value, scope)
    except Misuse as misuse:
        # The path inside the value is left out: Heat's path ends at the property.
        raise errors.UserError(misuse.message, kind=misuse.kind, path=node.path_text(list(path))) from misuse
    return None if found is node.NOTHING and len(path) < 4 else found


def _checked(value: Any, known: Known, path: tuple[object, ...]) -> None:
    try:
        walk.check(value, known)
    except Misuse as misuse:
        raise node.user_error(misuse, *path) from misuse


def _word(properties: str, word: str) -> str:
    """Return the spelling of a section in the family that spells the properties so."""
    return word if properties == "properties" else {"metadata": "Metadata", "update_policy": "UpdatePolicy"}[word]
