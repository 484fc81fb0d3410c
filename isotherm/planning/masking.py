"""Makes redactors, which know the secrets of a stack: hidden parameters, secrets of its parent, write-only properties.

Every text for users passes through a redactor. A nested stack gets the secrets of its parent by value, so that a hidden
value stays hidden under any parameter name, and in a template that a group makes for its members.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.planning import desired
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.resources.schema import Schema
from isotherm.secrets import MASK, Redactor
from isotherm.secrets.redactor import texts
from isotherm.template import environment
from isotherm.template.parameters.schema import ParameterSchema
from isotherm.template.text import document

NO_SECRETS = Redactor(())
WITHHELD = "the reason is withheld: it is not known any more what in it is secret"
TOO_LARGE = "the reason is withheld: the secrets of the resource are too large to be searched for in it"


def redactor(input_: desired.StackInput) -> Redactor:
    """Return the redactor of an input, which need not be valid."""
    return Redactor(_known(input_))


def size(input_: desired.StackInput) -> int:
    """Return the total number of characters of the secrets of an input."""
    return total(_known(input_))


def error(
    found: errors.UserError, input_: desired.StackInput, types: Registry, most: int | None = None
) -> errors.UserError:
    """Return an error about an input without secrets; without its text if more than `most` characters are secret."""
    known = [*_known(input_), *written(input_.template, types)]
    if most is not None and total(known) > most:
        return errors.UserError(TOO_LARGE, kind=found.kind)
    return Redactor(known).error(found)


def written_size(template: str, types: Registry) -> int:
    """Return the total number of characters of the write-only values that a template contains."""
    return total(written(template, types))


def total(values: Iterable[object]) -> int:
    """Return the total number of characters of values that are secret."""
    return sum(map(len, {text for value in values for text in texts(value)}))


def hidden_names(input_: desired.StackInput) -> frozenset[str]:
    """Return the names of the hidden parameters of a valid input."""
    if not input_.template or not _may_hide(input_):
        return frozenset()
    schemata = desired.parsed(input_.template).parameters
    hidden = (name for name, schema in schemata.items() if schema.hidden)
    return frozenset((*hidden, *environment.load(input_.environment).encrypted_param_names))


def _known(input_: desired.StackInput) -> Iterator[object]:
    yield from input_.secrets
    for part in input_.parts.kept:
        yield from _known(part.input)
    if _may_hide(input_):
        yield from _hidden(input_)


def _may_hide(input_: desired.StackInput) -> bool:
    """Return whether the input can have hidden parameters. Most texts lack the word; escapes might spell it."""
    text = input_.template
    return bool(input_.environment.get("encrypted_param_names")) or any(
        word in text for word in ("hidden", "NoEcho", "\\u", "\\x", "\\U"))


def _hidden(input_: desired.StackInput) -> Iterator[object]:
    """Yield the values of hidden parameters, as given and as converted."""
    try:
        given = environment.load(input_.environment)
        schemata = desired.parsed(input_.template).parameters
    except errors.UserError:
        yield from _hidden_roughly(input_)
        return
    for name, schema in schemata.items():
        if schema.hidden or name in given.encrypted_param_names:
            for value in (given.parameters.get(name), given.parameter_defaults.get(name), schema.default):
                yield value
                yield from _typed(schema, value)


def _typed(schema: ParameterSchema, value: Any) -> Iterator[object]:
    try:
        yield None if value is None else schema.convert(value)
    except (ValueError, TypeError):
        return


def _hidden_roughly(input_: desired.StackInput) -> Iterator[object]:
    """Yield the values of hidden parameters of a template that is not valid."""
    try:
        data = document.load(input_.template).data
    except errors.UserError:
        return
    found = data.get("parameters", data.get("Parameters")) if isinstance(data, Mapping) else None
    for name, one in found.items() if isinstance(found, Mapping) else ():
        if isinstance(one, Mapping) and (one.get("hidden") or one.get("NoEcho")):
            yield one.get("default", one.get("Default"))
            for section in ("parameters", "parameter_defaults"):
                given = input_.environment.get(section)
                yield given.get(name) if isinstance(given, Mapping) else None


def write_only(schemata: Mapping[str, Schema] | Schema | None, value: Any) -> Iterator[object]:
    """Yield the values of write-only properties, at any depth."""
    if isinstance(schemata, Schema):
        # One schema for all items of a list, or for all values of a map.
        many = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        for one in many:
            yield from [one] if schemata.write_only else write_only(schemata.schema, one)
    elif schemata and isinstance(value, Mapping):
        for name, one in value.items():
            known = schemata.get(name)
            if known is not None:
                yield from [one] if known.write_only else write_only(known.schema, one)


def has_write_only(schema: Schema) -> bool:
    """Return whether a property has a write-only part."""
    below = schema.schema.values() if isinstance(schema.schema, Mapping) else [schema.schema] if schema.schema else []
    return schema.write_only or any(has_write_only(one) for one in below)


def without_write_only(type_: type[contract.Resource] | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties, with a mask for each that has a write-only part."""
    schema = {} if type_ is None else type_.properties_schema
    hidden = {name for name, one in schema.items() if has_write_only(one)}
    return {name: MASK if name in hidden and value is not None else value for name, value in properties.items()}


def written(template: str, types: Registry) -> Iterator[object]:
    """Yield the values of write-only properties that a template contains."""
    try:
        data = document.load(template).data
    except errors.UserError:
        return
    found = data.get("resources", data.get("Resources")) if isinstance(data, Mapping) else None
    for one in found.values() if isinstance(found, Mapping) else ():
        if isinstance(one, Mapping):
            type_ = types.types.get(str(one.get("type", one.get("Type"))))
            if type_ is not None:
                yield from write_only(type_.properties_schema, one.get("properties", one.get("Properties")))


@dataclass(frozen=True, slots=True)
class OuterResource:
    """The parent resource of a nested stack: name, type as written, and what the nested stack may read of it."""

    name: str
    type: str
    facade: Mapping[str, Any]


def inner(
    input_: desired.StackInput, around: OuterResource, child: contract.Child, types: Registry, secrets: Redactor
) -> desired.StackInput:
    """Return the input of a nested stack: its template, with the files, environment and secrets of the parent stack.

    A parameter that brings a secret is hidden in the nested stack, whatever its template says.
    """
    env = environment.load(input_.environment)
    inherited = types.inside(env, around.name, around.type, child.parameters).as_dict()
    inherited["encrypted_param_names"] = sorted(
        name for name, value in child.parameters.items() if secrets.has_secret(value))
    return desired.StackInput(child.template, input_.files, inherited, around.facade, child.exports, secrets=secrets.values)


def union(found: Iterable[Redactor]) -> Redactor:
    """Return a redactor that knows the secrets of all these."""
    return functools.reduce(Redactor.__add__, found, NO_SECRETS)


def loggable(error: BaseException, text: str = "") -> BaseException:
    """Return an exception as it may be logged: its kind, its traceback, and `text`, its message without secrets."""
    if isinstance(error, errors.Unavailable):
        # Every step fails with it at once, and the place is irrelevant: log one line without a traceback.
        error.__cause__, error.__suppress_context__ = None, True
        return error.with_traceback(None)
    kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
    shown: BaseException = kind(text or "(the message is withheld because it may contain secrets)")
    # For a debugger; no formatter prints it.
    shown.original = error  # type: ignore[attr-defined]
    return shown.with_traceback(error.__traceback__)
