"""The corpus of questions that both Heat and Isotherm answer, and Heat's recorded answers.

`cases/*.yaml` holds the questions, one family a file, written for reading; this module turns them into *runs*, the
plain JSON cases that either side understands (template text, environments, files, parameters, what exists already). One
case becomes many runs: one for each template version it is to be asked in.

Three shapes of family, told by its `shape`:

    expression   name: value     put into a property and into an output of a fixed world of parameters and resources
    condition    name: value     put into the conditions section and used by a resource and an output
    template     name: {template, versions?, parameters?, environment?, environments?, files?, references?, ...}

`answers/*.json` holds what Heat said, grouped by equal answers, since most versions agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
CASES = HERE / "cases"
WORLDS = HERE / "worlds"
ANSWERS = HERE / "answers"

ALIASES = {"newton": "2016-10-14", "ocata": "2017-02-24", "pike": "2017-09-01", "queens": "2018-03-02",
           "rocky": "2018-08-31", "wallaby": "2021-04-16"}
HOT_DATES = ("2013-05-23", "2014-10-16", "2015-04-30", "2015-10-15", "2016-04-08", *ALIASES.values())
HOT = (*HOT_DATES, *ALIASES)
AWS, HEAT_CFN = "aws-2010-09-09", "cfn-2012-12-12"
CFN = (AWS, HEAT_CFN)
VERSION_SETS = {"hot": HOT, "dates": HOT_DATES, "cfn": CFN, "latest": ("2021-04-16",),
                "sampled": ("2013-05-23", "2015-10-15", "2016-10-14", "2017-09-01", "2021-04-16"),
                "conditional": tuple(v for v in HOT if ALIASES.get(v, v) >= "2016-10-14")}

Json = Any
Answer = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Run:
    """One question in one version of the language, ready to be asked."""

    family: str
    case: str
    variant: str  # the version, and the place an expression was put into
    question: dict[str, Json]
    focus: tuple[str, str] | None = None

    @property
    def id(self) -> str:
        return f"{self.family}/{self.case}/{self.variant}"


class _Loader(yaml.CSafeLoader):
    """Dates stay text, as in templates; a case that hides another is refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f"{node.start_mark}: written twice: {sorted(twice)}")
        return super().construct_mapping(node, deep)


def _text(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> object:
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)


@cache
def read(path: Path) -> dict[str, Json]:
    """Return a file of cases or a world. It is read once, and must not be changed."""
    data: dict[str, Json] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return data


def families() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.yaml"))


def cases(family: str) -> list[str]:
    return [str(name) for name in read(CASES / f"{family}.yaml")["cases"]]


def runs(family: str, case: str) -> list[Run]:
    """One run for each version that the case is to be asked in, and place that it is to be put into."""
    data = read(CASES / f"{family}.yaml")
    found = {str(name): value for name, value in data["cases"].items()} if case not in data["cases"] else data["cases"]
    return list(_SHAPES[data["shape"]](family, case, found[case], data))


def recorded(family: str) -> dict[str, dict[str, Answer]]:
    """Heat's answers: case -> variant -> answer."""
    data = json.loads((ANSWERS / f"{family}.json").read_text(encoding="utf-8"))
    return {case: {variant: group["answer"] for group in groups for variant in group["variants"]}
            for case, groups in data.items()}


def record(family: str, answers: dict[str, dict[str, Answer]]) -> None:
    """Write answers, equal ones together, one group a line so that a change of Heat shows as a small diff."""
    lines = []
    for case, found in sorted(answers.items()):
        groups: dict[str, list[str]] = {}
        for variant, answer in found.items():
            groups.setdefault(json.dumps(answer, sort_keys=True, ensure_ascii=False), []).append(variant)
        body = ",\n  ".join(f'{{"variants": {json.dumps(variants)}, "answer": {text}}}'
                            for text, variants in groups.items())
        lines.append(f" {json.dumps(case)}: [\n  {body}]")
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# ---- expansion -------------------------------------------------------------------------------------------------------

def _expressions(family: str, name: str, value: Json, data: dict[str, Json]) -> Iterator[Run]:
    in_hot = {"resources": {"subject": {"type": "OS::Heat::Value", "properties": {"value": value}}}}
    in_cfn = {"Resources": {"subject": {"Type": "OS::Heat::Value", "Properties": {"value": value}}}}
    properties = {False: _inner(in_hot), True: _inner(in_cfn)}
    outputs = {False: _dumped({"outputs": {"subject": {"value": value}}}),
               True: _dumped({"Outputs": {"subject": {"Value": value}}})}
    for version in VERSION_SETS[data["versions"]]:
        question = _question(data["world"])
        head = _version_line(version) + _world_text(data["world"], _has_conditions(version))
        run = {**question, "template": head + properties[version in CFN]}
        yield Run(family, name, version, run, ("definitions", "subject"))
        if version not in ALIASES:  # one place is enough to see that an alias is its date
            run = {**question, "template": head + outputs[version in CFN]}
            yield Run(family, name, f"{version} output", run, ("outputs", "subject"))


@cache
def _world_text(world: str, has_conditions: bool) -> str:
    """Most of each template is its world, always the same. Its last section is the resources: one more can follow."""
    data = read(WORLDS / f"{world}.yaml")
    template = data["template"] if has_conditions else data["template_without_conditions"]
    assert list(template)[-1].lower() == "resources"
    return _dumped(template)


def _inner(section: dict[str, Json]) -> str:
    """What stands in a section, without its heading."""
    return _dumped(section).partition("\n")[2]


def _conditions(family: str, name: str, value: Json, data: dict[str, Json]) -> Iterator[Run]:
    world = read(WORLDS / f"{data['world']}.yaml")
    for version in VERSION_SETS[data["versions"]]:
        sections = dict(world["template"] if _has_conditions(version) else world["template_without_conditions"])
        key = "Conditions" if version in CFN else "conditions"
        sections[key] = {**sections.get(key, {}), "subject": value}
        yield Run(family, name, version, {**_question(data["world"]), "template": text(sections, version)})


def _templates(family: str, name: str, case: dict[str, Json], data: dict[str, Json]) -> Iterator[Run]:
    versions = case.get("versions", data.get("versions", "latest"))
    wanted: Any = VERSION_SETS.get(versions, (versions,)) if isinstance(versions, str) else versions
    for version in wanted:
        question = {key: value for key, value in case.items() if key != "versions"}
        question["template"] = text(case["template"], version)
        if "environment" in case:
            question["environment"] = text(case["environment"])
        question["environments"] = [text(item) for item in case.get("environments", ())]
        question["files"] = {path: text(content) for path, content in case.get("files", {}).items()}
        yield Run(family, name, version, question)


_SHAPES = {"expression": _expressions, "condition": _conditions, "template": _templates}


def _has_conditions(version: str) -> bool:
    return version == AWS or version in VERSION_SETS["conditional"]


def _question(world: str) -> dict[str, Json]:
    data = read(WORLDS / f"{world}.yaml")
    return {key: value for key, value in data.items() if key not in ("template", "template_without_conditions")}


def text(content: Json, version: str = "none") -> str:
    """The text of a template or environment; a case may give it as text, to say exactly what is read."""
    if isinstance(content, str):
        return content
    return _version_line(version) + (_dumped(content) if content else "")


def _dumped(content: Json) -> str:
    dumped: str = yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return dumped


def _version_line(version: str) -> str:
    if version == "none":  # the template says itself, or says nothing
        return ""
    if version in CFN:
        kind = "AWSTemplateFormatVersion" if version == AWS else "HeatTemplateFormatVersion"
        return f"{kind}: {version.partition('-')[2]!r}\n"
    return f"heat_template_version: {version}\n"


# ---- comparison ------------------------------------------------------------------------------------------------------

_DEFAULTS: dict[str, Json] = {"metadata": {}, "update_policy": None, "deletion_policy": "Delete", "external_id": None,
                              "description": "", "depends": [], "needs": [], "hidden": False}


def compact(answer: Answer, focus: tuple[str, str] | None = None) -> Answer:
    """The part of an answer that its case is about, without what is as it always is."""
    if "error" in answer:
        return answer
    if focus:
        section, name = focus
        return {section: {name: _without_defaults(answer[section][name])}} if name in answer[section] else {}
    small = {section: {name: _without_defaults(part) for name, part in parts.items() if not _is_pseudo(name)}
             for section, parts in answer.items()}
    return {section: parts for section, parts in small.items() if parts}


def _is_pseudo(name: str) -> bool:
    return name.startswith(("OS::", "AWS::"))


def _without_defaults(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    return {key: value for key, value in part.items() if key not in _DEFAULTS or value != _DEFAULTS[key]}
