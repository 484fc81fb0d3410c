"""Seeded bugs of the identity of versions: their implementation, and the ownership of their objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import sqlalchemy as sa

from isotherm.engine.steps import consider_update, decide
from isotherm.store import tables as t
from isotherm.store.transitions import versions
from isotherm.store.versions import shared_objects
from tests.sim.seeded_bugs import Bugs, Patch, wrapped

BUGS = Bugs()
bug = BUGS.add


@bug
def an_alias_changes_its_meaning_unseen(patch: Patch) -> None:
    """[I2] The name of the type is the same, so the object stays, whatever implements the type now."""
    same = "whatever the alias stands for"

    def applied(original: Any, version: Any, intent: Any) -> Any:
        found = original(version, intent)
        named = found is not None and version.type.startswith("Alias::")
        return dataclasses.replace(found, implementation=same) if named else found

    wrapped(patch, consider_update, "_applied", applied)
    wrapped(patch, decide, "makes_the_same", lambda original, one, other: one == same or original(one, other))


@bug
def a_repair_deletes_what_it_made(patch: Patch) -> None:
    """[I1] A lost version only proves nothing any more; its clean-up deletes by the id that its replacement has."""

    def forget(connection: Any, lost: Any, now: float) -> None:
        for id_, _ in lost:
            connection.execute(sa.update(t.resources).where(t.resources.c.id == id_).values(digest=None))

    patch.setattr(versions, "forget", forget)
    patch.setattr(shared_objects, "elsewhere", lambda *_: set())


@bug
def an_object_is_deleted_while_another_version_has_it(patch: Patch) -> None:
    """[I1] It is not checked whether a replacement has the same id."""
    patch.setattr(shared_objects, "elsewhere", lambda *_: set())


@bug
def an_object_is_left_to_nobody(patch: Patch) -> None:
    """[I1] Of two versions that go at once, each leaves the object to the other."""

    def elsewhere(original: Any, connection: Any, going: Any) -> set[int]:
        return {id_ for one in going for id_ in original(connection, [one])}

    wrapped(patch, shared_objects, "elsewhere", elsewhere)
