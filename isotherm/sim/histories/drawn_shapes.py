"""Random shapes: the first of a client, and changes of it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection
from random import Random

from isotherm.sim.histories import shapes
from isotherm.sim.histories.shapes import EXTERNAL, NAMES, Part, Shape
from isotherm.sim.world.cloud import FOLLOWER, NAMED


def random_tree(random: Random, *, failures: bool) -> Shape:
    """Draw a small shape with nested stacks, up to three deep."""
    shape = random_shape(random, random.randint(0, 2), failures=failures)
    living = list(shapes.living(shape))
    trees = {name: _tree(random, random.choice((1, 1, 2, 3)), living, failures=failures)
             for name in random.sample("pqr", random.choice((1, 1, 2)))}
    return shapes.tidy(_rewire(random, {**shape, **trees}, failures))


def _tree(random: Random, depth: int, others: list[str], *, failures: bool) -> Part:
    drawn = shapes.drop(random_shape(random, random.randint(1, 2), failures=failures), EXTERNAL)
    inner = {name: dataclasses.replace(part, given=random.random() < 0.5) for name, part in drawn.items()}
    if depth > 1:
        others_inside = [name for name, part in inner.items() if not part.off]
        inner["n"] = _tree(random, depth - 1, others_inside, failures=failures)
    link = random.choice(others) if others and random.random() < 0.5 else ""
    return Part("", a=f"v{random.randrange(4)}", link=link, off=random.random() < 0.05, inner=inner)


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


def tower(random: Random) -> Shape:
    """Draw parts that are based on each other: replacing one of them replaces its dependants."""
    parts: dict[str, Part] = {}
    for name in random.sample(NAMES, random.randint(2, 5)):
        below = random.choice(list(parts)) if parts else ""
        based = random.random() < 0.7
        parts[name] = Part(fixed="x", base=below if based else "", uses=() if based or not below else (below,))
    return parts


def undermined(random: Random, shape: Shape) -> Shape:
    """Replace a part of a tower that others require; at times add a part that fails."""
    name = random.choice([part.base or next(iter(part.uses)) for part in shape.values() if part.requires])
    changed = {**shape, name: dataclasses.replace(shape[name], fixed="y")}
    if random.random() < 0.6:
        fails = Part(base=random.choice(list(shape)), fail=random.choice(("create", "build")))
        changed[random.choice([free for free in NAMES if free not in shape])] = fails
    return changed


def overloaded(random: Random, shape: Shape) -> Shape:
    """Replace a part of a tower, and add a part on top that fails: so the update is never complete."""
    name = random.choice([part.base or next(iter(part.uses)) for part in shape.values() if part.requires])
    top = random.choice([free for free in NAMES if free not in shape])
    return {**shape, name: dataclasses.replace(shape[name], fixed="y"),
            top: Part(after=tuple(sorted(shape)), fail=random.choice(("create", "build")))}


def gated(random: Random, shape: Shape) -> Shape:
    """Let some of the parts wait for a signal."""
    return {
        name: part if part.external else dataclasses.replace(part, gate=random.random() < 0.5)
        for name, part in shape.items()
    }


def named(shape: Shape, names: Collection[str]) -> Shape:
    """Return the shape with ids that the client chooses for the objects of these parts."""
    return {
        name: dataclasses.replace(
            part, kind=NAMED if name in names and not (part.inner or part.external or part.alias) else part.kind,
            inner=None if part.inner is None else named(part.inner, names))
        for name, part in shape.items()
    }


def aliased(random: Random, shape: Shape, names: Collection[str]) -> Shape:
    """Return the shape with aliases for the types of these parts; some aliases get another meaning."""
    parts: dict[str, Part] = {}
    for name, part in shape.items():
        if part.inner is not None:
            part = dataclasses.replace(part, inner=aliased(random, part.inner, names))
        if name in names and not part.external:
            part = dataclasses.replace(part, alias=random.choice(("One", "One", "One", "Two")))
            if random.random() < 0.3:
                kind = random.choice(("Sim::Thing", "Sim::Pet", NAMED, shapes.NOTHING))
                part = dataclasses.replace(part, kind=kind, inner=None)
        parts[name] = part
    return parts


def followed(random: Random, shape: Shape) -> Shape:
    """Return the shape with followers that come after earlier parts, which they do not refer to."""
    parts: dict[str, Part] = {}
    for name, part in shape.items():
        earlier = [one for one, other in parts.items()
                   if one in NAMES and not (other.off or other.external or other.inner or other.kind == shapes.NOTHING)]
        if part.kind == FOLLOWER and earlier and random.random() < 0.8:
            part = dataclasses.replace(part, after=tuple(sorted(set(random.choices(earlier, k=2)))))
        parts[name] = part
    return parts


def changed(random: Random, shape: Shape, *, failures: bool) -> Shape:
    """Make one to three random changes."""
    for _ in range(random.randint(1, 3)):
        shape = random.choice(_CHANGES)(random, shape, failures)
    return shapes.tidy(shape) if any(part.inner is not None for part in shape.values()) else shape


def _alter(random: Random, shape: Shape, failures: bool) -> Shape:
    """Change a property, a policy or the type of one part."""
    if not shape:
        return shape
    name = random.choice(sorted(shape))
    part = shape[name]
    if part.external:
        return shape
    if part.inner is not None and random.random() < 0.7:
        # External resources are never added to a nested stack.
        inner = random.choice((_alter, _alter, _rewire, _drop, _rename, _switch))(random, part.inner, failures)
        return {**shape, name: dataclasses.replace(part, inner=inner)}
    fresh = random.choice(({"a": f"v{random.randrange(9)}"}, {"fixed": random.choice("xyz")},
                           {"fail": random.choice(("create", "build", "update", "delete")) if failures else ""},
                           {"fail": ""}, {"retain": not part.retain}, {"kind": "Sim::Pet"}, {"secret": not part.secret}))
    return {**shape, name: dataclasses.replace(part, **fresh)}


def _rewire(random: Random, shape: Shape, failures: bool) -> Shape:
    """Draw the references between the parts again, in another order."""
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


def _drop(random: Random, shape: Shape, failures: bool) -> Shape:
    return shapes.drop(shape, [random.choice(sorted(shape))]) if len(shape) > 1 else shape


def _rename(random: Random, shape: Shape, failures: bool) -> Shape:
    free = [name for name in NAMES if name not in shape]
    if not free or not shape:
        return shape
    old, new = random.choice(sorted(shape)), random.choice(free)
    return shape if shape[old].external else shapes.renamed(shape, {old: new})


def moved(random: Random, shape: Shape) -> tuple[Shape, dict[str, str]]:
    """Return the shape after moves of one or two parts to other names, and the moves."""
    movable = sorted(name for name, part in shapes.living(shape).items()
                     if not (part.external or part.alias or part.gate or part.inner is not None))
    free = sorted(set(NAMES) - shape.keys())
    if not movable or not free:
        return shape, {}
    chain = [*random.sample(movable, min(len(movable), random.choice((1, 1, 2)))), random.choice(free)]
    names = dict(itertools.pairwise(chain))
    after = shapes.renamed(shape, names)
    if random.random() < 0.3:
        after = {**after, chain[0]: Part(a=f"v{random.randrange(9)}", fixed="z" if random.random() < 0.5 else "")}
    return after, names


def _switch(random: Random, shape: Shape, failures: bool) -> Shape:
    """Switch a part on or off by its condition; no other part may refer to one that is off."""
    if not shape:
        return shape
    name = random.choice(sorted(shape))
    part = shape[name]
    if part.external:
        return shape
    if part.off:
        return {**shape, name: dataclasses.replace(part, off=False)}
    others = shapes.drop(shape, [name])
    return {n: others.get(n, dataclasses.replace(part, off=True)) for n in shape}


_CHANGES = (_alter, _alter, _alter, _rewire, _add, _drop, _rename, _switch)
