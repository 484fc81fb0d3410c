"""Seeded bugs of limited updates: what they leave out, and what that may still use."""

from __future__ import annotations

from isotherm.engine.operations import limited
from isotherm.store.operations import finish, history
from isotherm.store.transitions import nodes
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


@bug
def a_limited_update_deletes_what_others_still_use(patch: Patch) -> None:
    """[I7] It replaces a target, and deletes the old object, which a resource that was left out refers to."""
    patch.setattr(finish, "_without_users", lambda connection, operation, unwanted: unwanted)


@bug
def what_a_limited_update_left_out_counts_as_up_to_date(patch: Patch) -> None:
    """[I2] A resource that reads a changed target is left out, and a later full update does not visit it."""
    patch.setattr(nodes, "leave_out", nothing)


@bug
def a_limited_update_forgets_what_was_left_out_before(patch: Patch) -> None:
    """[I2] Everything that it leaves out gets the definition of the newest input, without a visit."""
    wrapped(patch, limited, "_parts", lambda original, before, kept, absent, identity: original(
        before, frozenset(), absent, identity))


@bug
def the_history_forgets_its_blobs(patch: Patch) -> None:
    """[I16] An input of the history has no blob any more, once its operation is gone."""
    wrapped(patch, history, "end", lambda original, connection, operation_id, status, now: (
        original(connection, operation_id, status, now),
        connection.exec_driver_sql("UPDATE history SET operation_id = '' WHERE operation_id = ?", (operation_id,))))
