"""Seeded bugs of protection."""

from __future__ import annotations

from isotherm.states import Protection
from isotherm.store.transitions import versions
from isotherm.store.versions import protection
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


@bug
def a_protection_is_not_checked_with_the_intent(patch: Patch) -> None:
    """[I17] It is shown, and requests are refused by it, but the last transaction before the call does not look."""
    patch.setattr(protection, "check", lambda connection, beginnings: protection.Check({}, {}))


@bug
def a_protection_from_delete_lets_an_object_be_replaced(patch: Patch) -> None:
    """[I17] The replacement ends in the deletion of the protected object."""
    wrapped(patch, protection, "level", lambda original, by: max(
        (one for one in (by.level, by.template) if one is not Protection.DELETE), default=Protection.NONE))


@bug
def a_protection_does_not_pass_on_to_the_replacement(patch: Patch) -> None:
    """[I17] The object is lost and made again, and nothing protects the new one."""
    patch.setattr(versions, "pass_on_protection", nothing)


@bug
def a_stack_is_deleted_with_protected_things_in_it(patch: Patch) -> None:
    """[I17] Only the objects themselves are looked at, one by one, when all around them is gone."""
    patch.setattr(protection, "_parts", lambda connection, stack_ids, *, resources=True: {})
