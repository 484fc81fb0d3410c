"""Users of Keystone for single resources, and the projects in which these users are."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Name, Text, Time, Uuid, metadata

# The project of the stack users of a root stack and of all stacks in it.
stack_user_projects = sa.Table(
    "stack_user_projects",
    metadata,
    # The root stack.
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    # Its id in Keystone; empty until Keystone has answered.
    sa.Column("project_id", sa.String(64), nullable=False),
    # When Keystone was last asked to create it.
    sa.Column("asked_at", Time, nullable=False),
    # Deleting it failed: the earliest moment of the next attempt.
    sa.Column("later", Time, nullable=False),
    sa.Index("ix_stack_user_projects_project_id", "project_id"),
)

# The user of one version of a resource.
stack_users = sa.Table(
    "stack_users",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("root_id", Uuid, nullable=False),
    sa.Column("stack_id", Uuid, nullable=False),
    # The project of the stack.
    sa.Column("project", sa.String(64), nullable=False),
    # The version of the resource.
    sa.Column("token", sa.String(64), nullable=False, unique=True),
    sa.Column("resource_name", Name, nullable=False),
    # The name of the user in Keystone; no other user has it.
    sa.Column("username", sa.String(255), nullable=False),
    # Its id in Keystone; empty until Keystone has answered.
    sa.Column("user_id", sa.String(64), nullable=False),
    # The password and the EC2 key, sealed.
    sa.Column("secret", Text, nullable=False),
    # Whether the EC2 key is in Keystone.
    sa.Column("has_key", sa.Boolean, nullable=False),
    sa.Column("asked_at", Time, nullable=False),
    sa.Column("later", Time, nullable=False),
    sa.Index("ix_stack_users_stack_id", "stack_id"),
    sa.Index("ix_stack_users_root_id", "root_id"),
    sa.Index("ix_stack_users_user_id", "user_id"),
)
