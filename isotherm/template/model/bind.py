"""Stage one for a whole template: raw resources and outputs to definitions.

Called by `model.bind` only. One pass over the resources; references are checked later (`check_references`), as in Heat,
since a definition may name a resource that is defined below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.template import limits as limiting
from isotherm.template.functions import node, walk
from isotherm.template.functions.context import Reader
from isotherm.template.functions.node import Function, Live, Misuse, Scope
from isotherm.template.model import uses
from isotherm.template.model.conditions import Conditions
from isotherm.template.model.definitions import Definition, Output
from isotherm.template.parameters import parameters
from isotherm.template.parse import Parser, condition_functions_of, functions_of
from isotherm.template.versions import Dialect

_POLICIES = {"Delete": "Delete", "Retain": "Retain", "Snapshot": "Snapshot"}
_LOWER_POLICIES = _POLICIES | {name.lower(): name for name in _POLICIES}
_EMPTY: frozenset[Any] = frozenset()


class _Parameters:
    """References of stage one: parameters only."""

    __slots__ = ("_known", "_values")

    def __init__(self, values: parameters.Values) -> None:
        self._values = values
        self._known: dict[str, Any] = {}

    def parameter(self, name: str) -> object:
        if name in self._known:
            return self._known[name]
        value = self._known[name] = self._values[name]
        return value

    def reference_id(self, resource: str) -> object:
        raise Misuse("resources do not exist yet")

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        raise Misuse("resources do not exist yet")

    def attributes(self, resource: str) -> object:
        raise Misuse("resources do not exist yet")


class Binder:
    """Binds the resources and outputs of one template."""

    def __init__(self, dialect: Dialect, resources: Mapping[Any, Any], values: parameters.Values, *,
                 limits: limiting.Limits, sources: Mapping[str, Any]) -> None:
        self._dialect = dialect
        self._words = dialect.words
        self._resources = resources
        self.names = frozenset(str(name) for name in resources)
        self._hidden = values.hidden
        self._scope = Scope(_Parameters(values), limiting.Budget(limits))
        self._policies = _LOWER_POLICIES if dialect.lower_case_policies else _POLICIES
        reader = Reader(resource_names=self.names, parameter_names=sources["parameter_names"],
                        plain={name: value for name, value in values.items() if name not in values.hidden},
                        files=sources["files"], mappings=sources["mappings"],
                        facade=sources["facade"], zones=sources["zones"])
        self.conditions = Conditions(sources["conditions"] if sources["has_conditions"] else {},
                                     dialect.words.conditions, Parser(condition_functions_of(dialect), reader),
                                     self._scope)
        self._parser = Parser(functions_of(dialect), reader)
        reader.is_true, reader.parse, reader.parse_condition = (
            self.conditions.is_true, self._parser.parse, self.conditions.parse)
        self._enabled: frozenset[str] = _EMPTY
        self._suspects: list[str] = []
        self._keys = self._field_keys()

    def _field_keys(self) -> tuple[str, ...]:
        words = self._words
        return (words.properties, words.metadata, words.depends_on, words.deletion_policy, words.update_policy,
                words.resource_description, words.external_id if self._dialect.has_external_id else "",
                words.condition if self._dialect.has_conditions else "")

    def definitions(self) -> dict[str, Definition]:
        found: dict[str, Definition] = {}
        for name, data in self._resources.items():
            definition = self._definition(str(name), data)
            if definition is not None:
                found[definition.name] = definition
        self._enabled = frozenset(found)
        for name, definition in found.items():
            if not definition.requires <= self._enabled:
                self._suspects.append(name)
                found[name] = msgspec.structs.replace(
                    definition, requires=definition.requires & self._enabled,
                    needs=frozenset(need for need in definition.needs if need[0] in self._enabled))
        return found

    def _definition(self, name: str, data: Mapping[str, Any]) -> Definition | None:
        words, path = self._words, (self._words.resources, name)
        properties_key, metadata_key, depends_key, deletion_key, update_key, text_key, external_key, condition_key = (
            self._keys)
        kind = data.get(words.type)
        if not kind:
            raise errors.UserError("Each Resource must contain a Type key.", path="")
        if not isinstance(kind, str):
            self._reduced(kind, (*path, words.type))  # a misused function is reported first
            raise self._wrong_type(name, words.type, "string")
        if "/" in name:
            raise errors.UserError('Resource name may not contain "/"')
        properties = self._tree(data, properties_key, path)
        metadata = self._tree(data, metadata_key, path)
        depends_on = self._depends_on(name, data[depends_key]) if depends_key in data else ()
        deletion_policy = self._deletion_policy(name, data) if deletion_key in data else "Delete"
        update_policy = self._tree(data, update_key, path)
        description = data.get(text_key, "")
        if not isinstance(description, str):
            raise self._wrong_type(name, text_key, "string")
        external_id = None
        if external_key in data:
            external_id = self._text(name, external_key, data[external_key])
            deletion_policy = "Retain"
        if condition_key in data and not self._is_enabled(name, data[condition_key]):
            return None
        requires, needs, secrets = uses.find(
            (properties, metadata), (properties, metadata, update_policy, external_id), self._hidden)
        if external_id is not None:
            requires, needs = _EMPTY, _EMPTY
        if depends_on and external_id is None:
            requires = requires.union(depends_on)
        return Definition(name, kind, properties, metadata, depends_on, deletion_policy, update_policy, external_id,
                          description, requires, needs, secrets, (words.resources, words.properties))

    def _tree(self, data: Mapping[str, Any], key: str, path: tuple[str, str]) -> Any:
        """Return a field that is a map, or a function that returns one, reduced by stage one."""
        if key not in data:
            return None
        given = data[key]
        if type(given) is not dict:
            raise self._wrong_type(path[1], key, "object")
        return self._reduced(given, (*path, key))

    def _reduced(self, given: Any, path: tuple[str, ...]) -> Any:
        try:
            parsed = self._parser.parse(given)
        except Misuse as misuse:
            raise _unreadable(misuse, path) from misuse
        if not isinstance(parsed, Live):
            return parsed
        value = walk.reduce(parsed, self._scope, self._hidden)
        return None if value is node.NOTHING else value

    def _depends_on(self, name: str, given: Any) -> tuple[str, ...]:
        if isinstance(given, str):
            return (given,)
        if not isinstance(given, list):
            raise self._wrong_type(name, self._words.depends_on, "list or string")
        if not all(isinstance(each, str) for each in given):
            raise errors.UserError(f"Resource {name} {self._words.depends_on} must be a list of strings")
        return tuple(dict.fromkeys(given))

    def _deletion_policy(self, name: str, data: Mapping[str, Any]) -> str:
        word = self._words.deletion_policy
        value = self._text(name, word, data[word])
        if isinstance(value, Live):
            try:
                value = walk.resolve(value, self._scope)
            except Misuse as misuse:
                kind = "" if misuse.kind in ("ValueError", "TypeError") else misuse.kind
                raise errors.UserError(misuse.message, kind=kind) from misuse
        if value is None:
            return "Delete"
        if not isinstance(value, str) or value not in self._policies:
            raise errors.UserError(f'Invalid deletion policy "{value}"', hint=f"one of {', '.join(self._policies)}")
        return self._policies[value]

    def _text(self, name: str, word: str, given: Any) -> Any:
        """Return a field that is a string, or a function that returns one."""
        if isinstance(given, str):
            return given
        value = self._reduced(given, (self._words.resources, name, word)) if isinstance(given, dict) else given
        if isinstance(given, dict) and value is not given:
            return value
        raise self._wrong_type(name, word, "string")

    def _is_enabled(self, name: str, given: Any) -> bool:
        path = (self._words.resources, name, self._words.condition)
        try:
            condition = self.conditions.parse(given)
        except Misuse as misuse:
            raise node.user_error(misuse, *path) from misuse
        if not isinstance(condition, str | bool | Function):
            raise self._wrong_type(name, self._words.condition,
                                   "string_or_boolean" if self._dialect.is_hot else "string or boolean")
        return self._holds(condition, path)

    def _holds(self, condition: Any, path: tuple[str, ...]) -> bool:
        try:
            return self.conditions.is_true(condition)
        except Misuse as misuse:
            if misuse.kind == "ValueError" and not misuse.path:
                raise errors.UserError(misuse.message, path=node.path_text(list(path))) from misuse
            raise node.user_error(misuse) from misuse

    def _wrong_type(self, name: str, word: str, wanted: str) -> errors.UserError:
        return errors.UserError(f"Resource {name} {word} type must be {wanted}")

    def check_references(self, definitions: Mapping[str, Definition]) -> None:
        for name in self._suspects:
            definition = definitions[name]
            for word, tree in (("Properties", definition.properties), ("Metadata", definition.metadata)):
                self._check_uses(tree, (name, word))
            for other in definition.depends_on:
                if other not in self.names:
                    raise _incorrect(other, name, self.names)
        for definition in definitions.values():
            if definition.external_id is not None and definition.depends_on:
                raise errors.UserError(f"Invalid dependency with external {definition.type} resource:"
                                       f" {definition.external_id}", kind="InvalidExternalResourceDependency")

    def _check_uses(self, tree: Any, path: tuple[str, ...]) -> None:
        for inner, function in node.functions(tree):
            for other, attribute in function.uses():
                uses.refuse_no_name(other, attribute)
                if other not in self._enabled:
                    raise _incorrect(other, node.path_text([*path, *inner]), self._enabled)

    def outputs(self, section: Any) -> dict[str, Output]:
        if not section:
            return {}
        if not isinstance(section, Mapping):
            raise errors.UserError(f"'{type(section).__name__}' object has no attribute 'items'",
                                   kind="AttributeError", path=self._words.outputs)
        return {str(name): self._output(str(name), data) for name, data in section.items()}

    def _output(self, name: str, data: Any) -> Output:
        words, path = self._words, (self._words.outputs, name)
        if not isinstance(data, Mapping):
            raise _output_error(path, f"Output definitions must be a map. Found a {type(data).__name__} instead")
        if words.value not in data:
            raise _output_error(path, "Each output definition must contain a "
                                      f"{words.value} key.")
        given = data.get(words.resource_description)
        description = "No description given" if given is None else str(given)
        spelled = (words.outputs, words.value)
        if self._dialect.has_conditions and not self._is_output_enabled(data.get(words.condition), path):
            return Output(name, None, description, False, path=spelled)
        value = self._reduced(data[words.value], (*path, words.value))
        for _, function in node.functions(value):
            for other, attribute in function.uses():
                uses.refuse_no_name(other, attribute)
        requires, needs, secrets = uses.find((value,), (value,), self._hidden)
        unknown = tuple(str(each) for each in requires if each not in self._enabled)
        return Output(name, value, description, True, requires & self._enabled,
                      frozenset(need for need in needs if need[0] in self._enabled), secrets, unknown, spelled)

    def _is_output_enabled(self, given: Any, path: tuple[str, ...]) -> bool:
        if given is None:
            return True
        path = (*path, self._words.condition)
        try:
            condition = self.conditions.parse(given)
        except Misuse as misuse:
            raise node.user_error(misuse, *path) from misuse
        return self._holds(condition, path)


def _unreadable(misuse: Misuse, path: tuple[str, ...]) -> errors.UserError:
    """Return the error of a misuse: the template is wrong, unless a parameter is missing from the request."""
    if misuse.kind in ("ValueError", "TypeError", "KeyError"):
        misuse.kind = "StackValidationFailed"
    if misuse.kind != "StackValidationFailed":
        return errors.UserError(misuse.message, kind=misuse.kind)
    return node.user_error(misuse, *path)


def _incorrect(name: object, place: str, names: Iterable[str]) -> errors.UserError:
    return errors.UserError(f'The specified reference "{name}" (in {place}) is incorrect.',
                            kind="InvalidTemplateReference", hint=errors.meant(name, sorted(names)))


def _output_error(path: tuple[str, str], message: str) -> errors.UserError:
    return errors.UserError(problems=(errors.Problem(message, path=".".join(path), label="Output validation error"),))
