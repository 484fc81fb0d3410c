"""Shapes: what a client wants, as plain data, apart from the template language.

A shape is rendered into a template that the engine gets; what reality should look like in the end is worked out from the
shape itself, so that a mistake in the language or the engine cannot hide in the expectation.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

NAMES = "abcdefg"
SECRET = "hush-hush-4711"
# Objects of the user's own, by the name of the only resource that ever stands for each: Heat lets no resource become
# external, or cease to be.
EXTERNAL = {"x": "foreign1", "y": "foreign2"}
FOREIGN = tuple(EXTERNAL.values())


@dataclass(frozen=True, slots=True)
class Part:
    """One resource. `base`, `link`, `uses` name other parts by get_resource, `seen` by get_attr, `after` by depends_on."""

    kind: str = "Sim::Thing"
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


def living(shape: Shape) -> dict[str, Part]:
    """The parts that are switched on."""
    return {name: part for name, part in shape.items() if not part.off}


def render(shape: Shape) -> tuple[str, dict[str, Any]]:
    """A template and its environment."""
    template: dict[str, Any] = {"heat_template_version": "2016-10-14"}
    parameters: dict[str, Any] = {}
    values: dict[str, Any] = {}
    if any(part.off for part in shape.values()):
        parameters["on"] = {"type": "boolean"}
        values["on"] = False
        template["conditions"] = {"is_on": {"get_param": "on"}}
    if any(part.secret for part in shape.values()):
        parameters["secret"] = {"type": "string", "hidden": True}
        values["secret"] = SECRET
    if parameters:
        template["parameters"] = parameters
    template["resources"] = {name: _render_part(part) for name, part in shape.items()}
    shown = [name for name, part in living(shape).items() if not part.external]
    if shown:
        template["outputs"] = {"first": {"value": {"get_attr": [shown[0], "echo"]}}}
    return json.dumps(template), {"parameters": values} if values else {}


def _render_part(part: Part) -> dict[str, Any]:
    properties: dict[str, Any] = {key: value for key in ("a", "fixed", "fail") if (value := getattr(part, key))}
    properties |= {key: {"get_resource": name} for key in ("base", "link") if (name := getattr(part, key))}
    if part.uses:
        properties["uses"] = [{"get_resource": name} for name in part.uses]
    if part.seen:
        properties["seen"] = {"get_attr": [part.seen, "echo"]}
    if part.secret:
        properties["secret"] = {"get_param": "secret"}
    resource: dict[str, Any] = {"type": part.kind, "properties": properties}
    if part.after:
        resource["depends_on"] = list(part.after)
    if part.retain:
        resource["deletion_policy"] = "Retain"
    if part.external:
        resource["external_id"] = part.external
    if part.off:
        resource["condition"] = "is_on"
    return resource


def expected(part: Part, ids: Mapping[str, str], echoes: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that the part's object should have: ids and echoes of the others are given."""
    return {
        "a": part.a or None, "fixed": part.fixed or None, "fail": part.fail or None,
        "base": ids[part.base] if part.base else None, "link": ids[part.link] if part.link else None,
        "uses": [ids[name] for name in part.uses] or None, "seen": echoes[part.seen] if part.seen else None,
        "secret": SECRET if part.secret else None,
    }


def random_shape(random: Random, size: int, *, failures: bool) -> Shape:
    names = random.sample(NAMES, size)
    parts: dict[str, Part] = {"x": Part(external=EXTERNAL["x"])} if random.random() < 0.1 else {}
    for name in names:
        parts[name] = _random_part(random, [n for n, p in parts.items() if not p.off], failures=failures)
    return parts


def _random_part(random: Random, others: list[str], *, failures: bool) -> Part:
    def some(chance: float) -> str:
        return random.choice(others) if others and random.random() < chance else ""

    part = Part(
        kind="Sim::Pet" if random.random() < 0.15 else "Sim::Thing", a=f"v{random.randrange(4)}",
        fixed=random.choice(("", "x", "y")), base=some(0.3), link=some(0.15), seen=some(0.3),
        uses=tuple(sorted({one for one in (some(0.35), some(0.2)) if one})),
        after=tuple(one for one in (some(0.2),) if one), retain=random.random() < 0.08, off=random.random() < 0.08,
        secret=random.random() < 0.2,
    )
    if failures and random.random() < 0.12:
        part = dataclasses.replace(part, fail=random.choice(("create", "build", "update", "delete")))
    return part


def feasible(shape: Shape) -> Shape:
    """The same without the failures that it asks for."""
    return {name: dataclasses.replace(part, fail="") for name, part in shape.items()}


def changed(random: Random, shape: Shape, *, failures: bool) -> Shape:
    """What a client may want next: one to three changes of the shape, or all of it turned round."""
    for _ in range(random.randint(1, 3)):
        shape = random.choice(_CHANGES)(random, shape, failures)
    return shape


def _alter(random: Random, shape: Shape, failures: bool) -> Shape:
    """Change a property in place or for good."""
    if not shape:
        return shape
    name = random.choice(sorted(shape))
    part = shape[name]
    if part.external:
        return shape
    fresh = random.choice(({"a": f"v{random.randrange(9)}"}, {"fixed": random.choice("xyz")},
                           {"fail": random.choice(("create", "build", "update", "delete")) if failures else ""},
                           {"fail": ""}, {"retain": not part.retain}, {"kind": "Sim::Pet"}, {"secret": not part.secret}))
    return {**shape, name: dataclasses.replace(part, **fresh)}


def _rewire(random: Random, shape: Shape, failures: bool) -> Shape:
    """Turn the graph round: the same parts, with references drawn anew in another order."""
    names = sorted(shape)
    random.shuffle(names)
    parts: dict[str, Part] = {}
    for name in names:
        others = [n for n, p in parts.items() if not p.off]
        drawn = _random_part(random, others, failures=False)
        part = shape[name]
        if part.external:
            parts[name] = part
            continue
        parts[name] = dataclasses.replace(part, base=drawn.base if random.random() < 0.5 else "", link=drawn.link,
                                          uses=drawn.uses, seen=drawn.seen, after=drawn.after)
    return parts


def _add(random: Random, shape: Shape, failures: bool) -> Shape:
    if random.random() < 0.1:
        name = random.choice(sorted(EXTERNAL))
        return {name: Part(external=EXTERNAL[name]), **shape}
    free = [name for name in NAMES if name not in shape]
    if not free or len(shape) >= 6:
        return _alter(random, shape, failures)
    others = [n for n, p in shape.items() if not p.off]
    return {**shape, random.choice(free): _random_part(random, others, failures=failures)}


def drop(shape: Shape, names: Iterable[str]) -> Shape:
    gone = set(names)
    return {name: part.without(gone) for name, part in shape.items() if name not in gone}


def _drop(random: Random, shape: Shape, failures: bool) -> Shape:
    return drop(shape, [random.choice(sorted(shape))]) if len(shape) > 1 else shape


def _rename(random: Random, shape: Shape, failures: bool) -> Shape:
    free = [name for name in NAMES if name not in shape]
    if not free or not shape:
        return shape
    old, new = random.choice(sorted(shape)), random.choice(free)
    if shape[old].external:
        return shape

    def renamed(name: str) -> str:
        return new if name == old else name

    return {
        renamed(name): dataclasses.replace(
            part, base=renamed(part.base), link=renamed(part.link), seen=renamed(part.seen),
            uses=tuple(map(renamed, part.uses)), after=tuple(map(renamed, part.after)),
        )
        for name, part in shape.items()
    }


def _switch(random: Random, shape: Shape, failures: bool) -> Shape:
    """Switch a part on or off; nobody may refer to one that is off."""
    if not shape:
        return shape
    name = random.choice(sorted(shape))
    part = shape[name]
    if part.external:
        return shape
    if part.off:
        return {**shape, name: dataclasses.replace(part, off=False)}
    others = drop(shape, [name])
    return {n: others.get(n, dataclasses.replace(part, off=True)) for n in shape}


_CHANGES = (_alter, _alter, _alter, _rewire, _add, _drop, _rename, _switch)
