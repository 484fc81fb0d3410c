"""Documents about resource types: the API's description, and a template to start from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import attributes, contract
from isotherm.resources.schema import HIDDEN, Schema
from isotherm.template.parameters import constraints
from isotherm.template.parameters.constraints import Kind

_HOT_TYPES = {Kind.STRING: "string", Kind.INTEGER: "number", Kind.NUMBER: "number", Kind.BOOLEAN: "boolean",
              Kind.MAP: "json", Kind.LIST: "comma_delimited_list", Kind.ANY: "json"}
_CFN_TYPES = {"string": "String", "number": "Number", "boolean": "Boolean", "json": "Json",
              "comma_delimited_list": "CommaDelimitedList"}
_BOOLEAN_WORDS = ["True", "true", "False", "false"]


def show(one: type[contract.Resource]) -> dict[str, Any]:
    shown = attributes.known(one.attributes_schema)
    return {
        "resource_type": one.TYPE,
        "properties": {name: _property(schema) for name, schema in _visible(one.properties_schema)},
        "attributes": {name: _without_nothing({"description": schema.description or None,
                                               "type": schema.type.lower() if schema.type else None})
                       for name, schema in shown.items() if schema.support.status != HIDDEN},
        "support_status": one.support.as_dict(),
        "description": one.DESCRIPTION or "No description available",
    }


def template(one: type[contract.Resource], form: str) -> dict[str, Any]:
    """`form` is "hot"; anything else is the CFN form, as in Heat."""
    return _hot(one) if form == "hot" else _cfn(one)


def _property(schema: Schema) -> dict[str, Any]:
    nested: object = None
    if isinstance(schema.schema, Schema):
        nested = {"*": _property(schema.schema)}
    elif schema.schema is not None:
        nested = {name: _property(below) for name, below in _visible(schema.schema)}
    return {**_without_nothing({
        "type": schema.type.lower(), "description": schema.description or None, "default": schema.default,
        "schema": nested, "required": schema.required,
        "constraints": [constraint.as_dict() for constraint in schema.constraints] or None,
    }), "update_allowed": schema.update_allowed, "immutable": schema.immutable}


def _without_nothing(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _visible(schema: Mapping[str, Schema]) -> Iterator[tuple[str, Schema]]:
    for name, one in schema.items():
        if one.support.status != HIDDEN and one.implemented:
            yield name, one


def _short_name(one: type[contract.Resource]) -> str:
    return one.TYPE.rsplit("::", 1)[-1]


def _asked(schema: Schema) -> list[constraints.Constraint]:
    """Return the constraints that a parameter can have; custom ones stay with the property."""
    return [one for one in schema.constraints
            if not isinstance(one, constraints.CustomConstraint) and schema.type in one.kinds]


def _hot(one: type[contract.Resource]) -> dict[str, Any]:
    name = _short_name(one)
    parameters = {key: _without_nothing({
        "type": _HOT_TYPES[schema.type], "description": schema.description or None, "default": schema.default,
        "constraints": [constraint.as_dict() for constraint in _asked(schema)] or None,
    }) for key, schema in _visible(one.properties_schema)}
    outputs: dict[str, Any] = {
        key: _without_nothing({"value": {"get_attr": [name, key]}, "description": schema.description or None})
        for key, schema in attributes.known(one.attributes_schema).items() if schema.support.status != HIDDEN}
    outputs["OS::stack_id"] = {"value": {"get_resource": name}}
    resource = {"type": one.TYPE, "properties": {key: {"get_param": key} for key in parameters}}
    return {"heat_template_version": "2016-10-14", "description": f"Initial template of {name}",
            "parameters": parameters, "outputs": outputs, "resources": {name: resource}}


def _cfn(one: type[contract.Resource]) -> dict[str, Any]:
    name = _short_name(one)
    visible = dict(_visible(one.properties_schema))
    outputs: dict[str, Any] = {
        key: _without_nothing({"Value": {"Fn::GetAtt": [name, key]}, "Description": schema.description or None})
        for key, schema in attributes.known(one.attributes_schema).items() if schema.support.status != HIDDEN}
    outputs["OS::stack_id"] = {"Value": {"Ref": name}}
    read = {key: {"Fn::Split": [",", {"Ref": key}]} if schema.type is Kind.LIST else {"Ref": key}
            for key, schema in visible.items()}
    return {"HeatTemplateFormatVersion": "2012-12-12", "Description": f"Initial template of {name}",
            "Parameters": {key: _cfn_parameter(schema) for key, schema in visible.items()},
            "Resources": {name: {"Type": one.TYPE, "Properties": read}}, "Outputs": outputs}


def _cfn_parameter(schema: Schema) -> dict[str, Any]:
    shown = _without_nothing({"Type": _CFN_TYPES[_HOT_TYPES[schema.type]], "Description": schema.description or None,
                              "Default": schema.default})
    for constraint in _asked(schema):
        shown.update(constraint.as_validated())
    if schema.type is Kind.BOOLEAN:
        shown["AllowedValues"] = _BOOLEAN_WORDS
    return shown
