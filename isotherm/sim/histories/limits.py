"""The shape of a stack after a limited update, worked out apart from the engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from isotherm.sim.histories.shapes import Shape


@dataclass(frozen=True, slots=True)
class Slack:
    """The names of which nothing can be expected after an operation that has left resources out."""

    # The names that it changes; None: all but `left`.
    only: frozenset[str] | None = None
    left: frozenset[str] = frozenset()
    # Left out, and may still refer to older objects.
    stale: frozenset[str] = frozenset()
    # What is left out had not been brought to its definition before.
    doubtful: bool = False
    before: Slack | None = None

    def leaves(self, name: str) -> bool:
        return name in self.left if self.only is None else name not in self.only

    def excuses(self, name: str) -> bool:
        """Return whether the resource may be missing or different."""
        earlier = self.before is not None and self.before.excuses(name)
        return name in self.stale or (self.leaves(name) and (self.doubtful or earlier))


def slack(
    before: Shape, after: Shape, target: Collection[str], exclude: Collection[str], *, doubtful: bool, earlier: Slack | None
) -> Slack:
    """Return the slack of a limited update. `doubtful`: the operation before it was not complete."""
    left = left_out(before, after, target, exclude)
    chosen = frozenset(_targeted(_defined(before), _defined(after), target)) if target else None
    old = frozenset(stale(mixed(before, after, target, exclude), left))
    return Slack(chosen, frozenset(left), old, doubtful, earlier)


def left_out(before: Shape, after: Shape, target: Collection[str], exclude: Collection[str]) -> set[str]:
    """Return the names that a limited update leaves as they are."""
    old, new = _defined(before), _defined(after)
    if target:
        return (old.keys() | new.keys()) - _targeted(old, new, target)
    return _excluded(old, new, exclude)


def mixed(before: Shape, after: Shape, target: Collection[str], exclude: Collection[str]) -> Shape:
    """Return the shape in which what is left out is as it was before."""
    left = left_out(before, after, target, exclude)
    kept = {name: part for name, part in _defined(before).items() if name in left}
    return {**{name: part for name, part in after.items() if name not in left}, **kept}


def stale(shape: Shape, left: Collection[str]) -> set[str]:
    """Return the left out names that may refer to objects as they were before the update, directly or through others."""
    parts = _defined(shape)
    found = {name for name in parts if name not in left}
    while more := {name for name, part in parts.items() if name not in found and not found.isdisjoint(part.requires)}:
        found |= more
    return found & set(left)


def _defined(shape: Shape) -> Shape:
    return {name: part for name, part in shape.items() if not part.off}


def _targeted(old: Shape, new: Shape, target: Collection[str]) -> set[str]:
    chosen = set(target)
    size = 0
    while size != len(chosen):
        size = len(chosen)
        chosen |= {need for name in chosen if name in new for need in new[name].requires if need in new}
        chosen |= {name for name, part in old.items() if any(need in part.requires for need in chosen if need not in new)}
    return chosen


def _excluded(old: Shape, new: Shape, exclude: Collection[str]) -> set[str]:
    left = set(exclude)
    size = 0
    while size != len(left):
        size = len(left)
        left |= {name for name, part in new.items() if not left.isdisjoint(part.requires)}
        left |= {need for name in left if name in old for need in old[name].requires if need in old and need not in new}
    return left
