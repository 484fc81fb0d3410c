"""Shapes: what a client wants, as plain data, apart from the template language.

A shape is rendered into a template that the engine gets; what reality should look like in the end is worked out from the
shape itself, so that a mistake in the language or the engine cannot hide in the expectation.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

NAMES = "abcdefg"
# How long a signal is waited for.
GATE_S = 60
SECRET = "hush-hush-4711"
# Objects of the user's own, by the name of the only resource that ever stands for each: Heat lets no resource become
# external, or cease to be.
EXTERNAL = {"x": "foreign1", "y": "foreign2"}
FOREIGN = tuple(EXTERNAL.values())
# Types and their twins with plain methods; and those whose objects cannot be searched for.
PLAIN = {"Sim::Thing": "Sim::PlainThing", "Sim::Pet": "Sim::PlainPet"}
UNSEARCHABLE = ({"Sim::Thing": "Sim::Blind"}, {"Sim::Thing": "Sim::Blind"}, {"Sim::Thing": "Sim::Repeatable"})


@dataclass(frozen=True, slots=True)
class Part:
    """One resource. `base`, `link`, `uses` name other parts by get_resource, `seen` by get_attr, `after` by depends_on."""

    kind: str = "Sim::Thing"
    # The template names its type by an alias, which the environment maps to the kind.
    alias: str = ""
    a: str = ""
    fixed: str = ""
    fail: str = ""
    base: str = ""
    link: str = ""
    uses: tuple[str, ...] = ()
    seen: str = ""
    after: tuple[str, ...] = ()
    retain: bool = False
    external: str = ""
    # Switched off by a condition.
    off: bool = False
    secret: bool = False
    # It is made after a signal has come, to a handle of its own.
    gate: bool = False
    # What is to be done when it drifts, as its metadata say.
    drift: str = ""
    # A stack inside, of a template that serves as a type. It is given `a` and `link`; others may see its echo.
    inner: Mapping[str, Part] | None = None
    # Inside such a stack: `a` and `link` are those that the stack was given.
    given: bool = False

    @property
    def requires(self) -> frozenset[str]:
        return frozenset(one for one in (self.base, self.link, self.seen, *self.uses, *self.after) if one)

    def without(self, gone: Iterable[str]) -> Part:
        """The same without references to what is gone."""
        lost = set(gone)
        return dataclasses.replace(
            self, base="" if self.base in lost else self.base, link="" if self.link in lost else self.link,
            seen="" if self.seen in lost else self.seen, uses=tuple(one for one in self.uses if one not in lost),
            after=tuple(one for one in self.after if one not in lost),
        )


Shape = Mapping[str, Part]
EMPTY: Shape = {}
# The kind of a part that has no object.
NOTHING = "OS::Heat::None"


def living(shape: Shape) -> dict[str, Part]:
    """The parts that are switched on, and have an object."""
    return {name: part for name, part in shape.items() if not part.off and part.kind != NOTHING}


def sound(shape: Shape) -> Shape:
    """The same without references to parts that have no object."""
    empty = {name for name, part in shape.items() if part.kind == NOTHING}
    return {name: dataclasses.replace(part.without(empty), inner=None if part.inner is None else sound(part.inner))
            for name, part in shape.items()}


def render(shape: Shape) -> tuple[str, dict[str, Any], dict[str, str]]:
    """A template, its environment and its files."""
    files: dict[str, str] = {}
    template, values = _template(shape, "", files)
    aliases = _aliases(shape, "")
    environment = {"parameters": values} if values else {}
    return template, {**environment, "resource_registry": aliases} if aliases else environment, files


def _aliases(shape: Shape, path: str) -> dict[str, str]:
    """What the environment says of the types: each alias is of one part only."""
    found: dict[str, str] = {}
    for name, part in shape.items():
        if part.alias:
            found[_type(part, name, path)] = part.kind if part.inner is None else f"{path}{name}.yaml"
        if part.inner is not None:
            found |= _aliases(part.inner, f"{path}{name}.")
    return found


def _type(part: Part, name: str, path: str) -> str:
    """The type, as the template calls it."""
    if part.alias:
        return f"Alias::{path}{name}::{part.alias}"
    return part.kind if part.inner is None else f"{path}{name}.yaml"


def _template(shape: Shape, path: str, files: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """A template and the values of its parameters; those of the stacks inside become files."""
    template: dict[str, Any] = {"heat_template_version": "2016-10-14"}
    parameters: dict[str, Any] = {}
    values: dict[str, Any] = {}
    if path:
        parameters |= {name: {"type": "string", "default": ""} for name in ("given_a", "given_link")}
    if any(part.off for part in shape.values()):
        parameters["on"] = {"type": "boolean", "default": False}
        values["on"] = False
        template["conditions"] = {"is_on": {"get_param": "on"}}
    if has_secrets(shape):
        parameters["secret"] = {"type": "string", "hidden": True}
        values["secret"] = SECRET
    if parameters:
        template["parameters"] = parameters
    template["resources"] = {
        name: _render_part(part, _type(part, name, path)) if part.inner is None
        else _render_tree(part, _type(part, name, path), part.inner, f"{path}{name}.", files)
        for name, part in shape.items()
    }
    for name in gates(shape):
        _gate(template["resources"], name)
    if (shown := speaker(shape)) is not None:
        template["outputs"] = {"echo": {"value": {"get_attr": [shown, "echo"]}}}
    return json.dumps(template), values


def gates(shape: Shape) -> list[str]:
    return [name for name, part in living(shape).items() if part.gate]


def _gate(resources: dict[str, Any], name: str) -> None:
    """The part waits for a signal to its handle."""
    handle, wait = f"{name}handle", f"{name}wait"
    resources[handle] = {"type": "OS::Heat::WaitConditionHandle"}
    properties = {"handle": {"get_resource": handle}, "timeout": GATE_S}
    resources[wait] = {"type": "OS::Heat::WaitCondition", "properties": properties}
    resources[name]["depends_on"] = [*resources[name].get("depends_on", ()), wait]


def speaker(shape: Shape) -> str | None:
    """The part whose echo is that of the stack."""
    return next((name for name, part in living(shape).items() if not part.external), None)


def has_secrets(shape: Shape) -> bool:
    return any(part.secret or has_secrets(part.inner or EMPTY) for part in shape.values())


def _render_tree(part: Part, type_: str, inner: Shape, path: str, files: dict[str, str]) -> dict[str, Any]:
    files[f"{path}yaml"], _ = _template(inner, path, files)
    properties: dict[str, Any] = {"given_a": part.a}
    if part.link:
        properties["given_link"] = {"get_resource": part.link}
    if has_secrets(inner):
        properties["secret"] = {"get_param": "secret"}
    resource: dict[str, Any] = {"type": type_, "properties": properties, "depends_on": list(part.after)}
    return {**resource, "condition": "is_on"} if part.off else resource


def _render_part(part: Part, type_: str) -> dict[str, Any]:
    properties: dict[str, Any] = {key: value for key in ("a", "fixed", "fail") if (value := getattr(part, key))}
    properties |= {key: {"get_resource": name} for key in ("base", "link") if (name := getattr(part, key))}
    if part.given:
        properties |= {"a": {"get_param": "given_a"}, "link": {"get_param": "given_link"}}
    if part.uses:
        properties["uses"] = [{"get_resource": name} for name in part.uses]
    if part.seen:
        properties["seen"] = {"get_attr": [part.seen, "echo"]}
    if part.secret:
        properties["secret"] = {"get_param": "secret"}
    resource: dict[str, Any] = {"type": type_, "properties": properties}
    if part.after:
        resource["depends_on"] = list(part.after)
    if part.retain:
        resource["deletion_policy"] = "Retain"
    if part.external:
        resource["external_id"] = part.external
    if part.off:
        resource["condition"] = "is_on"
    if part.drift:
        resource["metadata"] = {"isotherm": {"drift": part.drift}}
    return resource


def expected(
    part: Part, ids: Mapping[str, str], echoes: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The properties that the part's object should have: ids and echoes of the others, and what its stack was given."""
    return {
        "a": part.a or None, "fixed": part.fixed or None, "fail": part.fail or None,
        "base": ids[part.base] if part.base else None, "link": ids[part.link] if part.link else None,
        "uses": [ids[name] for name in part.uses] or None, "seen": echoes[part.seen] if part.seen else None,
        "secret": SECRET if part.secret else None, **(given or {} if part.given else {}),
    }


def feasible(shape: Shape) -> Shape:
    """The same without the failures that it asks for."""
    return {
        name: dataclasses.replace(part, fail="", inner=None if part.inner is None else feasible(part.inner))
        for name, part in shape.items()
    }


def of_kinds(shape: Shape, names: Iterable[str], kinds: Mapping[str, str]) -> Shape:
    """The same with other types of the named parts, also in stacks inside."""
    chosen = set(names)
    return {
        name: dataclasses.replace(
            part, kind=kinds.get(part.kind, part.kind) if name in chosen else part.kind,
            inner=None if part.inner is None else of_kinds(part.inner, chosen, kinds))
        for name, part in shape.items()
    }


def drop(shape: Shape, names: Iterable[str]) -> Shape:
    gone = set(names)
    return {name: part.without(gone) for name, part in shape.items() if name not in gone}


def tidy(shape: Shape, *, inside: bool = False) -> Shape:
    """The same without what has no meaning: stacks inside are no objects that others could use, and keep nothing."""
    trees = {name for name, part in shape.items() if part.inner is not None}
    parts: dict[str, Part] = {}
    for name, part in shape.items():
        base, link = ("" if one in trees else one for one in (part.base, part.link))
        uses = tuple(one for one in part.uses if one not in trees)
        if part.inner is not None:
            inner = tidy(part.inner, inside=True)
            parts[name] = Part("", part.alias, part.a, link=link, after=part.after, off=part.off, inner=inner)
        elif inside:
            parts[name] = dataclasses.replace(part, base=base, link="" if part.given else link, uses=uses, retain=False,
                                              gate=False)
        else:
            parts[name] = dataclasses.replace(part, base=base, link=link, uses=uses)
    if inside and speaker(parts) is None:
        parts["z"] = Part(a="z")
    return parts
