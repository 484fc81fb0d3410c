"""From what was asked for to what should be: an input is parsed, bound, validated, and turned into wanted resources."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isotherm.planning import documents, off_loop
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.nested.nested_stack import within
from isotherm.resources.registry import Registry
from isotherm.resources.validation import validate as validate_validation
from isotherm.states import DeletionPolicy
from isotherm.store.records import Wanted
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.parameters import parameters
from isotherm.template.text import document

PRE_UPDATE = "pre-update"
# How many templates are kept as they were read.
_AT_HAND = 8


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Files and the environment around resources. `names` are those of the resources, where not all."""

    files: Mapping[str, str]
    environment: Mapping[str, Any]
    names: tuple[str, ...] = ()

    def is_like(self, other: Surroundings) -> bool:
        return self.files == other.files and _inherited(self.environment) == _inherited(other.environment)


def _inherited(surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an environment that a stack inside inherits."""
    return {name: one for name, one in surroundings.items() if name != "parameters"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user hands over: texts and data, nothing interpreted."""

    template: str
    files: Mapping[str, str]
    environment: Mapping[str, Any]
    facade: Mapping[str, Any] | None = None
    # Of a stack inside: paths of attributes that the resource around it reads, by the resource's name or `*`.
    exports: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    # By resource: what its type kept for the snapshot that the stack is brought back to.
    restored: Mapping[str, Any] = field(default_factory=dict)
    # Of a stack inside: what the stack around it hides.
    secrets: tuple[str, ...] = ()
    # Of a group: what those members keep that an update in batches has not reached.
    older: tuple[Surroundings, ...] = ()

    def around(self, name: str) -> Surroundings:
        """Return the files and the environment around one of the resources."""
        return next((one for one in self.older if name in one.names), Surroundings(self.files, self.environment))

    @property
    def size(self) -> int:
        """How big it is without its files: what it takes to read it."""
        return len(self.template) + off_loop.weight(self.environment) + off_loop.weight(self.secrets)


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


def desire(
    asked: Asked,
    stack: Identity,
    types: Registry,
    *,
    validate: bool = True,
    bounds: validate_validation.Bounds = validate_validation.BOUNDS,
) -> Desired:
    """Raises UserError for whatever is wrong with the input. What was accepted once is not validated again."""
    if asked.older:
        return _desire_apart(asked, stack, types, validate=validate, bounds=bounds)
    template = model.parse(document.load(asked.template))
    surroundings = environment.load(asked.environment)
    pseudo = _pseudo(template, stack)
    facade = None if asked.facade is None else model.Facade(**asked.facade)
    if validate:
        bound = validate_validation.accept(template, surroundings, types, pseudo=pseudo, files=asked.files, facade=facade,
                                  bounds=bounds)
    else:
        values = parameters.bind(template.parameters, surroundings, pseudo)
        bound = model.bind(template, values, files=asked.files, facade=facade)
    return Desired(_Wanting(bound, surroundings, types, asked).wanted(), bound, bound.values, template.description)


def _desire_apart(
    asked: Asked, stack: Identity, types: Registry, *, validate: bool, bounds: validate_validation.Bounds
) -> Desired:
    """Where some keep what they have around them: each is seen with its own. They were accepted with it."""
    template = document.load(asked.template).data
    kept = {name for one in asked.older for name in one.names}

    def part(around: Surroundings, names: Collection[str], *, judged: bool) -> Desired:
        resources = {name: one for name, one in template["resources"].items() if name in names}
        text = documents.encode({**template, "resources": resources})
        alone = replace(asked, template=text, files=around.files, environment=around.environment, older=())
        return desire(alone, stack, types, validate=judged, bounds=bounds)

    newest = part(Surroundings(asked.files, asked.environment), template["resources"].keys() - kept, judged=validate)
    found = {want.name: want for want in newest.wanted}
    for one in asked.older:
        found |= {want.name: want for want in part(one, one.names, judged=False).wanted}
    return replace(newest, wanted=[found[name] for name in template["resources"] if name in found])


def bound(asked: Asked, stack: Identity) -> model.Bound:
    """The template with its values, of an input that was accepted once."""
    template = parsed(asked.template)
    values = parameters.bind(template.parameters, environment.load(asked.environment), _pseudo(template, stack))
    around = None if asked.facade is None else model.Facade(**asked.facade)
    return model.bind(template, values, files=asked.files, facade=around)


@functools.lru_cache(maxsize=_AT_HAND)
def parsed(text: str) -> model.Template:
    """A template, to be read and not to be changed. Those who watch a stack ask for the same one again and again."""
    return model.parse(document.load(text))


def values_of(asked: Asked, stack: Identity) -> parameters.Values:
    """The values of all parameters that have one."""
    template = parsed(asked.template)
    return parameters.bind(template.parameters, environment.load(asked.environment), _pseudo(template, stack),
                           require_all=False, check_values=False)


def _pseudo(template: model.Template, stack: Identity) -> parameters.Pseudo:
    return parameters.Pseudo(stack_name=stack.name, stack_id=stack.id, project_id=stack.project, dialect=template.dialect)


class _Wanting:
    """Turns definitions into what the store keeps of them."""

    def __init__(
        self, bound: model.Bound, surroundings: environment.Environment, types: Registry, asked: Asked
    ) -> None:
        self._bound = bound
        self._surroundings = surroundings
        self._types = types
        self._asked = asked
        self._around = ""
        self._plain = surroundings.registry.is_empty

    def wanted(self) -> list[Wanted]:
        exports = self._exports()
        return [self._one(name, exports.get(name, [])) for name in self._bound.definitions]

    def _type(self, name: str) -> type[contract.Resource]:
        type_name = self._bound.definitions[name].type
        if self._plain and type_name in self._types.types:
            return self._types.types[type_name]
        return self._types.resolve(type_name, self._surroundings, name, self._bound.files)

    def _one(self, name: str, exports: list[str]) -> Wanted:
        definition, type_ = self._bound.definitions[name], self._type(name)
        hooks = [] if self._plain else sorted(self._surroundings.hooks_for(name))
        restricted = [] if self._plain else sorted(self._surroundings.restricted_actions_for(name))
        target = documents.Target(definition.freeze(), type_.implementation_name(), exports, restricted)
        target.restored = self._asked.restored.get(name)
        if nested_stack.is_stack(type_):
            target.surroundings = self._what_is_around()
        target.hooks = hooks
        text = documents.encode(target)
        return Wanted(
            name, _digest(text, definition.secrets, self._bound.values), text, tuple(sorted(definition.requires)),
            DeletionPolicy[definition.deletion_policy.upper()],
            always=type_.traits.replaced_by_each_update or PRE_UPDATE in hooks,
        )

    def _what_is_around(self) -> str:
        """Stands for all that a stack inside gets from here without being told: another one, and it is looked at."""
        if not self._around:
            given = {"environment": _inherited(self._asked.environment), "files": self._asked.files}
            self._around = hashlib.sha256(documents.encode(given).encode()).hexdigest()
        return self._around

    def _exports(self) -> dict[str, list[str]]:
        """By resource: the attributes that somebody reads."""
        bound, needed = self._bound, dict[str, set[str]]()
        readers = itertools.chain((d.needs for d in bound.definitions.values()), (o.needs for o in bound.outputs.values()))
        for needs in readers:
            for name, path in needs:
                if name in bound.definitions:
                    needed.setdefault(name, set()).update(self._attributes(name, path))
        self._add_exports(needed)
        return {name: sorted(attributes) for name, attributes in needed.items()}

    def _add_exports(self, needed: dict[str, set[str]]) -> None:
        """What the resource around this stack reads of it."""
        for pattern, paths in self._asked.exports.items():
            for name in self._bound.definitions if pattern == "*" else {pattern} & self._bound.definitions.keys():
                needed.setdefault(name, set()).update(*(self._attributes(name, tuple(path)) for path in paths))

    def _attributes(self, name: str, path: tuple[Any, ...]) -> list[str]:
        if not path:
            return [attribute for attribute in self._type(name).attributes_schema if attribute != "show"]
        if len(path) > 1 and nested_stack.reads_paths(self._type(name)):
            return [documents.encode(list(path))]
        if len(path) > 1 and within(str(path[0])) == (str(path[0]).removeprefix("resource."), []):
            # `[resource.web, ip]` is another way to say `[resource.web.ip]`.
            return [f"{path[0]}.{path[1]}"]
        return [str(path[0])]


def _digest(text: str, secrets: frozenset[str], values: parameters.Values) -> str:
    """Tells one definition from another, also where the difference is a hidden value, which it does not give away."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(secrets):
        secret = documents.encode(values[name]).encode()
        digest.update(hashlib.blake2b(secret, digest_size=16, key=text.encode()[:64]).digest())
    return digest.hexdigest()
