"""Operations, the texts (templates, files, environments) that they were accepted with, their moves, and past inputs."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Json, Name, Text, Time, Uuid, metadata

operations = sa.Table(
    "operations",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),
    # The address of the blob with the whole input: it names the template, the files and the environment.
    sa.Column("input", sa.String(64), nullable=False),
    sa.Column("disable_rollback", sa.Boolean, nullable=False),
    sa.Column("timeout_s", sa.Double),
    sa.Column("tags", Json, nullable=False),
    # The number of nodes of the current phase that have not ended.
    sa.Column("remaining", sa.Integer, nullable=False),
    # The first failure. An operation with a failure can only end as FAILED.
    sa.Column("failure", Text),
    # Whether steps observe reality before they decide.
    sa.Column("converge", sa.Boolean, nullable=False, server_default=sa.false()),
    # JSON of the scope, where an update leaves resources out, or resources wait because one did (see `records.Scope`).
    sa.Column("scope", Json),
    # Cancelled by the user: no node starts any more, nor on nested stacks.
    sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("deadline", Time),
    sa.Column("ended_at", Time),
    # From when a worker may take the operation to plan it; NULL once it is planned.
    sa.Column("due", Time),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.UniqueConstraint("stack_id", "generation"),
    sa.Index("ix_operations_due", "due"),
    sa.Index("ix_operations_deadline", "deadline"),
)

blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("content", Json, nullable=False),
)

# Which operation uses which blobs: a blob is deleted with its last use.
uses = sa.Table(
    "uses",
    metadata,
    sa.Column("operation_id", Uuid, primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Index("ix_uses_hash", "hash"),
)

# The inputs that a stack had, kept for a number of changes after their operations are gone.
# One row for each input in turn. An operation with the same input as the one before adds to the row of that.
history = sa.Table(
    "history",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    # The first and the last generation that had the input.
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("last_generation", sa.Integer, nullable=False),
    # The last operation with the input: the blobs are used under its id, and `status` and `ended_at` are its end.
    sa.Column("operation_id", Uuid, nullable=False),
    sa.Column("input", sa.String(64), nullable=False),
    sa.Column("action", sa.SmallInteger, nullable=False),
    # The name of the user who requested the first operation; empty for one without a request, such as a rollback.
    sa.Column("username", sa.String(255), nullable=False),
    sa.Column("created_at", Time, nullable=False),
    # IN_PROGRESS also for an operation that was superseded: `ended_at` tells.
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("ended_at", Time),
    sa.Index("ix_history_operation_id", "operation_id"),
)

# Resources that an operation gave another name. A rollback gives the names back that were changed since its target.
moves = sa.Table(
    "moves",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("old", Name, primary_key=True),
    sa.Column("new", Name, nullable=False),
    sa.Column("created_at", Time, nullable=False),
)
