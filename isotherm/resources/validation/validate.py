"""Validation of a stack before anything is made, in Heat's order.

    parameters -> groups, conditions -> types exist -> no name twice -> references, cycles -> shape of outputs
    -> each resource, requirements first: functions, deletion policy, update policy, properties -> functions of outputs

All problems are collected; the first one is the one that Heat reports. No cloud is called. Values that depend on resources
that do not exist yet are checked by their type only.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isotherm.errors import NotFound, Problem, UserError, meant
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.resources import attributes, implied_requirements, properties
from isotherm.resources.catalog import heat_types
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import BadTemplate, Registry
from isotherm.resources.validation import custom_constraints, facades, protection
from isotherm.resources.validation.property_checks import PropertyChecker, Type, path_to
from isotherm.secrets import Redactor
from isotherm.template.environment import Environment
from isotherm.template.functions import node
from isotherm.template.model import definitions, model
from isotherm.template.model.definitions import Definition
from isotherm.template.parameters import parameters
from isotherm.template.parameters.constraints import CustomConstraints
from isotherm.template.text import document

# Maximum depth of nested stacks, as in Heat.
MAX_DEPTH = 5
# Maximum number of resources of a stack, with all its nested stacks.
MAX_TOTAL = 2_000_000
TOO_MANY = "Maximum resources per stack exceeded."
# Most problems of one nested template that are reported.
_ENOUGH = 20
# Most resources of nested stacks that are validated with the parameters of each stack.
_LOOKED = 20_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a tree of stacks: its depth, and its number of resources."""

    depth: int = MAX_DEPTH
    total: int = MAX_TOTAL


BOUNDS = Bounds()


def validate(  # noqa: PLR0913 - what is judged, and how, by name
    bound: model.Bound, environment: Environment, registry: Registry, *, strict: bool = True, inside: bool = True,
    custom: CustomConstraints = custom_constraints.LOCAL, bounds: Bounds = BOUNDS,
) -> None:
    """Raise UserError with all problems. Not `strict`: parameters may be missing, and values are not checked.

    Not `inside`: nested stacks are not validated, as in Heat's validate call.
    """
    run = _Validation(bound, environment, registry, strict=strict, inside=inside, custom=custom, bounds=bounds)
    with _masked_errors(bound.values):
        run.check_types()
        problems = tuple(parameters.check(bound.template.parameters, environment, require_all=strict, check_values=strict,
                                          custom=custom))
        # A wrong parameter fails everywhere it is used: those problems would add nothing.
        if not problems:
            problems = tuple(run.problems())
            if not problems and run.total > bounds.total:
                hint = f"with all nested stacks there would be {run.total:,}; at most {bounds.total:,} may be"
                problems = (Problem(f"Request limit exceeded: {TOO_MANY}", kind="RequestLimitExceeded", hint=hint),)
        if problems:
            raise UserError(problems=problems)


def accept(  # noqa: PLR0913 - what a template is bound to, by name
    template: model.Template, environment: Environment, registry: Registry, *, pseudo: parameters.Pseudo,
    files: Mapping[str, str] | None = None, facade: model.Facade | None = None, bounds: Bounds = BOUNDS,
    custom: CustomConstraints = custom_constraints.LOCAL,
) -> model.Bound:
    """Bind a template and validate it, in Heat's order: definitions are read before parameters are checked.

    Types that cannot be used are reported first, as far as the template alone shows that they are used.
    """
    registry.check(_surely_used(template), environment)
    pseudo = replace(pseudo, dialect=template.dialect)
    values = parameters.bind(template.parameters, environment, pseudo, require_all=False, check_values=False)
    bound = bind(template, values, files=files or {}, facade=facade)
    validate(bound, environment, registry, bounds=bounds, custom=custom)
    return bound


def bind(
    template: model.Template, values: parameters.Values, *, files: Mapping[str, str], facade: model.Facade | None = None,
) -> model.Bound:
    """Bind a template; errors do not quote the values of hidden parameters."""
    with _masked_errors(values):
        return model.bind(template, values, files=files, facade=facade)


def _surely_used(template: model.Template) -> Iterator[tuple[str, str]]:
    """Yield the resources that no condition can leave out, each with its type."""
    words = template.dialect.words
    for name, data in template.resources.items():
        written = data.get(words.type) if isinstance(data, Mapping) and words.condition not in data else None
        if isinstance(written, str):
            yield str(name), written


@contextlib.contextmanager
def _masked_errors(values: parameters.Values) -> Iterator[None]:
    """Remove the values of hidden parameters from the errors raised inside."""
    try:
        yield
    except UserError as error:
        raise _secrets(values).error(error) from None


def _secrets(values: parameters.Values) -> Redactor:
    return Redactor(values[name] for name in values.hidden if name in values)


@dataclass(slots=True)
class _Tree:
    """Facts shared by all nested stacks of one stack."""

    # Problems and number of resources of each nested stack: a template that is used a thousand times is validated once.
    known: dict[tuple[object, ...], tuple[tuple[Problem, ...], int]] = field(default_factory=dict)
    # Number of resources of nested stacks that were validated.
    looked: int = 0


class _Validation:
    """One validation run. It also answers the questions of functions about other resources (`definitions.Known`)."""

    def __init__(  # noqa: PLR0913 - what one run knows
        self, bound: model.Bound, environment: Environment, registry: Registry, *, strict: bool, inside: bool = True,
        custom: CustomConstraints | None, around: _Validation | None = None, bounds: Bounds = BOUNDS,
    ) -> None:
        self._bound = bound
        self._environment = environment
        self._registry = registry
        self._strict = strict
        self._inside = inside
        self._rules = properties.Rules(custom=custom)
        self._types: dict[str, Type] = {}
        self._bounds = bounds
        self._depth: int = 0 if around is None else around._depth + 1
        # The number of resources, with those of all nested stacks.
        self.total = len(bound.definitions)
        self._tree: _Tree = _Tree() if around is None else around._tree
        self._secrets = _secrets(bound.values)
        self._unborn = definitions.Unresolved(bound.values)
        self._judge = PropertyChecker(bound, self._rules, strict=strict, within=around is not None)

    def check_types(self) -> None:
        """Raise UserError for types that cannot be used, and for nothing else. Heat's validate call checks no policy."""
        named = ((name, one.type) for name, one in self._bound.definitions.items())
        self._registry.check(named, self._environment, policy=self._inside)

    def problems(self) -> Iterator[Problem]:
        bound = self._bound
        yield from _raised(bound.check_groups)
        yield from _raised(bound.check_conditions)
        yield from self._find_types()
        yield from self._doubled_names()
        yield from _raised(bound.check_references)
        implies = implied_requirements.has_any(set(self._types.values()))
        implied = implied_requirements.add(bound, self._types.get) if implies else ()
        order = list(bound.definitions)
        try:
            order = DependencyTaskGraph({name: one.requires for name, one in bound.definitions.items()}).order()
        except UserError as error:
            yield from error.problems
        yield from _raised(lambda: bound.outputs)
        for name in order:
            if name in self._types:
                yield from self._resource(bound.definitions[name], self._types[name])
        yield from self._outputs()
        # Last: a wrong property is the more likely cause, and comes first.
        yield from implied

    # Answers to functions.

    def has_resource(self, name: object) -> bool:
        return isinstance(name, str) and name in self._bound.definitions

    def has_attribute(self, resource: str, attribute: str) -> bool:
        one = self._types.get(resource)
        if one is None or one.traits.accepts_anything or one.traits.has_more_attributes:
            return True
        return attribute in one.attributes_schema or attribute == attributes.SHOW_ATTRIBUTE

    def names(self, resource: str | None = None) -> Collection[str]:
        return self._bound.definitions if resource is None else self._types[resource].attributes_schema

    # The steps.

    def _find_types(self) -> Iterator[Problem]:
        plain = self._environment.registry.is_empty
        known = self._registry.types
        for name, definition in self._bound.definitions.items():
            one = known.get(definition.type) if plain else None
            if one is not None:
                self._types[name] = one
                continue
            try:
                self._find_type(name, definition.type)
            except NotFound as error:
                yield Problem(error.problems[0].message, hint=self._meant(definition.type))
            except BadTemplate as error:
                inside = f"{definition.path[0]}.{name}<{error.file}>"
                yield from (nested_stack.located_inside(problem, inside) for problem in error.problems)
            except heat_types.Unavailable:
                continue  # as is allowed: `check_types` would have refused it
            except UserError as error:
                yield from error.problems

    def _find_type(self, name: str, type_name: str) -> None:
        self._types[name] = self._registry.resolve(type_name, self._environment, name, self._bound.files)

    def _meant(self, type_name: str) -> str:
        return meant(type_name, self._registry.types)

    def _doubled_names(self) -> Iterator[Problem]:
        doubled = [name for name in self._bound.template.parameters if name in self._bound.definitions]
        if doubled:
            shown = ", ".join(repr(name) for name in doubled)
            yield Problem(f"Duplicate names {{{shown}}}", hint="a parameter and a resource may not share a name")

    def _resource(self, definition: Definition, one: Type) -> Iterator[Problem]:
        if definition.external_id is not None:
            # Without a place, as in Heat.
            yield from (replace(one, path="") for one in _raised(lambda: definition.resolve_external_id(self._unborn)))
            return
        if isinstance(definition.properties, node.Live) or definition.metadata is not None or definition.update_policy:
            wrong = list(_raised(lambda: definition.check(self)))
            # Properties are checked one by one, below. Metadata has no schema: it only has to resolve.
            wrong = wrong or list(_raised(lambda: definitions.resolve_value(definition.metadata, self._unborn)))
            yield from wrong
            if wrong:
                return
        yield from self._policies(definition, one)
        yield from protection.problems(definition.metadata, path_to(definition, self._bound.dialect.words.metadata))
        if not one.traits.accepts_anything:
            yield from self._judge.problems(definition, one)
        if self._inside and issubclass(one, nested_stack.StackResource):
            yield from self._child(definition, one)
            yield from self._facade(definition, one)

    def _facade(self, definition: Definition, one: type[nested_stack.StackResource]) -> Iterator[Problem]:
        """Check that a template has the interface of the type or template that it replaces."""
        if not issubclass(one, nested_stack.TemplateResource):
            return
        try:
            facade = self._registry.facade(definition.type, self._environment, definition.name, self._bound.files)
        except BadTemplate as error:
            inside = f"{definition.path[0]}.{definition.name}<{error.file}>"
            yield from (nested_stack.located_inside(problem, inside) for problem in error.problems)
        except UserError as error:
            yield Problem(error.problems[0].message, hint=error.problems[0].hint)
        else:
            if facade is not None:
                yield from (Problem(text) for text in facades.problems(definition.type, facade, one))

    def _child(self, definition: Definition, one: type[nested_stack.StackResource]) -> Iterator[Problem]:
        """Validate a nested stack as far as it is known; its values are checked when it is created."""
        foreseen = self._judge.foreseen(definition, one)
        try:
            text = one.template_for(foreseen)
        except UserError as error:
            yield from error.problems
            return
        if text is None:
            return
        if self._depth + 1 > self._bounds.depth:
            yield one.relocated(
                Problem(f"Request limit exceeded: Recursion depth exceeds {self._bounds.depth}.",
                        kind="RequestLimitExceeded", hint="does a template include itself?"),
                f"{definition.path[0]}.{definition.name}")
            return
        problems, size = self._looked_into(definition, text, one.parameters_for(foreseen))
        self.total += size * one.copies(foreseen)
        for problem in problems:
            yield one.relocated(problem, f"{definition.path[0]}.{definition.name}")

    def _looked_into(
        self, definition: Definition, text: str, given: Mapping[str, Any]
    ) -> tuple[tuple[Problem, ...], int]:
        """Return the problems of a nested stack, and its number of resources.

        A template with the same parameters is validated once. After many resources, one validation of a template counts
        for all parameters: the others are checked when their stacks are created.
        """
        env = self._registry.inside(self._environment, definition.name, definition.type, given)
        place = (text, self._depth, repr(env.registry.data))
        key = (*place, repr(sorted(given.items())))
        known = self._tree.known
        if key not in known and (self._tree.looked < _LOOKED or place not in known):
            # A parameter that brings a hidden value is hidden inside as well.
            secret = tuple(name for name, value in given.items() if self._secrets.has_secret(value))
            known[place] = known[key] = self._validate_nested(text, replace(env, encrypted_param_names=secret))
        return known[key] if key in known else known[place]

    def _validate_nested(self, text: str, env: Environment) -> tuple[tuple[Problem, ...], int]:
        self._tree.looked += 1
        try:
            template = model.parse(document.load(text))
            pseudo = parameters.Pseudo(stack_name="nested", dialect=template.dialect)
            values = parameters.bind(template.parameters, env, pseudo, require_all=False, check_values=False)
            bound = bind(template, values, files=self._bound.files, facade=model.Facade())
        except UserError as error:
            return error.problems, 0
        self._tree.looked += len(bound.definitions)
        inner = _Validation(bound, env, self._registry, strict=False, custom=self._rules.custom, around=self,
                            bounds=self._bounds)
        inner.check_types()
        # Every use of the template reports its problems again, so their number is limited.
        found = tuple(_unfit(template, env)) or tuple(itertools.islice(inner.problems(), _ENOUGH))
        masked = _secrets(values).error(UserError(problems=found)).problems if found else ()
        return masked, inner.total

    def _policies(self, definition: Definition, one: Type) -> Iterator[Problem]:
        words = self._bound.dialect.words
        if definition.deletion_policy == "Snapshot" and not one.traits.supports_snapshot_delete:
            yield Problem('"Snapshot" deletion policy not supported', path_to(definition, words.deletion_policy))
        try:
            given = definition.resolve_update_policy(self._unborn)
        except UserError as error:
            yield from error.problems
            return
        if given is not None:
            known = properties.compiled(one.update_policy_schema)
            yield from known.problems(given, path_to(definition, words.update_policy), self._rules)

    def _outputs(self) -> Iterator[Problem]:
        try:
            outputs = self._bound.outputs
        except UserError:
            return  # reported already
        for output in outputs.values():
            if isinstance(output.value, node.Live):
                yield from _raised(lambda output=output: output.check(self))  # type: ignore[misc]  # bound by default


def _raised(step: Callable[[], object]) -> Iterator[Problem]:
    try:
        step()
    except UserError as error:
        yield from error.problems


def _unfit(template: model.Template, env: Environment) -> Iterator[Problem]:
    """Return the problems of a nested stack's parameters: schemas, and defaults from the environment."""
    yield from parameters.check(template.parameters, env, require_all=False, check_values=False, custom=None)
    for name, one in template.parameters.items():
        default = env.parameter_defaults.get(name)
        if default is not None and name not in env.parameters:
            yield from replace(one, default=default).schema_problems()
