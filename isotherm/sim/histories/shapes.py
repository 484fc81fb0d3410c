"""Shapes: the desired state of a stack as plain data, apart from the template language.

A shape is rendered into a template for the engine. The expected reality is computed from the shape itself, so that a
mistake in the language or in the engine cannot hide in the expectation.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isotherm.sim.world.cloud import FOLLOWER, FRAGILE, RECORD

NAMES = "abcdefg"
# Timeout of the wait conditions.
GATE_S = 60
SECRET = "hush-hush-4711"
# Objects of the user, by the one resource name that refers to each: Heat lets no resource become external or stop being so.
EXTERNAL = {"x": "foreign1", "y": "foreign2"}
FOREIGN = tuple(EXTERNAL.values())
# Types and their twins with plain methods; and those whose objects cannot be searched for.
PLAIN = {"Sim::Thing": "Sim::PlainThing", "Sim::Pet": "Sim::PlainPet"}
UNSEARCHABLE = ({"Sim::Thing": "Sim::Blind"}, {"Sim::Thing": "Sim::Blind"}, {"Sim::Thing": "Sim::Repeatable"})
# Types that are created again after a failure, observed after one, or have implied requirements.
TABLED = {"Sim::Thing": RECORD}
HOOKED = ({"Sim::Thing": FRAGILE}, {"Sim::Thing": "Sim::Observed"}, {"Sim::Thing": FOLLOWER})


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
    # It depends on a wait condition of its own.
    gate: bool = False
    # The drift policy in its metadata.
    drift: str = ""
    # A nested stack of a template resource. `a` and `link` are its parameters; its output is the echo.
    inner: Mapping[str, Part] | None = None
    # In a nested stack: `a` and `link` are read from the parameters.
    given: bool = False

    @property
    def requires(self) -> frozenset[str]:
        return frozenset(one for one in (self.base, self.link, self.seen, *self.uses, *self.after) if one)

    def without(self, gone: Iterable[str]) -> Part:
        """Return the part without references to these names."""
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
    """Return the parts that are switched on and have an object."""
    return {name: part for name, part in shape.items() if not part.off and part.kind != NOTHING}


def sound(shape: Shape) -> Shape:
    """Return the shape without references to parts that have no object."""
    empty = {name for name, part in shape.items() if part.kind == NOTHING}
    return {name: dataclasses.replace(part.without(empty), inner=None if part.inner is None else sound(part.inner))
            for name, part in shape.items()}


def render(shape: Shape) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return the template of the shape, its environment and its files."""
    files: dict[str, str] = {}
    template, values = _template(shape, "", files)
    aliases = _aliases(shape, "")
    environment = {"parameters": values} if values else {}
    return template, {**environment, "resource_registry": aliases} if aliases else environment, files


def _aliases(shape: Shape, path: str) -> dict[str, str]:
    """Return the resource registry of the environment; each alias belongs to one part only."""
    found: dict[str, str] = {}
    for name, part in shape.items():
        if part.alias:
            found[_type(part, name, path)] = part.kind if part.inner is None else f"{path}{name}.yaml"
        if part.inner is not None:
            found |= _aliases(part.inner, f"{path}{name}.")
    return found


def _type(part: Part, name: str, path: str) -> str:
    """Return the type name that the template uses."""
    if part.alias:
        return f"Alias::{path}{name}::{part.alias}"
    return part.kind if part.inner is None else f"{path}{name}.yaml"


def _template(shape: Shape, path: str, files: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return a template and the values of its parameters; add the templates of nested stacks to the files."""
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
    if (shown := echo_part(shape)) is not None:
        template["outputs"] = {"echo": {"value": {"get_attr": [shown, "echo"]}}}
    return json.dumps(template), values


def gates(shape: Shape) -> list[str]:
    return [name for name, part in living(shape).items() if part.gate]


def _gate(resources: dict[str, Any], name: str) -> None:
    """Add a wait condition and its handle, and let the part depend on it."""
    handle, wait = f"{name}handle", f"{name}wait"
    resources[handle] = {"type": "OS::Heat::WaitConditionHandle"}
    properties = {"handle": {"get_resource": handle}, "timeout": GATE_S}
    resources[wait] = {"type": "OS::Heat::WaitCondition", "properties": properties}
    resources[name]["depends_on"] = [*resources[name].get("depends_on", ()), wait]


def echo_part(shape: Shape) -> str | None:
    """Return the name of the part whose echo is the output of the stack."""
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
    if part.after and part.kind == FOLLOWER:
        # Only parts that have an object of their name can be looked for in the cloud.
        properties["near"] = " ".join(one for one in part.after if one in NAMES)
        resource["depends_on"] = [one for one in part.after if one not in NAMES]
    elif part.after:
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
    """Return the expected properties of the part's object, from the ids and echoes of the others and the parameters."""
    return {
        "a": part.a or None, "fixed": part.fixed or None, "fail": part.fail or None,
        "base": ids[part.base] if part.base else None, "link": ids[part.link] if part.link else None,
        "uses": [ids[name] for name in part.uses] or None, "seen": echoes[part.seen] if part.seen else None,
        "secret": SECRET if part.secret else None, **(given or {} if part.given else {}),
    }


def feasible(shape: Shape) -> Shape:
    """Return the shape without its built-in failures."""
    return {
        name: dataclasses.replace(part, fail="", inner=None if part.inner is None else feasible(part.inner))
        for name, part in shape.items()
    }


def of_kinds(shape: Shape, names: Iterable[str], kinds: Mapping[str, str]) -> Shape:
    """Return the shape with other types of the named parts, also in nested stacks."""
    chosen = set(names)
    return {
        name: dataclasses.replace(
            part, kind=kinds.get(part.kind, part.kind) if name in chosen else part.kind,
            inner=None if part.inner is None else of_kinds(part.inner, chosen, kinds))
        for name, part in shape.items()
    }


def renamed(shape: Shape, names: Mapping[str, str]) -> Shape:
    """Return the shape with other names of parts, and of references to them."""

    def one(name: str) -> str:
        return names.get(name, name)

    return {
        one(name): dataclasses.replace(
            part, base=one(part.base), link=one(part.link), seen=one(part.seen), uses=tuple(map(one, part.uses)),
            after=tuple(map(one, part.after)))
        for name, part in shape.items()
    }


def drop(shape: Shape, names: Iterable[str]) -> Shape:
    gone = set(names)
    return {name: part.without(gone) for name, part in shape.items() if name not in gone}


def tidy(shape: Shape, *, inside: bool = False) -> Shape:
    """Return the shape without references to nested stacks as objects, and without policies that those ignore."""
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
    if inside and echo_part(parts) is None:
        parts["z"] = Part(a="z")
    return parts
