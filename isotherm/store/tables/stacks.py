"""The tables. Migrations build them; this is what they look like today.

Two things are kept apart that Heat keeps in one: a *node* is the place of a resource in the graph, stable for as long as
the name is in the template; a *resource* is one version of it, with a life in the cloud. A replacement is a new resource
row under the same node.

A node's `due` says when a worker may take it: the past for what is SCHEDULED, the wake-up time for what is WAITING, the
end of the lease for what is RUNNING, nothing for all else. One index on it is the work queue, the timer wheel and the
crash detector in one; "in progress with nobody responsible" has no representation.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)



@sa.event.listens_for(sa.Table, "after_parent_attach")
def _by_every_letter(table: sa.Table, parent: object) -> None:
    """MariaDB takes 'A' and 'a' for the same, and even 'a' and 'a ', unless it is told otherwise."""
    if parent is metadata:
        table.dialect_options["mysql"].update(engine="InnoDB", charset="utf8mb4", collate="utf8mb4_nopad_bin")


Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Uuid = sa.String(36)
# In the order of their letters' numbers, as on SQLite.
Name = sa.String(255).with_variant(sa.String(255, collation="C"), "postgresql")
Text = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
Json = Text
# Names that others give: of a type it may be a whole URL, of an object a whole path. The same order of letters as above.
Foreign = Text.with_variant(sa.Text(collation="C"), "postgresql")
Time: sa.Double[float] = sa.Double()
Tag = sa.String(80)

stacks = sa.Table(
    "stacks",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("name", Name, nullable=False),
    # The stack's id once it is deleted, empty before: so that a name is taken only by the living.
    sa.Column("tomb", Uuid, nullable=False),
    sa.Column("owner_id", Uuid),
    # Who made it, by name.
    sa.Column("username", sa.String(255), nullable=False, server_default=""),
    # How many stacks it is inside of.
    sa.Column("depth", sa.Integer, nullable=False, server_default="0"),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    # The last operation that reached COMPLETE: what a rollback goes back to.
    sa.Column("complete_operation_id", Uuid),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("disable_rollback", sa.Boolean, nullable=False),
    sa.Column("timeout_s", sa.Double),
    sa.Column("convergence", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    sa.Column("deleted_at", Time),
    sa.UniqueConstraint("project", "name", "tomb"),
    # Lists of what lives and is inside of nothing, newest first: of a project, and of all.
    sa.Index("ix_stacks_of_project", "project", "owner_id", "tomb", "created_at", "id"),
    sa.Index("ix_stacks_of_all", "owner_id", "tomb", "created_at", "id"),
    # PostgreSQL does not see that what has no owner is in order there already.
    sa.Index("ix_stacks_outer_of_project", "project", "tomb", "created_at", "id",
             postgresql_where=sa.text("owner_id IS NULL")).ddl_if(dialect="postgresql"),
    sa.Index("ix_stacks_outer", "tomb", "created_at", "id",
             postgresql_where=sa.text("owner_id IS NULL")).ddl_if(dialect="postgresql"),
    # Those on which something is under way.
    sa.Index("ix_stacks_at_work", "status", "id"),
)

# Of stacks on the legacy path (stacks.convergence is false): which engine has the stack, for which operation, until when.
# No row: nobody has it. A row without an engine: an operation is accepted, and waits for one.
stack_locks = sa.Table(
    "stack_locks",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("engine", sa.String(64)),
    sa.Column("operation_id", Uuid, nullable=False),
    # Grows with each engine and each operation: what an engine says that has lost the stack changes no row.
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("lease_until", Time),
    # When an engine may take it: at once, when something wakes it, or when the lease has run out.
    sa.Column("due", Time),
    sa.Index("ix_stack_locks_due", "due"),
)

# The tags of each stack once more, to be searched.
stack_tags = sa.Table(
    "stack_tags",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("tag", Tag, primary_key=True),
    sa.Index("ix_stack_tags_tag", "tag"),
)

operations = sa.Table(
    "operations",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),
    # What was asked for, whole: a blob that names the template, the files and the environment.
    sa.Column("input", sa.String(64), nullable=False),
    sa.Column("disable_rollback", sa.Boolean, nullable=False),
    sa.Column("timeout_s", sa.Double),
    sa.Column("tags", Json, nullable=False),
    # Nodes of the present phase that have not ended.
    sa.Column("remaining", sa.Integer, nullable=False),
    # The first failure: once there is one, the operation can only fail.
    sa.Column("failure", Text),
    # It looks at reality before it decides.
    sa.Column("converge", sa.Boolean, nullable=False, server_default=sa.false()),
    # Nothing new is begun for it, not even on stacks inside.
    sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("deadline", Time),
    sa.Column("ended_at", Time),
    # As with nodes: when somebody may take it up, to plan it or to end it.
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

# Which operation uses which blobs: a blob lives as long as somebody uses it.
uses = sa.Table(
    "uses",
    metadata,
    sa.Column("operation_id", Uuid, primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Index("ix_uses_hash", "hash"),
)

nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    # How many nodes it still waits for, and how many reasons there are to look at it when they are through.
    sa.Column("pending", sa.Integer, nullable=False),
    sa.Column("dirty", sa.Integer, nullable=False),
    sa.Column("definition", Json),
    sa.Column("digest", sa.String(40)),
    sa.Column("resource_id", Id),
    sa.Column("worker", sa.String(64)),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("lease_until", Time),
    sa.Column("due", Time),
    # What wakes it before it is due: the end of an operation on another stack, or a signal to a resource.
    sa.Column("awaits", Uuid),
    sa.Column("reason", Text),
    sa.Index("ix_nodes_stack_id", "stack_id", "name"),
    # Few nodes are of another kind than UPDATE, and those are looked for.
    sa.Index("ix_nodes_kind", "stack_id", "kind", sqlite_where=sa.text("kind <> 1"), postgresql_where=sa.text("kind <> 1")),
    sa.Index("ix_nodes_awaits", "awaits", sqlite_where=sa.text("awaits IS NOT NULL"),
             postgresql_where=sa.text("awaits IS NOT NULL")),
    sa.Index("ix_nodes_due", "due", sqlite_where=sa.text("due IS NOT NULL"), postgresql_where=sa.text("due IS NOT NULL")),
    # The same for one stack: when there is more than a worker can carry, stacks take turns.
    sa.Index("ix_nodes_turns", "stack_id", "due", sqlite_where=sa.text("due IS NOT NULL"),
             postgresql_where=sa.text("due IS NOT NULL")),
    # What is being done at this moment: it is counted where a project may not have more than so many steps.
    sa.Index("ix_nodes_running", "state", "stack_id", sqlite_where=sa.text("state = 2"),
             postgresql_where=sa.text("state = 2")),
)

edges = sa.Table(
    "edges",
    metadata,
    sa.Column("src", Id, primary_key=True, autoincrement=False),
    sa.Column("dst", Id, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, primary_key=True),
    sa.Index("ix_edges_dst", "dst"),
    sqlite_with_rowid=False,
)

resources = sa.Table(
    "resources",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("type", Foreign, nullable=False),
    # The type that does the work, where the environment maps the template's type to another.
    sa.Column("implementation", Foreign, nullable=False),
    sa.Column("token", sa.String(64), nullable=False),
    sa.Column("physical_id", Foreign),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    # What was last applied: resolved and converted, and the digest of the definition it came from.
    sa.Column("properties", Json, nullable=False),
    sa.Column("digest", sa.String(40)),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("data", Json, nullable=False),
    # What others may read of it: its reference and the attributes they ask for.
    sa.Column("published", Json),
    # The versions that its object may use: old and new together while an outcome is unknown.
    sa.Column("requires", Json, nullable=False),
    sa.Column("replaces", Id),
    sa.Column("replaced_by", Id),
    # True when no node stands for it any more: it waits to be deleted, or to be taken up again by a rollback.
    sa.Column("superseded", sa.Boolean, nullable=False),
    sa.Column("deletion_policy", sa.SmallInteger, nullable=False),
    sa.Column("external", sa.Boolean, nullable=False),
    # The operation it was last brought up to (Heat: current_template_id); empty: somebody has marked it since.
    sa.Column("operation_id", Uuid, nullable=False),
    # What is about to be done to the cloud: durable before it is done.
    sa.Column("intent", Json),
    # Put to rest, and not woken again as far as is known.
    sa.Column("suspended", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    # How many signals it has been sent, and how many bytes are kept of them. No step writes these.
    sa.Column("signals", sa.Integer, nullable=False, server_default="0"),
    sa.Column("signal_bytes", Id, nullable=False, server_default="0"),
    sa.Index("ix_resources_stack_id", "stack_id", "name"),
    # Who else has an object: asked before one is deleted or adopted.
    sa.Index("ix_resources_physical_id", "physical_id", mysql_length=255, postgresql_using="hash"),
    sa.Index("ix_resources_superseded", "stack_id", "superseded", sqlite_where=sa.text("superseded = 1"),
             postgresql_where=sa.text("superseded")),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    # Empty for an event of the stack itself.
    sa.Column("name", Name, nullable=False),
    sa.Column("type", Foreign, nullable=False),
    sa.Column("physical_id", Foreign),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_events_stack_id", "stack_id", "id"),
)

software_configs = sa.Table(
    "software_configs",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("name", Foreign),
    sa.Column("group", Foreign),
    # The config itself, its inputs, outputs and options.
    sa.Column("document", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_software_configs_project", "project", "created_at", "id"),
)

software_deployments = sa.Table(
    "software_deployments",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    # Of the resource that made it; none for one that was made through the API.
    sa.Column("stack_id", Uuid),
    sa.Column("server_id", Foreign),
    sa.Column("config_id", Uuid, nullable=False),
    sa.Column("action", Name),
    sa.Column("status", Name),
    sa.Column("status_reason", Text, nullable=False),
    sa.Column("input_values", Json, nullable=False),
    sa.Column("output_values", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time),
    sa.Index("ix_software_deployments_server_id", "server_id", mysql_length=255),
    sa.Index("ix_software_deployments_config_id", "config_id"),
    sa.Index("ix_software_deployments_project", "project", "created_at", "id"),
)

# Where an operation pauses, until somebody clears the hook.
hooks = sa.Table(
    "hooks",
    metadata,
    sa.Column("node_id", Id, primary_key=True, autoincrement=False),
    sa.Column("hook", sa.String(16), primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    sa.Column("cleared", sa.Boolean, nullable=False),
    # What came before the pause changed what others read of the resource.
    sa.Column("changed", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_hooks_stack_id", "stack_id"),
)

signals = sa.Table(
    "signals",
    metadata,
    sa.Column("resource_id", Id, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    # Of the request: the same one, sent again, changes nothing.
    sa.Column("id", sa.String(64), nullable=False),
    # A later signal with the same key takes the place of an earlier one.
    sa.Column("key", Name, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.UniqueConstraint("resource_id", "key"),
    sa.Index("ix_signals_id", "resource_id", "id"),
)

# What was last seen of a resource's object, apart from what is wanted and from what was last applied.
observations = sa.Table(
    "observations",
    metadata,
    sa.Column("resource_id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    # When the look began.
    sa.Column("seen_at", Time, nullable=False),
    sa.Column("sight", sa.SmallInteger, nullable=False),
    # Why nothing could be seen.
    sa.Column("reason", Text, nullable=False),
    # The live properties that were last seen; none if that is out of date.
    sa.Column("live", Json),
    # What differed from what was applied, by property.
    sa.Column("drift", Json, nullable=False),
    # Since when it is known to differ, or to be gone.
    sa.Column("drifted_since", Time),
    # Of what had been applied when it was compared.
    sa.Column("digest", sa.String(40)),
    # Of what was looked at: notifications tell of objects. Here, and not where resources are made, its index costs little.
    sa.Column("physical_id", Foreign),
    sa.Index("ix_observations_stack_id", "stack_id", "drifted_since"),
    sa.Index("ix_observations_physical_id", "physical_id", mysql_length=255, postgresql_using="hash"),
)

retained = sa.Table(
    "retained",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("type", Foreign, nullable=False),
    sa.Column("physical_id", Foreign),
    sa.Column("token", sa.String(64), nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_retained_stack_id", "stack_id"),
)

# A snapshot has the id of the operation that took it, and uses its blobs under that id.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Foreign),
    # CREATE or DELETE: what is being done to the snapshot itself.
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("input", sa.String(64), nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    # As with operations: when somebody may take it up, to delete it.
    sa.Column("due", Time),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Index("ix_snapshots_stack_id", "stack_id"),
    sa.Index("ix_snapshots_due", "due", sqlite_where=sa.text("due IS NOT NULL"),
             postgresql_where=sa.text("due IS NOT NULL")),
)

snapshot_parts = sa.Table(
    "snapshot_parts",
    metadata,
    sa.Column("snapshot_id", Uuid, primary_key=True),
    sa.Column("name", Name, primary_key=True),
    sa.Column("implementation", Foreign, nullable=False),
    # The resource as it was, with what its type keeps for the snapshot.
    sa.Column("document", Json, nullable=False),
)

# What a user has lent the service, to act in his name on a stack after he has gone. The secret is sealed.
credentials = sa.Table(
    "credentials",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project", sa.String(64), nullable=False),
    sa.Column("user_id", sa.String(64), nullable=False),
    sa.Column("secret", Text, nullable=False),
    # None until the stack exists that it is for.
    sa.Column("stack_id", Uuid),
    # Another has taken its place.
    sa.Column("replaced", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    # Giving it back failed: not before this moment again.
    sa.Column("later", Time, nullable=False),
    sa.Index("ix_credentials_stack_id", "stack_id"),
)

# One row, which a writer locks for as long as its transaction lasts (see turns).
turns = sa.Table("turns", metadata, sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False))

# The last transaction of each writer, so that one whose end is not known can be asked for.
signatures = sa.Table(
    "signatures",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("mark", sa.String(32), nullable=False),
    sa.Column("number", Id, nullable=False),
)

sequences = sa.Table(
    "sequences",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("next", Id, nullable=False),
)
