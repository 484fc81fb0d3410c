"""OS::Heat::RandomString: a secret that is generated once and kept.

The string is generated in `handle_create` and stored as progress; `check_create_complete` stores it in the resource. So
a create that another worker continues has the same string.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.schema import (
    CACHE_NONE,
    DEPRECATED,
    HIDDEN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AttributeSchema,
    Schema,
    Support,
)
from isotherm.resources.translation import Kind, Rule
from isotherm.template.parameters import constraints

LENGTH, CLASSES, SEQUENCES, OLD_SEQUENCE, SALT = (
    "length", "character_classes", "character_sequences", "sequence", "salt")

ALPHABETS = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}

_ALPHABET = constraints.AllowedValues(allowed=tuple(ALPHABETS))
_COUNT = constraints.Range(minimum=1, maximum=512)
_MINIMUM = Schema(INTEGER, "How many characters of the string are from here, at the least.", default=1,
                  constraints=(_COUNT,))


class RandomString(contract.RowOnly):
    """A random string that stays the same for the life of the resource."""

    TYPE = "OS::Heat::RandomString"
    DESCRIPTION = "Draws a random string, for passwords and the like. It stays the same until the resource is replaced."
    support = Support(version="2014.1")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        LENGTH: Schema(INTEGER, "How many characters the string has.", default=32, constraints=(_COUNT,)),
        OLD_SEQUENCE: Schema(
            STRING, "The class of characters to draw from.", constraints=(_ALPHABET,),
            support=Support(HIDDEN, "5.0.0", f"Use property {CLASSES}.", Support(DEPRECATED, "2014.2"))),
        CLASSES: Schema(
            LIST, "The classes of characters to draw from.", default=[{"class": "lettersdigits", "min": 1}],
            schema=Schema(MAP, schema={
                "class": Schema(STRING, "A class of characters.", default="lettersdigits", constraints=(_ALPHABET,)),
                "min": _MINIMUM})),
        SEQUENCES: Schema(
            LIST, "Further characters to draw from.",
            schema=Schema(MAP, schema={
                "sequence": Schema(STRING, "The characters.", required=True), "min": _MINIMUM})),
        SALT: Schema(STRING, "Any text. A change of it replaces the resource, and so gives a new string."),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "value": AttributeSchema("The random string. Referring to the resource gives it too.", STRING, CACHE_NONE),
    }
    translation_rules = (
        Rule(Kind.ADD, (CLASSES,), (OLD_SEQUENCE,), make=lambda name: {"class": name, "min": 1}),
        Rule(Kind.DELETE, (OLD_SEQUENCE,)),
    )

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        least = sum(part["min"] for part in _parts(properties))
        if properties[LENGTH] < least:
            yield "Length property cannot be smaller than combined character class and character sequence minimums"

    async def handle_create(self) -> object:
        return {"value": self._draw()}

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        self.data["value"] = progress["value"]
        self.physical_id = self.physical_name
        return True

    async def reference(self) -> object:
        return self.data.get("value", self.name)

    async def attribute(self, name: str) -> object:
        return self.data.get("value")

    def _draw(self) -> str:
        random, drawn, pool = self.context.random, [], []
        for part in _parts(self.properties):
            characters = part.get("sequence") or ALPHABETS[part.get("class") or "lettersdigits"]
            drawn += random.choices(characters, k=part["min"])
            pool.append(characters)
        everything = "".join(dict.fromkeys("".join(pool))) or ALPHABETS["lettersdigits"]
        drawn += random.choices(everything, k=max(0, self.properties[LENGTH] - len(drawn)))
        random.shuffle(drawn)
        return "".join(drawn)


def _parts(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(properties[CLASSES] or ()), *(properties[SEQUENCES] or ())]
