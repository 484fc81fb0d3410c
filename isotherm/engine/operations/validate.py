"""Validation of templates: Heat's validate document, which describes a template and its parameters.

Parameters need no values, and given values are not checked; names and the shape of everything are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, masking, request_limits
from isotherm.resources.catalog import heat_types
from isotherm.resources.nested import nested_stack as nesting
from isotherm.resources.registry import Registry, typed_properties
from isotherm.resources.validation import validate
from isotherm.template import environment
from isotherm.template.model import definitions, model
from isotherm.template.parameters import parameters
from isotherm.template.parameters.schema import MASK
from isotherm.template.text import document

_NAME = "dummy"


class TemplateService:
    """Validates templates without a stack."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._services = requester.services

    def validate(
        self, template: str, files: Mapping[str, str], env: Mapping[str, Any], *, nested: bool = False,
        is_lenient: bool = False,
    ) -> dict[str, Any]:
        """Return the validate document. Raises UserError for each mistake; `nested`: with parameters of nested stacks.

        `is_lenient`: types that are not available are ignored.
        """
        input_ = desired.StackInput(template, files, env)
        request_limits.check(input_, self._ports.settings)
        request_limits.check_hidden(input_, self._ports.settings, self._ports.types)
        try:
            types = self._ports.types.limited(None, self._services, is_lenient=is_lenient)
            return self._validated(template, files, env, types, nested=nested)
        except errors.UserError as error:
            raise masking.error(error, input_, self._ports.types) from None

    def _validated(
        self, template: str, files: Mapping[str, str], env: Mapping[str, Any], types: Registry, *, nested: bool
    ) -> dict[str, Any]:
        loaded = environment.load(env)
        bound = _bound(template, files, loaded, self._project)
        bounds = request_limits.bounds(self._ports.settings)
        validate.validate(bound, loaded, types, strict=False, inside=False, bounds=bounds)
        shown = loaded.as_dict()
        registry = {**_templates(bound), **shown["resource_registry"]}
        inside = _NestedParameters(types, files, self._project, bounds.depth).of(bound, loaded) if nested else {}
        return {
            **_described(bound, loaded), **inside,
            "Environment": {"parameters": _masked(bound, shown["parameters"]),
                            "parameter_defaults": _masked(bound, shown["parameter_defaults"]),
                            "resource_registry": registry, "event_sinks": shown["event_sinks"]},
        }


class _NestedParameters:
    """Describes the parameters of nested stacks, as far as they are known before a stack exists."""

    def __init__(self, types: Registry, files: Mapping[str, str], project: str, deepest: int) -> None:
        self._types = types
        self._files = files
        self._project = project
        self._deepest = deepest

    def of(self, bound: model.Bound, env: environment.Environment, depth: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, definition in bound.definitions.items() if depth < self._deepest else ():
            try:
                one = self._types.resolve(definition.type, env, name, self._files)
            except heat_types.Unavailable:
                if not self._types.is_lenient:
                    raise
                continue
            if issubclass(one, nesting.StackResource):
                described = self._one(bound, definition, one, env, depth)
                if described is not None:
                    found[name] = described
        return {"NestedParameters": found} if found else {}

    def _one(
        self, bound: model.Bound, definition: definitions.Definition, one: type[nesting.StackResource],
        env: environment.Environment, depth: int,
    ) -> dict[str, Any] | None:
        try:
            resolved = definition.resolve(definitions.Unresolved(bound.values)).properties or {}
            typed = typed_properties(one, resolved)
            text = one.template_for(typed)
        except errors.UserError:
            return None
        if text is None:
            return None
        inherited = self._types.inside(env, definition.name, definition.type, one.parameters_for(typed))
        inner = _bound(text, self._files, inherited, self._project)
        return {"Type": definition.type, **_described(inner, inherited), **self.of(inner, inherited, depth + 1)}


def _bound(
    text: str, files: Mapping[str, str], env: environment.Environment, project: str
) -> model.Bound:
    template = model.parse(document.load(text))
    pseudo = parameters.Pseudo(stack_name=_NAME, project_id=project, dialect=template.dialect)
    values = parameters.bind(template.parameters, env, pseudo, require_all=False, check_values=False)
    return model.bind(template, values, files=files, facade=model.Facade())


def _described(bound: model.Bound, env: environment.Environment) -> dict[str, Any]:
    template = bound.template
    described = {name: _parameter(schema, env) for name, schema in template.parameters.items()}
    groups = {"ParameterGroups": list(template.parameter_groups)} if template.parameter_groups else {}
    return {"Description": template.description or "", "Parameters": described, **groups}


def _parameter(schema: parameters.ParameterSchema, env: environment.Environment) -> dict[str, Any]:
    described = parameters.describe(schema, env)
    if not described.get("Value"):
        described.pop("Value", None)
    elif schema.hidden:
        described["Value"] = MASK
    return described


def _masked(bound: model.Bound, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: MASK if name in bound.values.hidden else value for name, value in values.items()}


def _templates(bound: model.Bound) -> dict[str, str]:
    """Return the files that serve as resource types, each under its own name."""
    return {one.type: one.type for one in bound.definitions.values() if one.type.endswith(environment.TEMPLATE_SUFFIXES)}
