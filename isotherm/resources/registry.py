"""The registry of resource types: the types that exist, and the type that a name in a template stands for.

Types are registered at start; an Environment may map names to other types per stack. `list`, `show` and `template`
return the documents of Heat's API.
"""

from __future__ import annotations

import fnmatch
from collections import ChainMap
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from isotherm.errors import NotFound, Problem, UserError
from isotherm.resources import cloud_lookups, contract, properties, translation
from isotherm.resources.catalog import heat_types, type_documents
from isotherm.resources.catalog.type_table import TypeTable
from isotherm.resources.context import local_access
from isotherm.resources.nested import nested_stack
from isotherm.resources.schema import HIDDEN, Schema
from isotherm.template.environment import Environment, TypeTarget, TypeTargetKind
from isotherm.template.parameters.constraints import CustomConstraint


class BadTemplate(UserError):
    """A template file that cannot serve as a type."""

    def __init__(self, problems: tuple[Problem, ...], file: str) -> None:
        super().__init__(problems=problems)
        self.file = file


def _no_origin(type_name: str) -> str:
    return ""


class Registry:
    """All resource types by name. Templates must not use `retired` types, but their resources still work."""

    def __init__(
        self, types: Iterable[type[contract.Resource]] | TypeTable = (), retired: TypeTable | None = None,
        explain_missing: Callable[[str], str] = _no_origin,
    ) -> None:
        self.types = types if isinstance(types, TypeTable) else TypeTable(types)
        self._retired = TypeTable() if retired is None else retired
        # Returns where a type came from whose plug-in is not here, as a sentence; "" if that is not known.
        self._explain_missing = explain_missing
        self._templates: dict[str, type[contract.Resource]] = {}
        self._may_use: Callable[[str], bool] | None = None
        self._services: Container[str] | None = None
        # Whether a template may name types that are not available.
        self.is_lenient = False

    def limited(
        self, may_use: Callable[[str], bool] | None, services: Container[str] | None = None, *, is_lenient: bool = False
    ) -> Registry:
        """Return the same types for a caller who may use some of them only, in a catalog of these types of services.

        `services` is None where there is no catalog. `is_lenient`: a template may name types that are not available.
        """
        if may_use is None and services is None and not is_lenient:
            return self
        found = Registry()
        found.types, found._templates, found._may_use = self.types, self._templates, may_use
        found._explain_missing = self._explain_missing
        found._retired, found._services, found.is_lenient = self._retired, services, is_lenient
        return found

    def with_types(self, types: Collection[type[contract.Resource]], explain_missing: Callable[[str], str]) -> Registry:
        """Return a registry with the types of plug-ins; `explain_missing` says where a type came from."""
        if types:
            return Registry(self.types.with_classes(types), self._retired, explain_missing)
        found = Registry(self.types, self._retired, explain_missing)
        found._templates = self._templates
        return found

    def check(self, named: Iterable[tuple[str, str]], environment: Environment, *, policy: bool = True) -> None:
        """Raise UserError for types that cannot be used: first what policy denies, then what is not available.

        `named` holds names of resources with the types that the template gives them.
        """
        meant = dict.fromkeys((written, self._meaning(name, written, environment)) for name, written in named)
        for pair in meant if policy else ():
            self.refuse(*pair)
        for _, meaning in meant if not self.is_lenient else ():
            self.require(meaning)

    def require(self, name: str) -> None:
        """Raise Unavailable for a type of Heat that is not here, or whose service is not in the catalog."""
        here = name in self.types or name in self._retired
        if (problem := heat_types.problem(name, here=here, services=self._services)) is not None:
            raise problem

    def is_available(self, name: str) -> bool:
        return heat_types.problem(name, here=True, services=self._services) is None

    def _meaning(self, name: str, written: str, environment: Environment) -> str:
        """Return the type that is used in the end; a template that serves as a type keeps the name that is written."""
        try:
            target = self.target(written, environment, name)
        except UserError:
            return written
        return target.name if target.kind is TypeTargetKind.CLASS else written

    def refuse(self, *names: str) -> None:
        """Raise UserError if policy forbids one of these types; checks the written name and the type it stands for."""
        for name in dict.fromkeys((*names, *map(heat_types.meaning, names))):
            if self._may_use is not None and not self._may_use(name):
                raise UserError(f"You are not authorized to use resource_types:{name}.", kind="Forbidden")

    def register(self, one: type[contract.Resource]) -> None:
        self.types.register(one)

    def target(self, type_name: str, environment: Environment, resource_name: str | None = None) -> TypeTarget:
        """Return what a type name stands for: a class here or in Heat, or a template.

        Raises NotFound, in Heat's words.
        """
        if type_name in self.types and environment.registry.is_empty:
            return TypeTarget(TypeTargetKind.CLASS, type_name)
        try:
            return environment.registry.lookup(type_name, resource_name, known=ChainMap(self.types, heat_types.TABLE))
        except NotFound:
            if type_name not in self._retired:
                self.require(type_name)
                raise self._not_found(type_name) from None
            raise NotFound(f"The Resource Type ({type_name}) is not allowed here. {local_access.HINT}",
                           kind="EntityNotFound") from None

    def resolve(self, type_name: str, environment: Environment, resource_name: str | None = None,
                files: Mapping[str, str] = MappingProxyType({})) -> type[contract.Resource]:
        """Return the class for a type name; for a template, the type made from it."""
        return self._type(self.target(type_name, environment, resource_name), type_name, environment, files)

    def facade(self, type_name: str, environment: Environment, resource_name: str,
               files: Mapping[str, str]) -> type[contract.Resource] | None:
        """Return the type that the template behind a type name replaces, or None."""
        target = environment.registry.facade(type_name, resource_name, known=self.types)
        return None if target is None else self._type(target, type_name, environment, files)

    def inside(self, environment: Environment, resource_name: str, type_name: str,
               parameters: Mapping[str, Any]) -> Environment:
        """Return the environment of the nested stack of a resource of this type."""
        try:
            used = self.target(type_name, environment, resource_name).line
        except UserError:
            # A newer environment need not have the type of a resource that is about to be deleted.
            used = ()
        return environment.child(resource_name, parameters, used)

    def _type(self, target: TypeTarget, type_name: str, environment: Environment,
              files: Mapping[str, str]) -> type[contract.Resource]:
        if target.kind is not TypeTargetKind.TEMPLATE:
            self.require(target.name)
            return self.types[target.name]
        if target.name not in files:
            scheme = target.name.partition(":")[0] if ":" in target.name else ""
            raise NotFound(f'Could not fetch remote template "{target.name}": Invalid URL scheme {scheme}',
                           kind="EntityNotFound", hint="hand the file over together with the template")
        text = files[target.name]
        try:
            # An accepted template is not validated again when it is applied.
            one = nested_stack.template_type(text)
            self._templates[one.implementation] = one
            return nested_stack.template_type(text, type_name, target.name, frozenset(environment.parameter_defaults))
        except UserError as error:
            raise BadTemplate(problems=error.problems, file=target.name) from error

    def implementation(self, name: str) -> type[contract.Resource]:
        """Return the class by the name under which the store keeps it.

        Raises KeyError for a template that this process has not loaded yet (see `learn`).
        """
        if nested_stack.is_template(name):
            return self._templates[name]
        return self._retired[name] if name in self._retired else self._class(name)

    def learn(self, name: str, text: str | None) -> None:
        """Register the template behind an implementation. Without its text, only deletion is possible."""
        self._templates[name] = nested_stack.TemplateResource if text is None else nested_stack.template_type(text)

    def get(self, type_name: str) -> type[contract.Resource]:
        self.require(type_name)
        return self._class(type_name)

    def _class(self, type_name: str) -> type[contract.Resource]:
        try:
            return self.types[type_name]
        except KeyError:
            raise self._not_found(type_name) from None

    def _not_found(self, type_name: str) -> NotFound:
        text = f"The Resource Type ({type_name}) could not be found."
        return NotFound(f"{text} {self._explain_missing(type_name)}".rstrip(), kind="EntityNotFound")

    def names(self) -> Sequence[str]:
        """Return the names of all types, sorted, those of hidden types too. No class is loaded."""
        return sorted(self.types)

    def list(self, *, name: str = "", status: str = "") -> list[str]:
        """Return the names of all types, sorted.

        `name`: wildcards or a part of a name. Hidden types are listed by their `status` only.
        """
        found = (one for one in self.types.values() if (one.support.status == status if status else
                                                        one.support.status != HIDDEN))
        return sorted(one.TYPE for one in found if _named(one.TYPE, name))

    def show(self, type_name: str) -> dict[str, Any]:
        """Return the API's document about a type: properties, attributes, support."""
        return type_documents.show(self.get(type_name))

    def template(self, type_name: str, form: str = "cfn") -> dict[str, Any]:
        """Return a template with one resource of the type: each property is a parameter, each attribute an output."""
        return type_documents.template(self.get(type_name), form)


def _named(type_name: str, wanted: str) -> bool:
    return not wanted or wanted in type_name or fnmatch.fnmatchcase(type_name, wanted)


def asks_cloud(one: type[contract.Resource]) -> bool:
    """Return whether the properties of a type cannot be read without a cloud: names to resolve, or constraints to ask."""
    if any(rule.finder is not None for rule in one.translation_rules):
        return True
    # The number of constraints is part of the key: plug-ins add theirs at start.
    known = len(cloud_lookups.CONSTRAINTS)
    return known > 0 and _has_cloud_constraints(one, known)  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=4096)
def _has_cloud_constraints(one: type[contract.Resource], _known: int) -> bool:
    return any(map(_has_cloud_constraint, one.properties_schema.values()))


def _has_cloud_constraint(schema: Schema) -> bool:
    custom = (one.constraint for one in schema.constraints if isinstance(one, CustomConstraint))
    own = any(name in cloud_lookups.CONSTRAINTS for name in custom)
    inner = schema.schema
    below = () if inner is None else (inner,) if isinstance(inner, Schema) else inner.values()
    return own or any(map(_has_cloud_constraint, below))


def typed_properties(one: type[contract.Resource], data: Mapping[str, Any], *, path: str = "",
                     rules: properties.Rules = properties.CONVERT_ONLY,
                     id_of: translation.IdOf | None = None) -> dict[str, Any]:
    """Return resolved properties as the type sees them: translated, converted, with defaults."""
    if one.traits.accepts_anything:
        return {}  # all properties are ignored, so that none of their changes changes the resource
    if one.translation_rules:
        data = translation.translate(one.translation_rules, data, id_of=id_of)
    return properties.convert(one.schema_for(data), data, path=path, rules=rules)
