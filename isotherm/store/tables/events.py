"""Events, and their delivery: the progress of sinks, and the scalings of groups that notifications describe."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, LongName, Name, Text, Time, Uuid, metadata

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    # Empty for an event of the stack itself.
    sa.Column("name", Name, nullable=False),
    sa.Column("type", LongName, nullable=False),
    sa.Column("physical_id", LongName),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_events_stack_id", "stack_id", "id"),
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("sink", sa.String(64), primary_key=True),
    # The last event that was delivered, or that the sink does not want.
    sa.Column("position", Id, nullable=False),
    # Failed attempts in a row for the next event.
    sa.Column("attempts", sa.Integer, nullable=False),
    # From when a process may deliver: at once, after a pause, or when the lease has expired.
    sa.Column("due", Time, nullable=False),
    # Another number for each lease: a process that has lost its lease changes no row.
    sa.Column("fence", sa.Integer, nullable=False),
)

# Operations on nested stacks that scale a group, until their end was delivered.
scalings = sa.Table(
    "scalings",
    metadata,
    sa.Column("operation_id", Uuid, primary_key=True),
    # The stack of the group.
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("group_name", LongName, nullable=False),
    sa.Column("adjustment", sa.Double, nullable=False),
    sa.Column("adjustment_type", sa.String(64), nullable=False),
    # The number of members before, and after.
    sa.Column("capacity", sa.Integer, nullable=False),
    sa.Column("new_capacity", sa.Integer, nullable=False),
    sa.Column("created_at", Time, nullable=False),
)
