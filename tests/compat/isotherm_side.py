"""Isotherm's answer to a run, in the same words as the peer's (tools/heat_peer/peer.py).

The steps are those of a request for a new stack, in Heat's order; what they do is all in the product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from isotherm import errors
from isotherm.planning import names
from isotherm.resources import attributes, builtin, registry
from isotherm.resources.validation import custom_constraints, validate
from isotherm.template import environment, merge
from isotherm.template.model import definitions, model
from isotherm.template.parameters import parameters
from isotherm.template.text import document
from tests.compat import corpus

STACK_NAME = "corpus"
PROJECT = "project-1"


def answer(run: corpus.Run) -> corpus.Answer:
    try:
        return corpus.compact(_describe(run.question), run.focus)
    except errors.UserError as problem:
        return {"error": _told(problem)}


def _describe(question: Mapping[str, Any]) -> corpus.Answer:
    found = document.load(question["template"])
    template = model.parse(found, check_structure=False)
    environ = _environment(question, template)
    template.check_structure()
    strict = not question.get("lenient", False)
    stack_name = question.get("stack_name", STACK_NAME)
    names.check_stack_name(stack_name)
    pseudo = parameters.Pseudo(stack_name, None, PROJECT, dialect=template.dialect)
    values = parameters.bind(template.parameters, environ, pseudo, require_all=False, check_values=False)
    bound = model.bind(template, values, files=question.get("files", {}), facade=_facade(question),
                       zones=("zone-a", "zone-b"))
    validate.validate(bound, environ, builtin.registry(), strict=strict, inside=strict, custom=custom_constraints.LOCAL)
    references = _Known(question, values)
    return {
        "parameters": {name: _parameter(values, name) for name in template.parameters},
        "conditions": {name: _attempt(partial(bound.holds, name)) for name in _conditions(template)},
        "definitions": {name: _definition(one, references, environ, bound.files)
                        for name, one in bound.definitions.items()},
        "outputs": {name: _output(one, references) for name, one in bound.outputs.items()},
    }


def _conditions(template: model.Template) -> list[str]:
    return list(template.condition_definitions or ()) if template.dialect.has_conditions else []


def _environment(question: Mapping[str, Any], template: model.Template) -> environment.Environment:
    """What came with the request, with the files of environments merged over it."""
    base = environment.load(question.get("environment"))
    base = replace(base, parameters={**base.parameters, **question.get("parameters", {})})
    files = [environment.load(text) for text in question.get("environments", ())]
    shown = [f"env{number}.yaml" for number, _ in enumerate(files)]
    known_parameters = merge.known_parameters(template.parameters, question.get("files", {}))
    return merge.merge([base, *files], known_parameters, ["", *shown])


def _facade(question: Mapping[str, Any]) -> model.Facade | None:
    return model.Facade(**question["facade"]) if "facade" in question else None


def _parameter(values: parameters.Values, name: str) -> corpus.Json:
    return {"value": _attempt(lambda: values[name]), "text": _attempt(lambda: values.text(name)),
            "hidden": name in values.hidden}


def _definition(one: definitions.Definition, references: definitions.References,
                environ: environment.Environment, files: Mapping[str, str]) -> corpus.Json:
    # Frozen and thawed first: what a worker gets is what must be right.
    one = definitions.thaw(one.freeze())
    return {
        "type": one.type, "deletion_policy": one.deletion_policy, "description": one.description,
        "properties": _attempt(lambda: one.resolve_properties(references)),
        "metadata": _attempt(lambda: definitions.resolve_value(one.metadata, references) or {}),
        "update_policy": _attempt(lambda: definitions.resolve_value(one.update_policy, references)),
        "external_id": _attempt(lambda: definitions.resolve_value(one.external_id, references)),
        "depends": sorted(one.requires),
        "needs": sorted(([name, *(path or ("*",))] for name, path in one.needs), key=repr),
        "converted": _attempt(lambda: _converted(one, references, environ, files)),
    }


def _converted(one: definitions.Definition, references: definitions.References,
               environ: environment.Environment, files: Mapping[str, str]) -> corpus.Json:
    kind = builtin.registry().resolve(one.type, environ, one.name, files)
    values = registry.typed_properties(kind, one.resolve_properties(references) or {})
    return {name: value for name, value in values.items() if value is not None}


def _output(one: definitions.Output, references: definitions.References) -> corpus.Json:
    return {"value": _attempt(lambda: one.resolve(references)), "description": one.description,
            "depends": sorted(one.requires)}


def _attempt(call: Callable[[], Any]) -> corpus.Json:
    """A value, or the error in its place."""
    try:
        return _plain(call())
    except errors.UserError as problem:
        return {"!error": _told(problem)}


def _plain(value: Any) -> corpus.Json:
    """As JSON would have it: keys are text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _told(problem: errors.UserError) -> corpus.Json:
    return {"kind": problem.kind, "message": str(problem)}


class _Known:
    """The references of a run: every resource exists, with the ids and values that the run gives it."""

    def __init__(self, question: Mapping[str, Any], values: parameters.Values) -> None:
        self._given = question.get("references", {})
        self._unborn = frozenset(question.get("unborn", ()))
        self._values = values

    def reference_id(self, resource: str) -> object:
        return resource if resource in self._unborn else self._given.get(resource, {}).get("id", f"{resource}-id")

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        if resource in self._unborn:
            return None
        return attributes.select(self._given.get(resource, {}).get("attributes", {}).get(attribute), path)

    def attributes(self, resource: str) -> object:
        return None if resource in self._unborn else self._given.get(resource, {}).get("attributes", {})

    def parameter(self, name: str) -> object:
        return self._values[name]
