"""Small templates for tests of the language, and references that are just dictionaries."""

from __future__ import annotations

from typing import Any

from isotherm.template import environment
from isotherm.template.limits import DEFAULT, Limits
from isotherm.template.model import definitions, model
from isotherm.template.parameters import parameters
from isotherm.template.text import document

LATEST = "2021-04-16"
PARAMETERS: dict[str, Any] = {
    "text": {"type": "string", "default": "t"}, "number": {"type": "number", "default": 7},
    "names": {"type": "comma_delimited_list", "default": "a,b,c"}, "yes": {"type": "boolean", "default": True},
    "tree": {"type": "json", "default": {"k": {"z": [1, "two"]}, "s": "str"}}, "missing": {"type": "string"},
    "secret": {"type": "string", "default": "hunter2", "hidden": True},
}


class Known:
    """Resources as dictionaries: `{name: {attribute: value}}`. Ids are `<name>-id`."""

    def __init__(self, values: parameters.Values, **attributes: dict[str, Any]) -> None:
        self._values = values
        self._attributes = attributes

    def reference_id(self, resource: str) -> object:
        return f"{resource}-id"

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        return definitions.select(self.attributes(resource).get(attribute), path)

    def attributes(self, resource: str) -> dict[str, Any]:
        return self._attributes.get(resource, {})

    def parameter(self, name: str) -> object:
        return self._values[name]


def bound(data: dict[str, Any] | str, *, files: dict[str, str] | None = None, facade: model.Facade | None = None,
          limits: Limits = DEFAULT, **given: Any) -> model.Bound:
    """A template with values; a dictionary without a version is of the latest one and has all test parameters."""
    if isinstance(data, dict):
        if not {"heat_template_version", "AWSTemplateFormatVersion"} & set(data):
            data = {"heat_template_version": LATEST, "parameters": PARAMETERS, **data}
        template = model.parse(data, limits=limits)
    else:
        template = model.parse(document.load(data, limits=limits), limits=limits)
    values = parameters.bind(template.parameters, environment.load({"parameters": given}),
                             parameters.Pseudo("stack", "id", "project", dialect=template.dialect),
                             require_all=False, check_values=False)
    return model.bind(template, values, files=files or {}, facade=facade, limits=limits)


def value(snippet: Any, *, version: str = LATEST, conditions: dict[str, Any] | None = None,
          known: dict[str, dict[str, Any]] | None = None, limits: Limits = DEFAULT, **more: Any) -> Any:
    """What a snippet is worth as an output, beside a resource `other`."""
    data: dict[str, Any] = {
        "heat_template_version": version, "parameters": PARAMETERS,
        "resources": {"other": {"type": "OS::Heat::Value"}}, "outputs": {"o": {"value": snippet}}}
    if conditions is not None:
        data["conditions"] = conditions
    found = bound(data, limits=limits, **more)
    return found.outputs["o"].resolve(Known(found.values, **(known or {})), limits=limits)


def cfn_value(snippet: Any, **sections: Any) -> Any:
    found = bound({"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"other": {"Type": "OS::Heat::Value"}},
                   "Parameters": {"text": {"Type": "String", "Default": "t"},
                                  "names": {"Type": "CommaDelimitedList", "Default": "a,b"}},
                   "Outputs": {"o": {"Value": snippet}}, **sections})
    return found.outputs["o"].resolve(Known(found.values, other={"value": "v"}))
