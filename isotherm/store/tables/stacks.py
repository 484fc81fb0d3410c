"""Stacks, their tags, their clouds, and the locks of stacks on the legacy path."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Json, Name, Tag, Text, Time, Uuid, index, metadata

stacks = sa.Table(
    "stacks",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("name", Name, nullable=False),
    # The stack's id once it is deleted, empty before: a deleted stack's name can be used again.
    sa.Column("tomb", Uuid, nullable=False),
    sa.Column("owner_id", Uuid),
    # The name of the user who created the stack.
    sa.Column("username", sa.String(255), nullable=False, server_default=""),
    # How many stacks the stack is nested in.
    sa.Column("depth", sa.Integer, nullable=False, server_default="0"),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    # The last operation that reached COMPLETE: the target of a rollback.
    sa.Column("complete_operation_id", Uuid),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("disable_rollback", sa.Boolean, nullable=False),
    sa.Column("timeout_s", sa.Double),
    sa.Column("convergence", sa.Boolean, nullable=False),
    # Whether the stack is protected from delete, and the name of the user who asked for that.
    sa.Column("protected", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("protector", sa.String(255), nullable=False, server_default=""),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    sa.Column("deleted_at", Time),
    sa.UniqueConstraint("project", "name", "tomb"),
    # Lists of root stacks that are not deleted, newest first: of one project, and of all.
    sa.Index("ix_stacks_of_project", "project", "owner_id", "tomb", "created_at", "id"),
    sa.Index("ix_stacks_of_all", "owner_id", "tomb", "created_at", "id"),
    # PostgreSQL does not use the order of the indexes above for `owner_id IS NULL`.
    index("ix_stacks_outer_of_project", "project", "tomb", "created_at", "id",
          postgresql_where=sa.text("owner_id IS NULL")).ddl_if(dialect="postgresql"),
    index("ix_stacks_outer", "tomb", "created_at", "id",
          postgresql_where=sa.text("owner_id IS NULL")).ddl_if(dialect="postgresql"),
    # Stacks with an operation in progress.
    sa.Index("ix_stacks_at_work", "status", "id"),
)

# A copy of `stacks.tags`, one row for each tag, for searching.
stack_tags = sa.Table(
    "stack_tags",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("tag", Tag, primary_key=True),
    sa.Index("ix_stack_tags_tag", "tag"),
)

# The cloud of a root stack, where users choose it: the entry of clouds.yaml, and the project that it stands for.
stack_clouds = sa.Table(
    "stack_clouds",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("auth_url", sa.String(1024), nullable=False),
    sa.Column("project_id", sa.String(64), nullable=False),
)

# The lock of a stack on the legacy path (`stacks.convergence` is false): its engine, operation and lease.
# No row: not locked. A row without an engine: an accepted operation waits for an engine.
stack_locks = sa.Table(
    "stack_locks",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("engine", sa.String(64)),
    sa.Column("operation_id", Uuid, nullable=False),
    # Another number for each holder: writes of an engine that has lost the lock change no row (I5).
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("lease_until", Time),
    # From when an engine may take the lock: at once, or when the lease has expired.
    sa.Column("due", Time),
    sa.Index("ix_stack_locks_due", "due"),
)
