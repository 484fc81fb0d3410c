"""The tables of the observer: which stack is looked at next and by whom, what was repaired how often, who observes.

A row for each stack, and not for each resource: a round with nothing to tell costs one write for some hundred resources.
`due` is what it is for nodes: when somebody may look, or the end of the lease of whoever looks now.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.stacks import Json, Name, Time, Uuid, metadata

watches = sa.Table(
    "watches",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    # None: as the stack around it has it, or as the settings say.
    sa.Column("policy", sa.SmallInteger),
    # By the name of a resource: what was said of it alone.
    sa.Column("overrides", Json, nullable=False),
    sa.Column("interval_s", sa.Double),
    sa.Column("mode", sa.SmallInteger, nullable=False),
    # Up to which name the present round has come, and when it began.
    sa.Column("cursor", Name, nullable=False),
    sa.Column("began_at", Time),
    # When the last whole round ended.
    sa.Column("looked_at", Time),
    # Somebody asked for a look: what was seen before this moment does not count. Names: of these alone.
    sa.Column("asked_at", Time),
    sa.Column("hints", Json, nullable=False),
    # The last operation that was a repair.
    sa.Column("repair_id", Uuid),
    sa.Column("worker", sa.String(64)),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("due", Time),
    sa.Index("ix_watches_due", "due"),
)

# Projects of which nothing is looked at, or nothing is repaired. No row: all is as the stacks have it.
watch_projects = sa.Table(
    "watch_projects",
    metadata,
    sa.Column("project", sa.String(64), primary_key=True),
    sa.Column("mode", sa.SmallInteger, nullable=False),
)

# Resources of which drift was told, or which were ever repaired.
repairs = sa.Table(
    "repairs",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("name", Name, primary_key=True),
    # Since when an event says that it has drifted; none once another has said that this is over.
    sa.Column("told_at", Time),
    # How often it was repaired since when, when that was last, and whether it was given up.
    sa.Column("rounds", sa.Integer, nullable=False),
    sa.Column("since", Time),
    sa.Column("last_at", Time),
    sa.Column("tripped_at", Time),
)

# Who observes, and how much of it; the row without a name is what those did that have gone.
observers = sa.Table(
    "observers",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("beat_at", Time, nullable=False),
    sa.Column("looks", sa.BigInteger, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("repairs", sa.BigInteger, nullable=False),
    sa.Column("trips", sa.BigInteger, nullable=False),
)
