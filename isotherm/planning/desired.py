"""Computes the desired state of a stack: parses, binds and validates an input, and makes the wanted resources of it."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isotherm import errors
from isotherm.planning import documents, off_loop
from isotherm.resources import contract, implied_requirements
from isotherm.resources.nested import nested_stack
from isotherm.resources.nested.nested_stack import within
from isotherm.resources.registry import Registry
from isotherm.resources.validation import custom_constraints, protection
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
class ResourceInput:
    """The files and the environment of resources. `names` lists the resources, where not all are meant."""

    files: Mapping[str, str]
    environment: Mapping[str, Any]
    names: tuple[str, ...] = ()

    def is_like(self, other: ResourceInput) -> bool:
        return self.files == other.files and _inherited(self.environment) == _inherited(other.environment)


def _inherited(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an environment that a nested stack inherits."""
    return {name: one for name, one in env.items() if name not in ("parameters", "isotherm")}


@dataclass(frozen=True, slots=True)
class KeptPart:
    """The older input that some resources of a stack keep."""

    names: tuple[str, ...]
    input: StackInput


@dataclass(frozen=True, slots=True)
class Parts:
    """The resources of a stack to which its newest input does not apply yet, because an update left them out."""

    kept: tuple[KeptPart, ...] = ()
    absent: tuple[str, ...] = ()
    # Attributes that the kept definitions read, besides those that the newest template reads.
    exports: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.kept or self.absent)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.absent, *(name for one in self.kept for name in one.names)}))


@dataclass(frozen=True, slots=True)
class StackInput:
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
    older: tuple[ResourceInput, ...] = ()
    parts: Parts = Parts()

    @property
    def newest(self) -> StackInput:
        """Return the input as it was given, for all resources."""
        return replace(self, parts=Parts())

    def input_for(self, name: str) -> ResourceInput:
        """Return the files and the environment of one resource."""
        kept = next((one.input for one in self.parts.kept if name in one.names), self)
        return next((one for one in kept.older if name in one.names), ResourceInput(kept.files, kept.environment))

    @property
    def size(self) -> int:
        """Return the size without files, which decides where the input is parsed."""
        own = len(self.template) + off_loop.weight(self.environment) + off_loop.weight(self.secrets)
        return own + sum(one.input.size for one in self.parts.kept)


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
    # The parameters of resources that keep the definition of an older input.
    kept_values: Mapping[str, parameters.Values] = field(default_factory=dict)

    def values_for(self, name: str) -> parameters.Values:
        """Return the parameters with which a resource is defined."""
        return self.kept_values.get(name, self.values)


def desire(
    input_: StackInput,
    stack: Identity,
    types: Registry,
    *,
    validate: bool = True,
    bounds: validate_validation.Bounds = validate_validation.BOUNDS,
    custom: CustomConstraints = custom_constraints.LOCAL,
) -> Desired:
    """Compute the desired state. Raises UserError with all problems of the input; an accepted input needs no validation."""
    if input_.parts:
        return _desire_beside_kept(input_, stack, types, validate=validate, bounds=bounds, custom=custom)
    if input_.older:
        return _desire_in_parts(input_, stack, types, validate=validate, bounds=bounds, custom=custom)
    template = model.parse(document.load(input_.template))
    env = environment.load(input_.environment)
    pseudo = _pseudo(template, stack)
    facade = None if input_.facade is None else model.Facade(**input_.facade)
    if validate:
        bound = validate_validation.accept(template, env, types, pseudo=pseudo, files=input_.files, facade=facade,
                                  bounds=bounds, custom=custom)
    else:
        values = parameters.bind(template.parameters, env, pseudo, custom=custom)
        bound = model.bind(template, values, files=input_.files, facade=facade)
    wanting = _Wanting(bound, env, types, input_)
    if not validate:
        wanting.add_implied_requirements()
    return Desired(wanting.wanted(), bound, bound.values, template.description)


def _desire_beside_kept(
    input_: StackInput, stack: Identity, types: Registry, *, validate: bool, bounds: validate_validation.Bounds,
    custom: CustomConstraints,
) -> Desired:
    """Compute the desired state where some resources keep the definitions of older inputs, or do not exist yet."""
    parts = input_.parts
    newest = replace(input_.newest, exports={**input_.exports, **parts.exports})
    goal = desire(newest, stack, types, validate=validate, bounds=bounds, custom=custom)
    wanted = {want.name: want for want in goal.wanted if want.name not in parts.absent}
    values: dict[str, parameters.Values] = {}
    for part in parts.kept:
        kept = desire(part.input, stack, types, validate=False)
        wanted |= {want.name: want for want in kept.wanted if want.name in part.names}
        values |= dict.fromkeys(part.names, kept.values)
    return replace(goal, wanted=list(wanted.values()), kept_values=values)


def _desire_in_parts(
    input_: StackInput, stack: Identity, types: Registry, *, validate: bool, bounds: validate_validation.Bounds,
    custom: CustomConstraints,
) -> Desired:
    """Compute the desired state where some resources keep older files and environments, with which they were accepted."""
    template = document.load(input_.template).data
    kept = {name for one in input_.older for name in one.names}

    def part(own: ResourceInput, names: Collection[str], *, judged: bool) -> Desired:
        resources = {name: one for name, one in template["resources"].items() if name in names}
        text = documents.encode({**template, "resources": resources})
        alone = replace(input_, template=text, files=own.files, environment=own.environment, older=())
        return desire(alone, stack, types, validate=judged, bounds=bounds, custom=custom)

    newest = part(ResourceInput(input_.files, input_.environment), template["resources"].keys() - kept, judged=validate)
    found = {want.name: want for want in newest.wanted}
    for one in input_.older:
        found |= {want.name: want for want in part(one, one.names, judged=False).wanted}
    return replace(newest, wanted=[found[name] for name in template["resources"] if name in found])


def bound(input_: StackInput, stack: Identity) -> model.Bound:
    """Bind the template of an accepted input to its values."""
    template = parsed(input_.template)
    # The constraints that need a cloud were checked when the input was accepted.
    values = parameters.bind(template.parameters, environment.load(input_.environment), _pseudo(template, stack),
                             custom=custom_constraints.LOCAL)
    facade = None if input_.facade is None else model.Facade(**input_.facade)
    return model.bind(template, values, files=input_.files, facade=facade)


@functools.lru_cache(maxsize=_AT_HAND)
def parsed(text: str) -> model.Template:
    """Parse a template, cached because live views ask for the same one again. The result must not be changed."""
    return model.parse(document.load(text))


def values_of(input_: StackInput, stack: Identity) -> parameters.Values:
    """Return the values of all parameters that have one."""
    template = parsed(input_.template)
    return parameters.bind(template.parameters, environment.load(input_.environment), _pseudo(template, stack),
                           require_all=False, check_values=False)


def _pseudo(template: model.Template, stack: Identity) -> parameters.Pseudo:
    return parameters.Pseudo(stack_name=stack.name, stack_id=stack.id, project_id=stack.project, dialect=template.dialect)


class _Wanting:
    """Makes wanted resources, as the store keeps them, from definitions."""

    def __init__(
        self, bound: model.Bound, env: environment.Environment, types: Registry, input_: StackInput
    ) -> None:
        self._bound = bound
        self._env = env
        self._types = types
        self._input = input_
        self._inherited_hash = ""
        self._plain = env.registry.is_empty

    def wanted(self) -> list[Wanted]:
        exports = self._exports()
        return [self._one(name, exports.get(name, [])) for name in self._bound.definitions]

    def add_implied_requirements(self) -> None:
        """Add the requirements that types imply, as validation does. Raises UserError if a type fails to say."""
        if self._plain and not self._may_imply():
            return
        if problems := implied_requirements.add(self._bound, self._type):
            raise errors.UserError(problems=problems)

    def _may_imply(self) -> bool:
        used, known = {one.type for one in self._bound.definitions.values()}, self._types.types
        return not used <= known.keys() or implied_requirements.has_any(known[name] for name in used)

    def _type(self, name: str) -> type[contract.Resource]:
        type_name = self._bound.definitions[name].type
        if self._plain and type_name in self._types.types:
            return self._types.types[type_name]
        return self._types.resolve(type_name, self._env, name, self._bound.files)

    def _one(self, name: str, exports: list[str]) -> Wanted:
        definition, type_ = self._bound.definitions[name], self._type(name)
        hooks = [] if self._plain else sorted(self._env.hooks_for(name))
        restricted = [] if self._plain else sorted(self._env.restricted_actions_for(name))
        target = documents.Target(definition.freeze(), type_.implementation_name(), exports, restricted)
        target.restored = self._input.restored.get(name)
        if nested_stack.is_stack(type_):
            target.inherited_digest = self._inherited_digest()
        target.hooks = hooks
        text = documents.encode(target)
        return Wanted(
            name, _digest(text, definition.secrets, self._bound.values), text, tuple(sorted(definition.requires)),
            DeletionPolicy[definition.deletion_policy.upper()],
            always=type_.traits.replaced_by_each_update or PRE_UPDATE in hooks,
            protection=protection.of_metadata(definition.metadata),
        )

    def _inherited_digest(self) -> str:
        """Return a hash of what a nested stack inherits. A change of it makes an update visit the resource."""
        if not self._inherited_hash:
            given = {"environment": _inherited(self._input.environment), "files": self._input.files}
            self._inherited_hash = hashlib.sha256(documents.encode(given).encode()).hexdigest()
        return self._inherited_hash

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
        for pattern, paths in self._input.exports.items():
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
