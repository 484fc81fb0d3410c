"""Versions of resources, their signals, and the list of objects that were retained on deletion."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, Json, LongName, Name, Text, Time, Uuid, index, metadata

resources = sa.Table(
    "resources",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("type", LongName, nullable=False),
    # The type that the environment maps the template's type to, or the same.
    sa.Column("implementation", LongName, nullable=False),
    sa.Column("token", sa.String(64), nullable=False),
    sa.Column("physical_id", LongName),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    # The properties last applied, resolved and converted, and the digest of their definition.
    sa.Column("properties", Json, nullable=False),
    sa.Column("digest", sa.String(40)),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("data", Json, nullable=False),
    # What other resources may read: the reference id and the attributes that they use.
    sa.Column("published", Json),
    # The versions that the object may use: old and new together while an outcome is unknown (I9).
    sa.Column("requires", Json, nullable=False),
    sa.Column("replaces", Id),
    sa.Column("replaced_by", Id),
    # Replaced or dropped: the version waits for its deletion, or for a rollback that makes it current again.
    sa.Column("superseded", sa.Boolean, nullable=False),
    sa.Column("deletion_policy", sa.SmallInteger, nullable=False),
    sa.Column("external", sa.Boolean, nullable=False),
    # The operation that last brought the version up to date (Heat: current_template_id); empty: marked by the user since.
    sa.Column("operation_id", Uuid, nullable=False),
    # The call to the cloud that is about to be made: durable before the call (I1).
    sa.Column("intent", Json),
    # Suspended, and not known to be resumed.
    sa.Column("suspended", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    # What the object is protected from: on a user's request, with the name of that user; by the template (I17). No step
    # writes these columns.
    sa.Column("protection", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("protector", sa.String(255), nullable=False, server_default=""),
    sa.Column("template_protection", sa.SmallInteger, nullable=False, server_default="0"),
    # How many signals the version has got, and the size of those that are kept. No step writes these columns.
    sa.Column("signals", sa.Integer, nullable=False, server_default="0"),
    sa.Column("signal_bytes", Id, nullable=False, server_default="0"),
    # The name under which the version was made, where a move has given it another. Types go on seeing it: the names of
    # objects and signal URLs are made of it.
    sa.Column("made_as", Name),
    # The name of the stack in which the version was made, where a move has taken it to another one.
    sa.Column("made_in", Text),
    # When the intent of the latest creation was stored: a request may be carried out long after that, also when the
    # operation was given up and the intent is gone.
    sa.Column("begun_at", Time, nullable=False, server_default="0"),
    sa.Index("ix_resources_stack_id", "stack_id", "name"),
    # For other versions with the same object, before the object is deleted or adopted.
    index("ix_resources_physical_id", "physical_id", mysql_length=255, postgresql_using="hash"),
    index("ix_resources_made_as", "stack_id", "made_as", sqlite_where=sa.text("made_as IS NOT NULL"),
          postgresql_where=sa.text("made_as IS NOT NULL")),
    index("ix_resources_superseded", "stack_id", "superseded", sqlite_where=sa.text("superseded = 1"),
          postgresql_where=sa.text("superseded")),
    index("ix_resources_protected", "stack_id", "protection", "template_protection",
          sqlite_where=sa.text("protection > 0 OR template_protection > 0"),
          postgresql_where=sa.text("protection > 0 OR template_protection > 0")),
)

signals = sa.Table(
    "signals",
    metadata,
    sa.Column("resource_id", Id, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    # The id of the request: the same request, sent again, changes nothing (I11).
    sa.Column("id", sa.String(64), nullable=False),
    # A signal replaces an earlier one with the same key.
    sa.Column("key", Name, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.UniqueConstraint("resource_id", "key"),
    sa.Index("ix_signals_id", "resource_id", "id"),
)

retained = sa.Table(
    "retained",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("type", LongName, nullable=False),
    sa.Column("physical_id", LongName),
    sa.Column("token", sa.String(64), nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_retained_stack_id", "stack_id"),
)
