"""Shapes: random desired states of the fault test's stacks, with parts that require each other, and random changes.

A shape is rendered as a template. It also determines, independently of the engine, the objects that must be in the cloud.
Parts change in place, are replaced, scaled, added and removed; requirements may be reversed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

PLAIN, FIXED, SLOW, GROUP, PAIR, TEST = "plain", "fixed", "slow", "group", "pair", "test"
OBJECTS, NESTED = frozenset({PLAIN, FIXED, SLOW}), frozenset({GROUP, PAIR})
KINDS = (PLAIN, PLAIN, PLAIN, FIXED, FIXED, SLOW, GROUP, PAIR, TEST)
NAMES = tuple("abcdefghij")
VERSION = "2018-08-31"
PAIR_FILE = "pair.yaml"


@dataclass(frozen=True, slots=True)
class Part:
    """One resource of a template: a group and a pair have a nested stack."""

    kind: str
    size: int
    needs: tuple[str, ...] = ()
    count: int = 1


Shape = Mapping[str, Part]
EMPTY: Shape = {}


def draw(dice: random.Random) -> dict[str, Part]:
    names = dice.sample(NAMES, dice.randint(3, 7))
    shape: dict[str, Part] = {}
    for name in names:
        shape[name] = Part(dice.choice(KINDS), dice.randint(1, 9), _needs(dice, list(shape)), dice.randint(1, 3))
    return shape


def change(dice: random.Random, shape: Shape) -> dict[str, Part]:
    """Return a shape with some changed parts."""
    if dice.random() < 0.15 or not shape:
        return draw(dice)
    names = [name for name in shape if dice.random() > 0.12]
    names += [name for name in NAMES if name not in shape and dice.random() < 0.12]
    if dice.random() < 0.25:
        dice.shuffle(names)  # requirements may be reversed
    changed: dict[str, Part] = {}
    for name in names:
        part = shape.get(name) or Part(dice.choice(KINDS), 1, _needs(dice, list(changed)))
        if dice.random() < 0.4:
            part = replace(part, size=dice.randint(1, 9), count=dice.randint(1, 3))
        kept = tuple(one for one in part.needs if one in changed)
        if dice.random() < 0.2:
            kept = _needs(dice, list(changed))
        changed[name] = replace(part, needs=kept)
    return changed


def _needs(dice: random.Random, before: list[str]) -> tuple[str, ...]:
    return tuple(dice.sample(before, min(len(before), dice.choice((0, 1, 1, 2, 3)))))


# As a template.


def render(shape: Shape, stack: str, cloud: str) -> dict[str, Any]:
    """Return the template part of a request."""
    resources = {name: _resource(shape, name, stack, cloud) for name in shape}
    files = {PAIR_FILE: json.dumps(_pair(cloud))} if any(part.kind == PAIR for part in shape.values()) else {}
    return {"template": {"heat_template_version": VERSION, "resources": resources}, "files": files}


def _resource(shape: Shape, name: str, stack: str, cloud: str) -> dict[str, Any]:
    part = shape[name]
    tests = [one for one in part.needs if shape[one].kind == TEST]
    more = {"depends_on": tests} if tests else {}
    uses = [{"get_resource": one} for one in part.needs if shape[one].kind in OBJECTS]
    names = {"list_concat": [[], *(_inside(one, shape[one].kind) for one in part.needs if shape[one].kind in NESTED)]}
    if part.kind == TEST:
        joined = {"list_join": [" ", [str(part.size)], uses, names]}
        return {"type": "OS::Heat::TestResource", "properties": {"value": joined, "wait_secs": part.size % 3 * 0.3}, **more}
    body = {"stack": stack, "path": name, "size": part.size, "uses": uses, "names": names}
    if part.kind == PAIR:
        return {"type": PAIR_FILE, "properties": body, **more}
    if part.kind == GROUP:
        member = _object({**body, "path": f"{name}/%index%"}, cloud, part.kind)
        return {"type": "OS::Heat::ResourceGroup", "properties": {"count": part.count, "resource_def": member}, **more}
    return {**_object(body, cloud, part.kind), **more}


def _inside(name: str, kind: str) -> Any:
    """Return the objects of a nested stack. It replaces and deletes them regardless of the outer stack, as in Heat;
    so parts outside name its objects, and do not use them."""
    return {"get_attr": [name, "refs"]} if kind == GROUP else [{"get_attr": [name, "last"]}]


def _object(body: Mapping[str, Any], cloud: str, kind: str) -> dict[str, Any]:
    one = f"{cloud}/objects/{{id}}"
    properties = {"object": body, "create": {"url": f"{cloud}/objects"}, "read": {"url": one}, "object_path": "object",
                  "token_header": "Idempotency-Key", "timeout_secs": 5,
                  "ready": {"values": ["READY"]} if kind == SLOW else None, "update": None if kind == FIXED else {},
                  "find": {"url": f"{cloud}/objects?token={{token}}"}}
    return {"type": "Isotherm::Http::Object", "properties": {k: v for k, v in properties.items() if v is not None}}


def _pair(cloud: str) -> dict[str, Any]:
    """Return a template with two resources, of which the second uses the first."""
    given = {key: {"get_param": key} for key in ("stack", "path", "size", "uses", "names")}
    first = {**given, "path": {"list_join": ["/", [given["path"], "one"]]}}
    second = {**given, "path": {"list_join": ["/", [given["path"], "two"]]}, "uses": [{"get_resource": "one"}],
              "names": []}
    return {
        "heat_template_version": VERSION,
        "parameters": {"stack": {"type": "string"}, "path": {"type": "string"}, "size": {"type": "number"},
                       "uses": {"type": "json"}, "names": {"type": "json"}},
        "resources": {"one": _object(first, cloud, PLAIN), "two": _object(second, cloud, FIXED)},
        "outputs": {"last": {"value": {"get_resource": "two"}}},
    }


# As it must be in the cloud.


@dataclass(frozen=True, slots=True)
class Expected:
    """An object: its size, and the paths of the objects that it uses, and of those that it only names."""

    size: int
    uses: tuple[str, ...]
    names: tuple[str, ...] = ()


def expected(shape: Shape) -> dict[str, Expected]:
    """Return all objects in the cloud, by their paths."""
    found: dict[str, Expected] = {}
    for name, part in shape.items():
        wanted = Expected(part.size, *needed(shape, part))
        if part.kind == PAIR:
            found[f"{name}/one"] = wanted
            found[f"{name}/two"] = Expected(part.size, (f"{name}/one",))
        else:
            found.update(dict.fromkeys(_ends(name, part), wanted))
    return found


def needed(shape: Shape, part: Part) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of the objects that a part uses, and of those that it only names."""
    uses = tuple(one for one in part.needs if shape[one].kind in OBJECTS)
    return uses, tuple(path for one in part.needs if shape[one].kind in NESTED for path in _ends(one, shape[one]))


def tests(shape: Shape) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the TestResources, which have no object in the cloud: name, size, and the objects that they name."""
    for name, part in shape.items():
        if part.kind == TEST:
            yield name, part.size, [path for paths in needed(shape, part) for path in paths]


def _ends(name: str, part: Part) -> Iterator[str]:
    """Yield the objects of a part whose ids it publishes."""
    if part.kind == GROUP:
        yield from (f"{name}/{number}" for number in range(part.count))
    elif part.kind == PAIR:
        yield f"{name}/two"
    elif part.kind != TEST:
        yield name
