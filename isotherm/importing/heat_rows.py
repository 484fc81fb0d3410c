"""Reads Heat's database: MariaDB, MySQL, PostgreSQL or SQLite, by SQLAlchemy's URL. It writes nothing there.

Only the columns that are read are named, so that other columns may differ between versions of Heat. Everything is read in
one transaction, as the database is at one moment.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm import errors


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))


_STACK = _table(
    "stack", "id", "name", "raw_template_id", "username", "tenant", "action", "status", "status_reason", "owner_id",
    "timeout", "disable_rollback", "backup", "convergence", "nested_depth", "parent_resource_name", "created_at",
    "updated_at", "deleted_at")
_TEMPLATE = _table("raw_template", "id", "template", "files", "files_id", "environment")
_FILES = _table("raw_template_files", "id", "files")
_RESOURCE = _table(
    "resource", "id", "uuid", "name", "nova_instance", "action", "status", "status_reason", "stack_id", "rsrc_metadata",
    "properties_data", "properties_data_encrypted", "rsrc_prop_data_id", "current_template_id", "replaced_by", "engine_id",
    "created_at", "updated_at")
_PROPERTIES = _table("resource_properties_data", "id", "data", "encrypted")
_DATA = _table("resource_data", "resource_id", "key", "value", "decrypt_method")
_TAG = _table("stack_tag", "id", "stack_id", "tag")
_LOCK = _table("stack_lock", "stack_id")
_CONFIG = _table("software_config", "id", "tenant", "name", "group", "config", "created_at")
_SNAPSHOT = _table("snapshot", "id", "stack_id", "name")


class Datum(msgspec.Struct, frozen=True):
    """One entry of the resource data; with a method, it is encrypted."""

    value: str
    method: str | None


class HeatResource(msgspec.Struct, frozen=True):
    """One row of a resource. A name has several while it is being replaced."""

    id: int
    uuid: str
    name: str
    physical_id: str | None
    action: str
    status: str
    reason: str
    metadata: Any
    properties: Mapping[str, Any]
    encrypted: bool
    template_id: int | None
    replaced: bool
    busy: bool
    created_at: float
    data: Mapping[str, Datum]

    @property
    def state(self) -> str:
        return f"{self.action}_{self.status}"


class HeatStack(msgspec.Struct, frozen=True):
    """A stack with everything that belongs to it, and its nested stacks."""

    id: str
    name: str
    project: str
    username: str
    owner_id: str | None
    around: str | None
    action: str
    status: str
    reason: str
    template: Mapping[str, Any]
    environment: Mapping[str, Any]
    files: Mapping[str, str]
    tags: Sequence[str]
    timeout_s: float | None
    disable_rollback: bool
    backup: bool
    depth: int
    created_at: float
    updated_at: float | None
    locked: bool
    snapshots: Sequence[str]
    resources: Sequence[HeatResource]
    nested: Sequence[HeatStack]

    @property
    def state(self) -> str:
        return f"{self.action}_{self.status}"

    def walk(self) -> Iterator[HeatStack]:
        """Yield this stack and all nested ones, parents first."""
        yield self
        for one in self.nested:
            yield from one.walk()


class HeatConfig(msgspec.Struct, frozen=True):
    """A software config."""

    id: str
    name: str | None
    group: str | None
    document: Mapping[str, Any]


@contextlib.contextmanager
def opened(url: str) -> Iterator[Heat]:
    """Open Heat's database for reading. Raises UserError if it cannot be read or is not Heat's."""
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool, hide_parameters=True)
        if engine.dialect.name != "sqlite":
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with engine.connect() as connection:
            connection.execute(sa.select(_STACK.c.id, _STACK.c.convergence).limit(1)).all()
            yield Heat(connection)
    except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        raise errors.UserError(f"Heat's database cannot be read: {_first_line(error)}", hint=_hint(error)) from error


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def _hint(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return "Install the driver: pip install 'isotherm[mariadb]' or 'isotherm[postgresql]'."
    return "The URL is that of [database]connection in heat.conf, such as mysql+pymysql://user:password@host/heat."


class Heat:
    """The reads of Heat's database."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def roots(self) -> list[tuple[str, str]]:
        """Return the id and name of each root stack, oldest first."""
        stack = _STACK.c
        found = self._all(sa.select(_STACK).where(stack.owner_id.is_(None), stack.deleted_at.is_(None)))
        ordered = sorted(found, key=lambda row: (_time(row["created_at"]) or 0.0, row["id"]))
        return [(row["id"], row["name"]) for row in ordered]

    def tree(self, stack_id: str) -> HeatStack:
        """Return a stack with all nested stacks."""
        row = self._one(_STACK, stack_id)
        inside = self._all(sa.select(_STACK.c.id).where(_STACK.c.owner_id == stack_id, _STACK.c.deleted_at.is_(None)))
        template = self._one(_TEMPLATE, row["raw_template_id"])
        return HeatStack(
            row["id"], row["name"], row["tenant"] or "", row["username"] or "", row["owner_id"],
            row["parent_resource_name"], row["action"] or "", row["status"] or "", row["status_reason"] or "",
            _json(template["template"]) or {}, _json(template["environment"]) or {}, self._files(template),
            [tag["tag"] for tag in self._of(_TAG, _TAG.c.stack_id, stack_id, _TAG.c.id)],
            row["timeout"] * 60.0 if row["timeout"] else None, bool(row["disable_rollback"]), bool(row["backup"]),
            row["nested_depth"] or 0, _time(row["created_at"]) or 0.0, _time(row["updated_at"]),
            bool(self._of(_LOCK, _LOCK.c.stack_id, stack_id, _LOCK.c.stack_id)),
            [one["name"] or one["id"] for one in self._of(_SNAPSHOT, _SNAPSHOT.c.stack_id, stack_id, _SNAPSHOT.c.id)],
            self._resources(stack_id),
            [self.tree(one["id"]) for one in inside],
        )

    def template(self, id_: int) -> Mapping[str, Any]:
        """Return a template by the id that a resource row has."""
        found = self._of(_TEMPLATE, _TEMPLATE.c.id, id_, _TEMPLATE.c.id)
        return (_json(found[0]["template"]) or {}) if found else {}

    def config(self, id_: str) -> HeatConfig | None:
        """Return a software config."""
        for row in self._of(_CONFIG, _CONFIG.c.id, id_, _CONFIG.c.id):
            return HeatConfig(row["id"], row["name"], row["group"], _json(row["config"]) or {})
        return None

    def _resources(self, stack_id: str) -> list[HeatResource]:
        """Return the resources of a stack, with two queries whatever their number."""
        here = _RESOURCE.c.stack_id == stack_id
        applied = _RESOURCE.outerjoin(_PROPERTIES, _PROPERTIES.c.id == _RESOURCE.c.rsrc_prop_data_id)
        query = sa.select(_RESOURCE, _PROPERTIES.c.data, _PROPERTIES.c.encrypted).select_from(applied)
        owned = sa.select(_DATA).select_from(_DATA.join(_RESOURCE, _RESOURCE.c.id == _DATA.c.resource_id))
        data: dict[int, dict[str, Datum]] = {}
        for one in self._all(owned.where(here)):
            data.setdefault(one["resource_id"], {})[one["key"]] = Datum(one["value"], one["decrypt_method"] or None)
        return [_resource(row, data.get(row["id"], {})) for row in self._all(query.where(here).order_by(_RESOURCE.c.id))]

    def _files(self, template: sa.RowMapping) -> dict[str, str]:
        if template["files_id"] is None:
            return _json(template["files"]) or {}
        return _json(self._one(_FILES, template["files_id"])["files"]) or {}

    def _all(self, query: sa.Select[Any]) -> Sequence[sa.RowMapping]:
        return self._connection.execute(query).mappings().all()

    def _of(self, table: sa.TableClause, column: Any, value: object, order: Any) -> Sequence[sa.RowMapping]:
        return self._all(sa.select(table).where(column == value).order_by(order))

    def _one(self, table: sa.TableClause, id_: object) -> sa.RowMapping:
        found = self._of(table, table.c.id, id_, table.c.id)
        if not found:
            raise errors.UserError(f"Heat's database has no row {id_} in table {table.name}, though others refer to it.",
                                   hint="Was it changed while it was being read, or is it damaged?")
        return found[0]


def _resource(row: sa.RowMapping, data: Mapping[str, Datum]) -> HeatResource:
    kept = row["rsrc_prop_data_id"] is not None
    properties, encrypted = ("data", "encrypted") if kept else ("properties_data", "properties_data_encrypted")
    return HeatResource(
        row["id"], row["uuid"], row["name"], row["nova_instance"], row["action"] or "INIT", row["status"] or "COMPLETE",
        row["status_reason"] or "", _json(row["rsrc_metadata"]) or {}, _json(row[properties]) or {}, bool(row[encrypted]),
        row["current_template_id"], row["replaced_by"] is not None, row["engine_id"] is not None,
        _time(row["created_at"]) or 0.0, data,
    )


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str | bytes) else value


def _time(value: Any) -> float | None:
    """Return a time of Heat in seconds. Heat stores UTC without saying so; SQLite stores text."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return float(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
