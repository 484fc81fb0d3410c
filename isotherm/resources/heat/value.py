"""OS::Heat::Value: gives a name and a type to an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.schema import ANY, BOOLEAN, LIST, MAP, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

VALUE, TYPE_NAME = "value", "type"

_KINDS = {"string": STRING, "number": NUMBER, "comma_delimited_list": LIST, "json": MAP, "boolean": BOOLEAN}
_TYPE_SCHEMA = Schema(STRING, "The type that the value is to have.", update_allowed=True,
                      constraints=(constraints.AllowedValues(allowed=tuple(_KINDS)),))


def _schema(kind: constraints.Kind) -> dict[str, Schema]:
    return {VALUE: Schema(kind, "The expression whose value others read.", required=True, update_allowed=True),
            TYPE_NAME: _TYPE_SCHEMA}


_BY_TYPE = {name: _schema(kind) for name, kind in _KINDS.items()}


class Value(contract.RowOnly):
    """Has its property as its attribute."""

    TYPE = "OS::Heat::Value"
    DESCRIPTION = "Gives the value of an expression as an attribute, converted to a type."
    support = Support(version="7.0.0")
    properties_schema: ClassVar[Mapping[str, Schema]] = _schema(ANY)
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        VALUE: AttributeSchema("The value of the expression, of the type that was asked for."),
    }

    @classmethod
    def schema_for(cls, properties: Mapping[str, Any]) -> Mapping[str, Schema]:
        wanted = properties.get(TYPE_NAME)
        return _BY_TYPE.get(wanted, cls.properties_schema) if isinstance(wanted, str) else cls.properties_schema

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        return None

    async def attribute(self, name: str) -> object:
        return self.properties[VALUE]
