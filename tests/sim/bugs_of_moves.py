"""Seeded bugs of moves: names that are lost, or given to the wrong objects."""

from __future__ import annotations

from isotherm.store.operations import move
from isotherm.store.transitions import versions
from tests.sim.seeded_bugs import Bugs, Patch, nothing

BUGS = Bugs()
bug = BUGS.add


@bug
def a_rollback_forgets_the_names(patch: Patch) -> None:
    """[I15] The rollback wants the old names, and the objects have the new ones."""
    patch.setattr(move, "undo", nothing)


@bug
def a_rollback_gives_a_name_back_twice(patch: Patch) -> None:
    """[I1] The resource that has taken the old name keeps it, beside the one that gets it back."""
    patch.setattr(move, "_closed", dict)


@bug
def a_move_leaves_superseded_versions_behind(patch: Patch) -> None:
    """[I1] Only the nodes are renamed."""
    patch.setattr(versions, "rename", nothing)

