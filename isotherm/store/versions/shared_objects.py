"""Versions that have an object in common. Where a type chooses its ids, a replacement may have the id of what it replaces.

An object is deleted by the last version that holds it. A version whose object is gone, or belongs to another version, is
marked as deleted (`FORGOTTEN`): it holds nothing, and clean-up removes its row without calling the type.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.database import id_lists
from isotherm.store.records import Version
from isotherm.store.transitions import versions

_VERSION = t.resources.c
HELD = "its object belongs to another version, forgotten"


_HOLDERS = (
    sa.select(_VERSION.id, _VERSION.implementation, _VERSION.physical_id, t.stacks.c.project)
    .join(t.stacks, t.stacks.c.id == _VERSION.stack_id)
    .where(id_lists.among(_VERSION.physical_id), versions.holds_object())
)


def elsewhere(connection: sa.Connection, going: Sequence[tuple[Version, str]]) -> set[int]:
    """Find the versions, given with their projects, whose object another version of the project holds as well.

    All of them are about to go. Each counts as gone for those after it, so that one of them is left to delete the object.
    """
    ids = {version.physical_id for version, _ in going if version.physical_id}
    if not ids:
        return set()
    holders: dict[tuple[str, str | None, str], set[int]] = {}
    for id_, implementation, physical_id, project in connection.execute(_HOLDERS, id_lists.ids(ids)):
        holders.setdefault((implementation, physical_id, project), set()).add(id_)
    found: set[int] = set()
    for version, project in going:
        same = holders.get((version.implementation, version.physical_id, project), set())
        if same - {version.id}:
            found.add(version.id)
            same.discard(version.id)
    return found


def twins(connection: sa.Connection, stack_id: str) -> dict[int, set[int]]:
    """Find the versions of a stack that have, or had, the same object as others; by version: those others.

    A version that uses the one uses the others, until it is brought up to date (I9).
    """
    mine = sa.and_(_VERSION.stack_id == stack_id, _VERSION.physical_id.is_not(None))
    columns = (_VERSION.id, _VERSION.implementation, _VERSION.physical_id)
    older = connection.execute(sa.select(*columns).where(mine, _VERSION.superseded == sa.true())).all()
    if not older:
        return {}
    present = sa.select(*columns).where(mine, id_lists.among(_VERSION.physical_id))
    groups: dict[tuple[str, str], set[int]] = {}
    for id_, implementation, physical_id in connection.execute(present, id_lists.ids({row.physical_id for row in older})):
        groups.setdefault((implementation, physical_id), set()).add(id_)
    return {id_: group - {id_} for group in groups.values() if len(group) > 1 for id_ in group}


def widened(requires: Collection[int], same: Mapping[int, set[int]]) -> list[int]:
    """Add to the requirements all versions that have the same object as one of them."""
    return sorted({*requires, *(other for need in requires for other in same.get(need, ()))}) if same else list(requires)
