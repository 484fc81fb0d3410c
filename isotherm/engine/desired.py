"""From what was asked for to what should be: an input is parsed, bound, validated, and turned into wanted resources."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isotherm.engine import documents
from isotherm.resources import validation
from isotherm.resources.registry import Registry
from isotherm.states import DeletionPolicy
from isotherm.store.records import Wanted
from isotherm.template import document, environment, model, parameters


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user hands over: texts and data, nothing interpreted."""

    template: str
    files: Mapping[str, str]
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the stack is, as its templates see it."""

    name: str
    id: str
    project: str


@dataclass(frozen=True, slots=True)
class Desired:
    """What should be."""

    wanted: list[Wanted]
    bound: model.Bound
    values: parameters.Values
    description: str


def desire(asked: Asked, stack: Identity, types: Registry, *, validate: bool = True) -> Desired:
    """Raises UserError for whatever is wrong with the input. What was accepted once is not validated again."""
    template = model.parse(document.load(asked.template))
    surroundings = environment.load(asked.environment)
    pseudo = parameters.Pseudo(stack_name=stack.name, stack_id=stack.id, project_id=stack.project,
                               dialect=template.dialect)
    if validate:
        bound = validation.accept(template, surroundings, types, pseudo=pseudo, files=asked.files)
    else:
        bound = model.bind(template, parameters.bind(template.parameters, surroundings, pseudo), files=asked.files)
    return Desired(_wanted(bound, bound.values, surroundings, types), bound, bound.values, template.description)


def _wanted(
    bound: model.Bound, values: parameters.Values, surroundings: environment.Environment, types: Registry
) -> list[Wanted]:
    exports = _exports(bound, surroundings, types)
    plain = surroundings.registry.is_empty
    wanted = []
    for name, definition in bound.definitions.items():
        implementation = definition.type if plain else types.resolve(definition.type, surroundings, name).TYPE
        restricted = [] if plain else sorted(surroundings.restricted_actions_for(name))
        target = documents.Target(definition.freeze(), implementation, exports.get(name, []), restricted)
        text = documents.encode(target)
        wanted.append(
            Wanted(name, _digest(text, definition.secrets, values), text, tuple(sorted(definition.requires)),
                   DeletionPolicy[definition.deletion_policy.upper()])
        )
    return wanted


def _digest(text: str, secrets: frozenset[str], values: parameters.Values) -> str:
    """Tells one definition from another, also where the difference is a hidden value, which it does not give away."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(secrets):
        secret = documents.encode(values[name]).encode()
        digest.update(hashlib.blake2b(secret, digest_size=16, key=text.encode()[:64]).digest())
    return digest.hexdigest()


def _exports(bound: model.Bound, surroundings: environment.Environment, types: Registry) -> dict[str, list[str]]:
    """By resource: the attributes that somebody reads."""
    needed: dict[str, set[str]] = {}
    readers = itertools.chain((d.needs for d in bound.definitions.values()), (o.needs for o in bound.outputs.values()))
    for needs in readers:
        for name, path in needs:
            if name in bound.definitions:
                needed.setdefault(name, set()).update(_attribute_names(bound, name, path, surroundings, types))
    return {name: sorted(attributes) for name, attributes in needed.items()}


def _attribute_names(
    bound: model.Bound, name: str, path: tuple[Any, ...], surroundings: environment.Environment, types: Registry
) -> list[str]:
    if path:
        return [str(path[0])]
    type_ = types.resolve(bound.definitions[name].type, surroundings, name)
    return [attribute for attribute in type_.attributes_schema if attribute != "show"]
