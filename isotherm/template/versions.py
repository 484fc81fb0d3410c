"""The table of template versions: their functions, sections and keys.

The version of a template decides its meaning: a function that the version does not have is plain data, and one that it
dropped is an error. The table names functions by their *form* (`str_replace` takes JSON values from 2015-10-15 on: that is
the form `str_replace.json`); `isotherm.template.functions` maps forms to code, so that readers of this table (parameters,
the command line) do not load the functions.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from isotherm import errors


class Family(enum.Enum):
    """The two languages: HOT and CloudFormation."""

    HOT = "hot"
    CFN = "cfn"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The names of the sections and keys that both families have."""

    description: str
    parameters: str
    conditions: str
    resources: str
    outputs: str
    mappings: str
    parameter_groups: str
    type: str
    properties: str
    metadata: str
    depends_on: str
    deletion_policy: str
    update_policy: str
    resource_description: str
    external_id: str
    condition: str
    value: str


HOT_WORDS = Spelling(
    description="description", parameters="parameters", conditions="conditions", resources="resources",
    outputs="outputs", mappings="", parameter_groups="parameter_groups", type="type", properties="properties",
    metadata="metadata", depends_on="depends_on", deletion_policy="deletion_policy", update_policy="update_policy",
    resource_description="description", external_id="external_id", condition="condition", value="value")

CFN_WORDS = Spelling(
    description="Description", parameters="Parameters", conditions="Conditions", resources="Resources",
    outputs="Outputs", mappings="Mappings", parameter_groups="", type="Type", properties="Properties",
    metadata="Metadata", depends_on="DependsOn", deletion_policy="DeletionPolicy", update_policy="UpdatePolicy",
    resource_description="Description", external_id="", condition="Condition", value="Value")


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One template version. `key` is the section that names it, `version` its value as first published."""

    key: str
    version: str
    family: Family
    words: Spelling
    sections: frozenset[str]
    functions: dict[str, str]
    condition_functions: Mapping[str, str] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    resource_keys: frozenset[str] = frozenset()
    has_conditions: bool = False
    has_external_id: bool = False
    lower_case_policies: bool = False
    parameter_tags: bool = False
    modulo_constraint: bool = False
    alias: str = ""

    @property
    def is_hot(self) -> bool:
        return self.family is Family.HOT

    @property
    def name(self) -> str:
        """The name in Heat's list of versions: `heat_template_version.2016-10-14`."""
        return f"{self.key}.{self.version}"


HOT_KEY = "heat_template_version"
HEAT_CFN_KEY = "HeatTemplateFormatVersion"
AWS_KEY = "AWSTemplateFormatVersion"
VERSION_KEYS = frozenset({HOT_KEY, HEAT_CFN_KEY, AWS_KEY})

_CFN_FUNCTIONS = {
    "Ref": "ref", "Fn::GetAtt": "cfn.get_att", "Fn::FindInMap": "cfn.find_in_map", "Fn::GetAZs": "cfn.get_azs",
    "Fn::Select": "cfn.select", "Fn::Join": "cfn.join", "Fn::Split": "cfn.split", "Fn::Replace": "cfn.replace",
    "Fn::Base64": "cfn.base64", "Fn::MemberListToMap": "cfn.member_list_to_map",
    "Fn::ResourceFacade": "cfn.resource_facade",
}
_CFN_CONDITIONS = {
    "Fn::Equals": "equals", "Fn::Not": "cfn.not", "Fn::And": "and", "Fn::Or": "or", "Fn::FindInMap": "cfn.find_in_map",
    "Ref": "cfn.param_ref",
}
_CFN_SECTIONS = frozenset({AWS_KEY, HEAT_CFN_KEY, "Description", "Mappings", "Parameters", "Resources", "Outputs"})
_HOT_SECTIONS = frozenset(
    {HOT_KEY, "description", "parameter_groups", "parameters", "resources", "outputs", "__undefined__"})
_HOT_RESOURCE_KEYS = frozenset(
    {"type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy", "description"})
_HOT_BASE = {
    "get_attr": "get_attr.then_select", "get_file": "get_file", "get_param": "get_param",
    "get_resource": "get_resource", "list_join": "list_join", "resource_facade": "resource_facade",
    "str_replace": "str_replace",
}
_HOT_CONDITIONS = {"and": "and", "equals": "equals", "get_param": "get_param", "not": "not", "or": "or"}


def _grow(before: Dialect, version: str, add: Mapping[str, str], *, remove: frozenset[str] = frozenset(),
          conditions: Mapping[str, str] = MappingProxyType({}), **flags: object) -> Dialect:
    """Return the next HOT version: the functions of the one before, with changes."""
    functions = {name: form for name, form in before.functions.items() if name not in remove} | dict(add)
    return replace(before, version=version, functions=functions, removed=before.removed | remove, alias="",
                   condition_functions=dict(before.condition_functions) | dict(conditions),
                   **flags)  # type: ignore[arg-type]  # the flags are fields of Dialect, named at each call below


def _hot() -> list[Dialect]:
    base = Dialect(HOT_KEY, "2013-05-23", Family.HOT, HOT_WORDS, _HOT_SECTIONS,
                   {k: v for k, v in _CFN_FUNCTIONS.items() if k not in ("Fn::GetAtt", "Fn::FindInMap")} | _HOT_BASE,
                   resource_keys=_HOT_RESOURCE_KEYS)
    dropped = frozenset(name for name in base.functions if name[:2] == "Fn" or name == "Ref") - {"Fn::Select"}
    juno = _grow(base, "2014-10-16", {"get_attr": "get_attr"}, remove=dropped)
    kilo = _grow(juno, "2015-04-30", {"repeat": "repeat", "digest": "digest"})
    liberty = _grow(kilo, "2015-10-15", {"get_attr": "get_attr.all", "list_join": "list_join.multiple",
                                         "str_replace": "str_replace.json", "str_split": "str_split"},
                    remove=frozenset({"Fn::Select"}))
    mitaka = _grow(liberty, "2016-04-08", {"map_merge": "map_merge"})
    newton = _grow(mitaka, "2016-10-14", {"if": "if", "yaql": "yaql", "map_replace": "map_replace",
                                          "repeat": "repeat.map"}, conditions=_HOT_CONDITIONS,
                   sections=_HOT_SECTIONS | {"conditions"}, has_conditions=True, has_external_id=True,
                   resource_keys=_HOT_RESOURCE_KEYS | {"condition", "external_id"}, lower_case_policies=True)
    ocata = _grow(newton, "2017-02-24", {"filter": "filter", "str_replace_strict": "str_replace.strict"},
                  modulo_constraint=True)
    pike = _grow(ocata, "2017-09-01",
                 {"make_url": "make_url", "list_concat": "list_concat", "list_concat_unique": "list_concat.unique",
                  "str_replace_vstrict": "str_replace.very_strict", "contains": "contains", "repeat": "repeat.nested"},
                 conditions={"yaql": "yaql", "contains": "contains"})
    queens = _grow(pike, "2018-03-02", {}, parameter_tags=True)
    rocky = _grow(queens, "2018-08-31", {})
    wallaby = _grow(rocky, "2021-04-16", {"if": "if.nullable"})
    named = {"newton": newton, "ocata": ocata, "pike": pike, "queens": queens, "rocky": rocky, "wallaby": wallaby}
    aliases = [replace(dialect, alias=alias) for alias, dialect in named.items()]
    return [base, juno, kilo, liberty, mitaka, newton, ocata, pike, queens, rocky, wallaby, *aliases]


def _cfn() -> list[Dialect]:
    heat = Dialect(HEAT_CFN_KEY, "2012-12-12", Family.CFN, CFN_WORDS, _CFN_SECTIONS, _CFN_FUNCTIONS)
    aws = replace(heat, key=AWS_KEY, version="2010-09-09", functions=_CFN_FUNCTIONS | {"Fn::If": "if"},
                  condition_functions=_CFN_CONDITIONS, sections=_CFN_SECTIONS | {"Conditions"}, has_conditions=True)
    return [heat, aws]


#: (section, value) -> dialect, aliases included, in the order in which they were published.
VERSIONS: Mapping[tuple[str, str], Dialect] = MappingProxyType(
    {(dialect.key, dialect.alias or dialect.version): dialect for dialect in [*_cfn(), *_hot()]})

HOT_LATEST = VERSIONS[(HOT_KEY, "2021-04-16")]


def detect(data: Mapping[object, object]) -> Dialect:
    """Return the dialect of a template, from the one section that names a version."""
    present = sorted((key for key in VERSION_KEYS if isinstance(data.get(key), str)), reverse=True)
    if not present:
        raise errors.UserError("The template version is invalid: Template version was not provided",
                               kind="InvalidTemplateVersion", hint=f"add: {HOT_KEY}: {HOT_LATEST.version}")
    if len(present) > 1:
        raise errors.UserError(f"The template version is invalid: Ambiguous versions ({', '.join(present)})",
                               kind="InvalidTemplateVersion", hint="keep one of them")
    key = present[0]
    dialect = VERSIONS.get((key, str(data[key])))
    if dialect is None:
        known = sorted(value for name, value in VERSIONS if name == key)
        should = "should be one of" if len(known) > 1 else "should be"
        raise errors.UserError(f'The template version is invalid: "{key}: {data[key]}". "{key}" {should}: '
                               f"{', '.join(known)}", kind="InvalidTemplateVersion")
    return dialect


def named(version: str) -> Dialect | None:
    """Return the dialect of this name (`heat_template_version.rocky`), or None."""
    key, _, value = version.partition(".")
    return VERSIONS.get((key, value))


def listed() -> list[dict[str, object]]:
    """Return each version once, as the API lists it, with its aliases."""
    rows: dict[str, dict[str, object]] = {}
    aliases: dict[str, list[str]] = {}
    for dialect in VERSIONS.values():
        names = aliases.setdefault(dialect.name, [])
        if dialect.alias:
            names.append(f"{dialect.key}.{dialect.alias}")
        rows.setdefault(dialect.name, {"version": dialect.name, "type": dialect.family.value, "aliases": names})
    return list(rows.values())


def function_names() -> set[str]:
    """Return the names of all functions, in any version."""
    return {name for dialect in VERSIONS.values() for name in (*dialect.functions, *dialect.condition_functions)}


def add_function(name: str, form: str) -> None:
    """Add a function of a plug-in to all versions of HOT. Called before the first template is read."""
    for (key, _), dialect in VERSIONS.items():
        if key == HOT_KEY:
            dialect.functions[name] = form
