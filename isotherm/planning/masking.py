"""What must not be told of a stack: the values of its hidden parameters, what the stack around it hides, and properties
that can be set and never read back.

Whoever tells something to people goes through a redactor that is made here. A stack inside knows the secrets of the one
around it by their values: a hidden value stays hidden whatever the parameter is called through which it comes, and even
where it stands in a template that a group has made for its members.
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

NOBODY = Redactor(())
WITHHELD = "the reason is withheld: it is not known any more what in it is secret"


def redactor(asked: desired.Asked) -> Redactor:
    """Knows the secrets of what was asked for, also of what is not valid."""
    return Redactor(_known(asked))


def size(asked: desired.Asked) -> int:
    """How many characters the secrets of what was asked for have together."""
    return sum(len(text) for text in {text for value in _known(asked) for text in texts(value)})


def _known(asked: desired.Asked) -> Iterator[object]:
    yield from asked.secrets
    if _may_hide(asked):
        yield from _hidden(asked)


def _may_hide(asked: desired.Asked) -> bool:
    """Whether it is worth while to look: most templates do not even have the word. One in disguise is looked at."""
    text = asked.template
    return bool(asked.environment.get("encrypted_param_names")) or any(
        word in text for word in ("hidden", "NoEcho", "\\u", "\\x", "\\U"))


def _hidden(asked: desired.Asked) -> Iterator[object]:
    """The values of hidden parameters, as they were given and as they are read."""
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
    """The same of a template that cannot be read as a whole."""
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
    """The values of properties that can never be read back, however deep."""
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
    """Whether there is anything in a property that can never be read back."""
    below = schema.schema.values() if isinstance(schema.schema, Mapping) else [schema.schema] if schema.schema else []
    return schema.write_only or any(has_write_only(one) for one in below)


def without_write_only(type_: type[contract.Resource] | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties, with a mask in place of each that holds something that can never be read back."""
    schema = {} if type_ is None else type_.properties_schema
    hidden = {name for name, one in schema.items() if has_write_only(one)}
    return {name: MASK if name in hidden and value is not None else value for name, value in properties.items()}


def written(template: str, types: Registry) -> Iterator[object]:
    """What stands in a template as the value of such a property."""
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
class Around:
    """The resource that a stack inside is: its name, its type as written, and what the stack inside may read of it."""

    name: str
    type: str
    facade: Mapping[str, Any]


def inner(asked: desired.Asked, around: Around, child: contract.Child, types: Registry, secrets: Redactor) -> desired.Asked:
    """What a stack inside is made of: its own template, and what the stack around has in files, environment, secrets.

    A parameter that brings one of the secrets is hidden inside, whatever the template inside says of it.
    """
    surroundings = environment.load(asked.environment)
    inherited = types.inside(surroundings, around.name, around.type, child.parameters).as_dict()
    inherited["encrypted_param_names"] = sorted(
        name for name, value in child.parameters.items() if secrets.has_secret(value))
    return desired.Asked(child.template, asked.files, inherited, around.facade, child.exports, secrets=secrets.values)


def union(found: Iterable[Redactor]) -> Redactor:
    """Knows what each of them knows."""
    return functools.reduce(Redactor.__add__, found, NOBODY)
