"""Templates: parsed from data, and bound to the values of parameters.

    parse(data)            -> Template    independent of the values: version, sections, parameter schemata
    bind(template, values) -> Bound       for these values: definitions, conditions, outputs

Errors are found in Heat's order, which is spread over the life of a stack: `parse` and `bind` raise what Heat raises at
those moments; validation calls the other checks of `Bound` (`check_groups`, `check_conditions`, `check_references`,
`outputs`), in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.template import limits as limiting
from isotherm.template import versions
from isotherm.template.functions.context import Facade
from isotherm.template.limits import Limits
from isotherm.template.model import structure
from isotherm.template.model.bind import Binder
from isotherm.template.model.definitions import Definition, Output
from isotherm.template.parameters import parameters
from isotherm.template.text.document import Document
from isotherm.template.versions import Dialect

__all__ = ["Bound", "Facade", "Template", "bind", "parse"]

_NO_FILES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Template:
    """A template with a valid structure. `resources` and `outputs` are as written."""

    dialect: Dialect
    data: Mapping[Any, Any]
    parameters: dict[str, parameters.ParameterSchema]
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def version(self) -> str:
        return self.dialect.alias or self.dialect.version

    @property
    def description(self) -> str:
        text = self.data.get(self.dialect.words.description)
        return "No description" if text is None else str(text)

    @property
    def parameter_groups(self) -> list[Any]:
        return self._section(self.dialect.words.parameter_groups) or []

    @property
    def condition_definitions(self) -> Any:
        return self._section(self.dialect.words.conditions)

    @property
    def has_conditions(self) -> bool:
        """Return whether the section exists: unlike other sections, it must not be empty."""
        return self.dialect.has_conditions and self.dialect.words.conditions in self.data

    @property
    def resources(self) -> Mapping[Any, Any]:
        return self._section(self.dialect.words.resources) or {}

    @property
    def outputs(self) -> Any:
        return self._section(self.dialect.words.outputs) or {}

    @property
    def mappings(self) -> Any:
        return self._section(self.dialect.words.mappings)

    def _section(self, word: str) -> Any:
        return self.data.get(word) if word else None

    def check_structure(self, limits: Limits = limiting.DEFAULT) -> None:
        """Check sections, keys and names. `parse` does this by default."""
        structure.check_sections(self.data, self.dialect)
        structure.check_resources(self.resources, self.dialect)
        for what, section in (("resource", self.resources), ("parameter", self.parameters), ("output", self.outputs),
                              ("condition", self.condition_definitions)):
            structure.check_names(what, section, limits)
            if what != "resource":
                structure.check_count(f"{what}s", section, limits)


def parse(data: Document | Mapping[Any, Any], *, limits: Limits = limiting.DEFAULT,
          check_structure: bool = True) -> Template:
    """Parse a document. Raises UserError: version first, then parameter schemata, then structure."""
    found = data.data if isinstance(data, Document) else data
    document = data if isinstance(data, Document) else None
    if not isinstance(found, Mapping) or (document is not None and versions.VERSION_KEYS.isdisjoint(found)):
        raise _no_template(found)
    dialect = versions.detect(found)
    section = found.get(dialect.words.parameters)
    structure.check_count("parameters", section, limits)
    template = Template(dialect, found, parameters.parse_schemata(section, dialect), document)
    if check_structure:
        template.check_structure(limits)
    return template


def _no_template(found: object) -> errors.UserError:
    if found is None or isinstance(found, Mapping):
        return errors.UserError("Template format version not found.", kind="ValueError",
                                hint=f"add: {versions.HOT_KEY}: {versions.HOT_LATEST.version}")
    return errors.UserError("The template is not a JSON object or YAML mapping.", kind="ValueError")


class Bound:
    """A template with values: definitions are made at once, conditions and outputs on demand."""

    __slots__ = ("_binder", "_outputs", "definitions", "files", "template", "values")

    def __init__(self, template: Template, values: parameters.Values, binder: Binder, files: Mapping[str, str]) -> None:
        self.template = template
        self.values = values
        self.files = files
        self._binder = binder
        self._outputs: dict[str, Output] | None = None
        self.definitions: dict[str, Definition] = binder.definitions()

    @property
    def dialect(self) -> Dialect:
        return self.template.dialect

    @property
    def conditions(self) -> dict[str, bool]:
        """Return the value of every condition. Raises UserError."""
        return self._binder.conditions.answers()

    def holds(self, condition: str) -> bool:
        """Return the value of one condition, even if others have errors. Raises UserError."""
        return self._binder.conditions.holds(condition)

    @property
    def outputs(self) -> dict[str, Output]:
        """Return the outputs in the template's order. Raises UserError if one of them is malformed."""
        if self._outputs is None:
            self._outputs = self._binder.outputs(self.template.outputs)
        return self._outputs

    @property
    def resource_names(self) -> frozenset[str]:
        """Return all names in the template, also of resources whose condition is false."""
        return self._binder.names

    def check_groups(self) -> None:
        structure.check_groups(self.template.parameter_groups, self.template.parameters)

    def check_conditions(self) -> None:
        self._binder.conditions.validate()

    def check_references(self) -> None:
        """Check that every referenced resource exists. Raises UserError of kind InvalidTemplateReference."""
        self._binder.check_references(self.definitions)


def bind(template: Template, values: parameters.Values, *, files: Mapping[str, str] = _NO_FILES,
         facade: Facade | None = None, zones: tuple[str, ...] = (), limits: Limits = limiting.DEFAULT) -> Bound:
    """Bind all resources, and reduce them by stage one. Raises UserError for the first that is malformed."""
    binder = Binder(template.dialect, template.resources, values, limits=limits, sources={
        "files": files, "facade": facade, "zones": zones, "mappings": template.mappings,
        "conditions": template.condition_definitions, "has_conditions": template.has_conditions,
        "parameter_names": frozenset(template.parameters) | frozenset(values)})
    return Bound(template, values, binder, files)
