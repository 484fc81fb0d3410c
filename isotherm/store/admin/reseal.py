"""Units of work that seal values again with the newest key, a page at a time.

Afterwards the older keys are not needed and can be deleted. Blobs move to the address that the newest key gives them.
Digests of definitions are renewed too, so that no resource seems changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm import secrets
from isotherm.states import UNFINISHED
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Wanted


class Columns(msgspec.Struct, frozen=True):
    """The sealed columns of a table, and what each text is bound to: its row and the owner of the row."""

    table: Any
    key: tuple[str, ...]
    columns: tuple[str, ...]
    row: str
    owner: str
    # The name under which a text is bound, if it is not the column's.
    called: str = ""


#: All sealed columns except the content of blobs.
SEALED = (
    Columns(t.resources, ("id",), rows.SEALED, "id", "stack_id"),
    Columns(t.nodes, ("id",), ("definition",), "id", "stack_id"),
    Columns(t.observations, ("resource_id",), ("live", "drift"), "resource_id", "stack_id"),
    Columns(t.signals, ("resource_id", "number"), ("details",), "resource_id", "number"),
    Columns(t.snapshot_parts, ("snapshot_id", "name"), ("document",), "snapshot_id", "name", "part"),
    Columns(t.software_configs, ("id",), ("document",), "id", "project"),
    Columns(t.software_deployments, ("id",), ("input_values", "output_values", "status_reason"), "id", "project"),
    Columns(t.credentials, ("id",), ("secret",), "id", "project"),
    Columns(t.page_sessions, ("id",), ("token",), "id", "project"),
    Columns(t.stack_users, ("id",), ("secret",), "id", "project"),
)


def is_any(connection: sa.Connection) -> bool:
    """Return whether the database has a sealed text."""
    columns = [of.table.c[name] for of in SEALED for name in of.columns] + [t.blobs.c.content]
    sealed = (sa.select(sa.literal(1)).where(column.startswith(secrets.SEALED, autoescape=True)) for column in columns)
    return any(connection.execute(one.limit(1)).first() for one in sealed)


class Page(msgspec.Struct, frozen=True):
    """The result of one page."""

    sealed: int = 0
    unreadable: int = 0
    # The key after which the next page begins; None if this was the last.
    after: tuple[Any, ...] | None = None


def page(connection: sa.Connection, of: Columns, after: tuple[Any, ...], limit: int) -> Page:
    """Seal a page of rows again, beginning after this key."""
    key = [of.table.c[name] for name in of.key]
    query = sa.select(of.table).order_by(*key).limit(limit)
    if after:
        query = query.where(sa.tuple_(*key) > sa.tuple_(*after))
    found = connection.execute(query).mappings().all()
    sealed = unreadable = 0
    for row in found:
        changed, lost = _resealed(connection, of, row)
        sealed, unreadable = sealed + len(changed), unreadable + lost
        if changed:
            same = [column == row[name] for name, column in zip(of.key, key, strict=True)]
            connection.execute(sa.update(of.table).where(*same).values(changed))
    more = tuple(found[-1][name] for name in of.key) if len(found) == limit else None
    return Page(sealed, unreadable, more)


def _resealed(connection: sa.Connection, of: Columns, row: sa.RowMapping) -> tuple[dict[str, str], int]:
    box = sealing.of(connection)
    head, changed, lost = _head(box), dict[str, str](), 0
    for column in of.columns:
        text = row[column]
        if text is None or text.startswith(head):
            continue
        place = (of.called or column, row[of.row], str(row[of.owner]))
        opened = box.open(text, *place)
        lost += secrets.is_sealed(opened)
        if not secrets.is_sealed(opened) and (sealed := box.seal(opened, *place)) != text:
            changed[column] = sealed
    return changed, lost


def _head(box: sealing.Clear) -> str:
    """Return the prefix of all texts that are sealed with the newest key."""
    return box.seal("a text", "probe", 0).rpartition("$")[0] + "$"


def addresses(connection: sa.Connection) -> list[str]:
    return list(connection.execute(sa.select(t.blobs.c.hash).order_by(t.blobs.c.hash)).scalars())


def move(connection: sa.Connection, chosen: Sequence[str]) -> Page:
    """Seal these blobs again, and move them to the address that the newest key gives them.

    Blobs of operations in progress stay at their address: a worker may be about to read them there.
    """
    box, owners = sealing.of(connection), dict(_owners(connection))
    sealed = unreadable = 0
    query = sa.select(t.blobs).where(rows.among(t.blobs.c.hash))
    for row in connection.execute(query, rows.ids(chosen)).mappings().all():
        owner, busy = owners.get(row["hash"], ("", False))
        text = box.open(row["content"], "content", row["hash"], owner)
        unreadable += secrets.is_sealed(text)
        if secrets.is_sealed(text) or busy:
            continue
        address = box.address(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), owner)
        if address != row["hash"] or not row["content"].startswith(_head(box)):
            _put(connection, row["hash"], address, box.seal(text, "content", address, owner))
            sealed += 1
    return Page(sealed, unreadable)


def _owners(connection: sa.Connection) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield, by address of an input, its stack and whether its operation is in progress."""
    operation = t.operations.c
    for table in (t.snapshots, t.history):
        for input_, stack_id in connection.execute(sa.select(table.c.input, table.c.stack_id)):
            yield input_, (stack_id, False)
    for input_, stack_id, state in connection.execute(
            sa.select(operation.input, operation.stack_id, operation.state).order_by(operation.generation)):
        yield input_, (stack_id, state in UNFINISHED)


def _put(connection: sa.Connection, old: str, new: str, content: str) -> None:
    blob, use = t.blobs.c, t.uses.c
    if new == old:
        connection.execute(sa.update(t.blobs).where(blob.hash == old).values(content=content))
        return
    if connection.execute(sa.select(blob.hash).where(blob.hash == new)).first() is None:
        connection.execute(sa.insert(t.blobs).values(hash=new, content=content))
    both = sa.select(use.operation_id).where(use.hash == new)
    connection.execute(sa.delete(t.uses).where(use.hash == old, use.operation_id.in_(both)))
    connection.execute(sa.update(t.uses).where(use.hash == old).values(hash=new))
    for table in (t.operations, t.snapshots, t.history):
        connection.execute(sa.update(table).where(table.c.input == old).values(input=new))
    connection.execute(sa.delete(t.blobs).where(blob.hash == old))


def mark(connection: sa.Connection, stack_id: str, wanted: Sequence[Wanted]) -> None:
    """Renew the digests of a stack's resources and nodes with the newest key."""
    box = sealing.of(connection)
    for want in wanted:
        newest, *older = box.digests(want.digest)
        for table in (t.resources, t.nodes) if older else ():
            connection.execute(
                sa.update(table)
                .where(table.c.stack_id == stack_id, table.c.name == want.name, table.c.digest.in_(older))
                .values(digest=newest)
            )
