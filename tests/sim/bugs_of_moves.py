"""Seeded bugs of moves: names that are lost, or given to the wrong objects."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store import hand_over
from isotherm.store import tables as t
from isotherm.store.operations import move
from isotherm.store.transitions import nodes, versions
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



# Those that only a move between stacks shows.
BETWEEN = {"a_rollback_returns_to_before_a_move", "a_move_leaves_the_node_behind"}


@bug
def a_rollback_returns_to_before_a_move(patch: Patch) -> None:
    """[I2] The target of rollbacks stays the operation before the move, in both stacks."""
    write = hand_over.write

    def forgetful(
        connection: sa.Connection, leaving: hand_over.Leaving, arriving: hand_over.Arriving, now: float
    ) -> object:
        moved, stack = write(connection, leaving, arriving, now), t.stacks.c
        both = [one.acceptance.stack_id for one in (leaving, arriving)]
        connection.execute(sa.update(t.stacks).where(stack.id.in_(both)).values(complete_operation_id=None))
        return moved

    patch.setattr(hand_over, "write", forgetful)


@bug
def a_move_leaves_the_node_behind(patch: Patch) -> None:
    """[I1] The version has another stack, and its node the old one."""
    patch.setattr(nodes, "hand_over", nothing)
