"""Shares the capacity of a worker among stacks. Pure.

Projects get equal shares. The share of a project is split equally among its families (a stack with all stacks nested right
in it counts as one). Inside a family, stacks get it in batches, one after the other: steps of one stack are cheaper
together, and the outer stack waits for all of them anyway. Capacity that one cannot use goes to the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The demand of a stack whose demand is not known.
_UNLIMITED = 1 << 30
BATCH = 64


@dataclass(frozen=True, slots=True)
class WaitingStack:
    """A stack with something due."""

    project: str
    # The stack that it is nested in, or itself.
    family: str
    stack_id: str


def split(capacity: int, wants: Sequence[int], first: int = 0) -> list[int]:
    """Split the capacity into equal shares, none above its demand. A remainder goes to those from `first` on."""
    given = [0] * len(wants)
    unsatisfied = [at for at, want in enumerate(wants) if want > 0]
    while capacity > 0 and unsatisfied:
        share = capacity // len(unsatisfied)
        if not share:
            unsatisfied.sort(key=lambda at: (at - first) % len(wants))
            unsatisfied, share = unsatisfied[:capacity], 1
        for at in unsatisfied:
            more = min(share, wants[at] - given[at])
            given[at] += more
            capacity -= more
        unsatisfied = [at for at in unsatisfied if given[at] < wants[at]]
    return given


def share_out(
    waiting: Sequence[WaitingStack], capacity: int, turn: int = 0, wants: Mapping[str, int] | None = None,
    free: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the share of each stack. `wants` limits stacks, `free` limits projects, where known.

    `turn` grows from one call to the next, so that a remainder goes to another stack each time.
    """
    known, limits = wants or {}, free or {}
    tree: dict[str, dict[str, dict[str, int]]] = {}
    for one in waiting:
        stacks = tree.setdefault(one.project, {}).setdefault(one.family, {})
        stacks[one.stack_id] = known.get(one.stack_id, _UNLIMITED)
    sizes = {project: [sum(stacks.values()) for stacks in families.values()] for project, families in tree.items()}
    most = [min(limits.get(project, _UNLIMITED), sum(of)) for project, of in sizes.items()]
    shares: dict[str, int] = {}
    for (project, families), theirs in zip(tree.items(), split(capacity, most, turn), strict=True):
        # Each level moves on when the one above has come round: in step, some stacks would never be first on all levels.
        round_ = turn // len(tree)
        for stacks, its in zip(families.values(), split(theirs, sizes[project], round_), strict=True):
            shares.update(zip(stacks, _in_batches(its, list(stacks.values()), round_ // len(families)), strict=True))
    return shares


def _in_batches(capacity: int, wants: Sequence[int], first: int) -> list[int]:
    """Split the capacity in batches, round-robin from `first` on."""
    given = [0] * len(wants)
    while capacity > 0 and given != list(wants):
        for at in ((first + step) % len(wants) for step in range(len(wants))):
            more = min(BATCH, capacity, wants[at] - given[at])
            given[at] += more
            capacity -= more
    return given


def select(waiting: Sequence[WaitingStack], count: int, turn: int = 0) -> list[WaitingStack]:
    """Select some of the stacks by the same shares, so that not all are of the project that has the most."""
    if len(waiting) <= count:
        return list(waiting)
    chosen = share_out(waiting, count, turn, dict.fromkeys((one.stack_id for one in waiting), 1))
    return [one for one in waiting if chosen[one.stack_id]]
