"""Stacks at rest, made to look as the legacy path leaves them: what only convergence keeps is taken away."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.engine.process.home import Folder
from isotherm.store import tables as t
from isotherm.store.database.writer import Connection


def forget(connection: Connection) -> None:
    """All stacks: no edges, no definitions, no digests, and no row knows what it requires."""
    connection.execute(sa.delete(t.edges))
    connection.execute(sa.update(t.nodes).values(definition=None, digest=None))
    connection.execute(sa.update(t.resources).values(requires="[]", digest=None))
    connection.execute(sa.update(t.stacks).values(convergence=False))


async def make_legacy(folder: Folder) -> None:
    await folder.store.write(forget)


async def rows(folder: Folder, table: sa.Table) -> list[sa.RowMapping]:
    """All of them, in the order of their keys."""
    query = sa.select(table).order_by(*table.primary_key)
    return list(await folder.store.read(lambda connection: connection.execute(query).mappings().all()))


async def of_stacks(folder: Folder) -> dict[str, list[sa.RowMapping]]:
    """All that is known of stacks; processes write of themselves at any moment."""
    tables = (table for table in t.metadata.sorted_tables if table.name not in ("services", "signatures"))
    return {table.name: await rows(folder, table) for table in tables}
