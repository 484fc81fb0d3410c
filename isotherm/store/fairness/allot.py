"""Deals out room among those who want some. Pure.

Projects share it alike; what a project gets, its stacks share alike, those that stand inside one and the same stack as if
they were one. These get it by the handful, one after the other: steps of one stack are cheaper together, and whoever made
them waits for all of them anyway. What somebody cannot use goes to the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What somebody wants of whom nobody has said it: all there is.
_ALL = 1 << 30
HANDFUL = 64


@dataclass(frozen=True, slots=True)
class Party:
    """A stack that has something to do."""

    project: str
    # The stack that it stands inside of, or itself.
    family: str
    stack_id: str


def split(room: int, wants: Sequence[int], first: int = 0) -> list[int]:
    """Equal shares of the room, to none more than it wants. Of a rest, those have one more who come from `first` on."""
    given = [0] * len(wants)
    hungry = [at for at, want in enumerate(wants) if want > 0]
    while room > 0 and hungry:
        share = room // len(hungry)
        if not share:
            hungry.sort(key=lambda at: (at - first) % len(wants))
            hungry, share = hungry[:room], 1
        for at in hungry:
            more = min(share, wants[at] - given[at])
            given[at] += more
            room -= more
        hungry = [at for at in hungry if given[at] < wants[at]]
    return given


def deal(
    parties: Sequence[Party], room: int, turn: int = 0, wants: Mapping[str, int] | None = None,
    free: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """By stack, what it gets. `wants` are by stack, `free` is what a project may have at most, where that is known.

    The `turn` grows from one call to the next, so that a rest goes to another each time.
    """
    known, limits = wants or {}, free or {}
    tree: dict[str, dict[str, dict[str, int]]] = {}
    for party in parties:
        stacks = tree.setdefault(party.project, {}).setdefault(party.family, {})
        stacks[party.stack_id] = known.get(party.stack_id, _ALL)
    sizes = {project: [sum(stacks.values()) for stacks in families.values()] for project, families in tree.items()}
    most = [min(limits.get(project, _ALL), sum(of)) for project, of in sizes.items()]
    shares: dict[str, int] = {}
    for (project, families), theirs in zip(tree.items(), split(room, most, turn), strict=True):
        # Each level goes on when the one above has come round: together, some would never be first on all of them.
        round_ = turn // len(tree)
        for stacks, its in zip(families.values(), split(theirs, sizes[project], round_), strict=True):
            shares.update(zip(stacks, _by_handfuls(its, list(stacks.values()), round_ // len(families)), strict=True))
    return shares


def _by_handfuls(room: int, wants: Sequence[int], first: int) -> list[int]:
    """The room, a handful to each from `first` on, round and round."""
    given = [0] * len(wants)
    while room > 0 and given != list(wants):
        for at in ((first + step) % len(wants) for step in range(len(wants))):
            more = min(HANDFUL, room, wants[at] - given[at])
            given[at] += more
            room -= more
    return given


def some(parties: Sequence[Party], count: int, turn: int = 0) -> list[Party]:
    """So many of them, chosen as fairly: not only of the project that has the most."""
    if len(parties) <= count:
        return list(parties)
    chosen = deal(parties, count, turn, dict.fromkeys((party.stack_id for party in parties), 1))
    return [party for party in parties if chosen[party.stack_id]]
