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


def redactor(asked: desired.Asked) -> Redactor:
    """Return the redactor of an input, which need not be valid."""
    return Redactor(_known(asked))


def size(asked: desired.Asked) -> int:
    """Return the total number of characters of the secrets of an input."""
    return sum(len(text) for text in {text for value in _known(asked) for text in texts(value)})


def _known(asked: desired.Asked) -> Iterator[object]:
    yield from asked.secrets
    if _may_hide(asked):
        yield from _hidden(asked)


def _may_hide(asked: desired.Asked) -> bool:
    """Return whether the input can have hidden parameters. Most texts lack the word; escapes might spell it."""
    text = asked.template
    return bool(asked.environment.get("encrypted_param_names")) or any(
        word in text for word in ("hidden", "NoEcho", "\\u", "\\x", "\\U"))


def _hidden(asked: desired.Asked) -> Iterator[object]:
    """Yield the values of hidden parameters, as given and as converted."""
    try:
        given = environment.load(asked.environment)
        schemata = desired.parsed(asked.template).parameters
    except errors.UserError:
        yield from _hidden_roughly(asked)
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


def _hidden_roughly(asked: desired.Asked) -> Iterator[object]:
    """Yield the values of hidden parameters of a template that is not valid."""
    try:
        data = document.load(asked.template).data
    except errors.UserError:
        return
    found = data.get("parameters", data.get("Parameters")) if isinstance(data, Mapping) else None
    for name, one in found.items() if isinstance(found, Mapping) else ():
        if isinstance(one, Mapping) and (one.get("hidden") or one.get("NoEcho")):
            yield one.get("default", one.get("Default"))
            for section in ("parameters", "parameter_defaults"):
                given = asked.environment.get(section)
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
    asked: desired.Asked, around: OuterResource, child: contract.Child, types: Registry, secrets: Redactor
) -> desired.Asked:
    """Return the input of a nested stack: its template, with the files, environment and secrets of the parent stack.

    A parameter that brings a secret is hidden in the nested stack, whatever its template says.
    """
    surroundings = environment.load(asked.environment)
    inherited = types.inside(surroundings, around.name, around.type, child.parameters).as_dict()
    inherited["encrypted_param_names"] = sorted(
        name for name, value in child.parameters.items() if secrets.has_secret(value))
    return desired.Asked(child.template, asked.files, inherited, around.facade, child.exports, secrets=secrets.values)


def union(found: Iterable[Redactor]) -> Redactor:
    """Return a redactor that knows the secrets of all these."""
    return functools.reduce(Redactor.__add__, found, NO_SECRETS)
