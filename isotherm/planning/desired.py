"""Computes the desired state of a stack: parses, binds and validates an input, and makes the wanted resources of it."""

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
from isotherm.resources.validation import custom_constraints
from isotherm.resources.validation import validate as validate_validation
from isotherm.states import DeletionPolicy
from isotherm.store.records import Wanted
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.parameters import parameters
from isotherm.template.parameters.constraints import CustomConstraints
from isotherm.template.text import document

PRE_UPDATE = "pre-update"
# Number of parsed templates that are cached.
_AT_HAND = 8


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The files and the environment of resources. `names` lists the resources, where not all are meant."""

    files: Mapping[str, str]
    environment: Mapping[str, Any]
    names: tuple[str, ...] = ()

    def is_like(self, other: Surroundings) -> bool:
        return self.files == other.files and _inherited(self.environment) == _inherited(other.environment)


def _inherited(surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an environment that a nested stack inherits."""
    return {name: one for name, one in surroundings.items() if name != "parameters"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The input of an operation as the user gave it, not yet parsed."""

    template: str
    files: Mapping[str, str]
    environment: Mapping[str, Any]
    facade: Mapping[str, Any] | None = None
    # Of a nested stack: paths of attributes that its parent resource reads, by the resource's name or `*`.
    exports: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    # By resource: what its type kept for the snapshot that is restored.
    restored: Mapping[str, Any] = field(default_factory=dict)
    # Of a nested stack: the secrets of its parent stack.
    secrets: tuple[str, ...] = ()
    # Of a group: files and environment of the members that a rolling update has not reached.
    older: tuple[Surroundings, ...] = ()

    def around(self, name: str) -> Surroundings:
        """Return the files and the environment of one resource."""
        return next((one for one in self.older if name in one.names), Surroundings(self.files, self.environment))

    @property
    def size(self) -> int:
        """Return the size without files, which decides where the input is parsed."""
        return len(self.template) + off_loop.weight(self.environment) + off_loop.weight(self.secrets)


@dataclass(frozen=True, slots=True)
class Identity:
    """Name, id and project of a stack, as its template sees them."""

    name: str
    id: str
    project: str


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state of a stack."""

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
    custom: CustomConstraints = custom_constraints.LOCAL,
) -> Desired:
    """Compute the desired state. Raises UserError with all problems of the input; an accepted input needs no validation."""
    if asked.older:
        return _desire_in_parts(asked, stack, types, validate=validate, bounds=bounds, custom=custom)
    template = model.parse(document.load(asked.template))
    surroundings = environment.load(asked.environment)
    pseudo = _pseudo(template, stack)
    facade = None if asked.facade is None else model.Facade(**asked.facade)
    if validate:
        bound = validate_validation.accept(template, surroundings, types, pseudo=pseudo, files=asked.files, facade=facade,
                                  bounds=bounds, custom=custom)
    else:
        values = parameters.bind(template.parameters, surroundings, pseudo)
        bound = model.bind(template, values, files=asked.files, facade=facade)
    return Desired(_Wanting(bound, surroundings, types, asked).wanted(), bound, bound.values, template.description)


def _desire_in_parts(
    asked: Asked, stack: Identity, types: Registry, *, validate: bool, bounds: validate_validation.Bounds,
    custom: CustomConstraints,
) -> Desired:
    """Compute the desired state where some resources keep older files and environments, with which they were accepted."""
    template = document.load(asked.template).data
    kept = {name for one in asked.older for name in one.names}

    def part(around: Surroundings, names: Collection[str], *, judged: bool) -> Desired:
        resources = {name: one for name, one in template["resources"].items() if name in names}
        text = documents.encode({**template, "resources": resources})
        alone = replace(asked, template=text, files=around.files, environment=around.environment, older=())
        return desire(alone, stack, types, validate=judged, bounds=bounds, custom=custom)

    newest = part(Surroundings(asked.files, asked.environment), template["resources"].keys() - kept, judged=validate)
    found = {want.name: want for want in newest.wanted}
    for one in asked.older:
        found |= {want.name: want for want in part(one, one.names, judged=False).wanted}
    return replace(newest, wanted=[found[name] for name in template["resources"] if name in found])


def bound(asked: Asked, stack: Identity) -> model.Bound:
    """Bind the template of an accepted input to its values."""
    template = parsed(asked.template)
    values = parameters.bind(template.parameters, environment.load(asked.environment), _pseudo(template, stack))
    around = None if asked.facade is None else model.Facade(**asked.facade)
    return model.bind(template, values, files=asked.files, facade=around)


@functools.lru_cache(maxsize=_AT_HAND)
def parsed(text: str) -> model.Template:
    """Parse a template, cached because live views ask for the same one again. The result must not be changed."""
    return model.parse(document.load(text))


def values_of(asked: Asked, stack: Identity) -> parameters.Values:
    """Return the values of all parameters that have one."""
    template = parsed(asked.template)
    return parameters.bind(template.parameters, environment.load(asked.environment), _pseudo(template, stack),
                           require_all=False, check_values=False)


def _pseudo(template: model.Template, stack: Identity) -> parameters.Pseudo:
    return parameters.Pseudo(stack_name=stack.name, stack_id=stack.id, project_id=stack.project, dialect=template.dialect)


class _Wanting:
    """Makes wanted resources, as the store keeps them, from definitions."""

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
            target.surroundings = self._surroundings_digest()
        target.hooks = hooks
        text = documents.encode(target)
        return Wanted(
            name, _digest(text, definition.secrets, self._bound.values), text, tuple(sorted(definition.requires)),
            DeletionPolicy[definition.deletion_policy.upper()],
            always=type_.traits.replaced_by_each_update or PRE_UPDATE in hooks,
        )

    def _surroundings_digest(self) -> str:
        """Return a hash of what a nested stack inherits. A change of it makes an update visit the resource."""
        if not self._around:
            given = {"environment": _inherited(self._asked.environment), "files": self._asked.files}
            self._around = hashlib.sha256(documents.encode(given).encode()).hexdigest()
        return self._around

    def _exports(self) -> dict[str, list[str]]:
        """Return, by resource, the attributes that other resources or outputs read."""
        bound, needed = self._bound, dict[str, set[str]]()
        readers = itertools.chain((d.needs for d in bound.definitions.values()), (o.needs for o in bound.outputs.values()))
        for needs in readers:
            for name, path in needs:
                if name in bound.definitions:
                    needed.setdefault(name, set()).update(self._attributes(name, path))
        self._add_exports(needed)
        return {name: sorted(attributes) for name, attributes in needed.items()}

    def _add_exports(self, needed: dict[str, set[str]]) -> None:
        """Add the attributes that the parent resource of this stack reads."""
        for pattern, paths in self._asked.exports.items():
            for name in self._bound.definitions if pattern == "*" else {pattern} & self._bound.definitions.keys():
                needed.setdefault(name, set()).update(*(self._attributes(name, tuple(path)) for path in paths))

    def _attributes(self, name: str, path: tuple[Any, ...]) -> list[str]:
        if not path:
            return [attribute for attribute in self._type(name).attributes_schema if attribute != "show"]
        if len(path) > 1 and nested_stack.reads_paths(self._type(name)):
            return [documents.encode(list(path))]
        if len(path) > 1 and within(str(path[0])) == (str(path[0]).removeprefix("resource."), []):
            # `[resource.web, ip]` means `[resource.web.ip]`.
            return [f"{path[0]}.{path[1]}"]
        return [str(path[0])]


def _digest(text: str, secrets: frozenset[str], values: parameters.Values) -> str:
    """Return a digest that also differs where only a hidden value does, without revealing the value."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(secrets):
        secret = documents.encode(values[name]).encode()
        digest.update(hashlib.blake2b(secret, digest_size=16, key=text.encode()[:64]).digest())
    return digest.hexdigest()
