"""The observer's tables: observations, the schedule of stacks, repairs, and the observers themselves.

`watches` has a row for each stack, not for each resource: a round without drift costs one write for some hundred
resources. `watches.due` means what `nodes.due` means: when an observer may take the stack, or when its lease ends.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, Json, LongName, Name, Text, Time, Uuid, index, metadata

# The last observation of a version's object, apart from what is wanted and from what was last applied.
observations = sa.Table(
    "observations",
    metadata,
    sa.Column("resource_id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    # When the observation began.
    sa.Column("seen_at", Time, nullable=False),
    # An ObservationResult.
    sa.Column("result", sa.SmallInteger, nullable=False),
    # Why the observation failed.
    sa.Column("reason", Text, nullable=False),
    # The live properties last seen; NULL if they are out of date.
    sa.Column("live", Json),
    # The differences from what was applied, by property.
    sa.Column("drift", Json, nullable=False),
    # Since when the object is known to differ, or to be gone.
    sa.Column("drifted_since", Time),
    # The digest of the definition that was applied when they were compared.
    sa.Column("digest", sa.String(40)),
    # Of the observed object, for hints about objects. An index on `resources` would cost every create.
    sa.Column("physical_id", LongName),
    sa.Index("ix_observations_stack_id", "stack_id", "drifted_since"),
    index("ix_observations_physical_id", "physical_id", mysql_length=255, postgresql_using="hash"),
)

watches = sa.Table(
    "watches",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    # NULL: inherited from the stack that contains it, or from the settings.
    sa.Column("policy", sa.SmallInteger),
    # Policies of single resources, by name.
    sa.Column("overrides", Json, nullable=False),
    sa.Column("interval_s", sa.Double),
    sa.Column("mode", sa.SmallInteger, nullable=False),
    # The last name that the current round has reached, and when the round began.
    sa.Column("cursor", Name, nullable=False),
    sa.Column("began_at", Time),
    # When the last complete round ended.
    sa.Column("observed_at", Time),
    # When an observation was requested: older observations do not count. Hints name single resources.
    sa.Column("requested_at", Time),
    sa.Column("hints", Json, nullable=False),
    # The last repair operation.
    sa.Column("repair_id", Uuid),
    sa.Column("worker", sa.String(64)),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("due", Time),
    sa.Index("ix_watches_due", "due"),
)

# Projects that are not observed, or not repaired. No row: the stacks decide.
watch_projects = sa.Table(
    "watch_projects",
    metadata,
    sa.Column("project", sa.String(64), primary_key=True),
    sa.Column("mode", sa.SmallInteger, nullable=False),
)

# Resources whose drift was reported, or which were repaired.
repairs = sa.Table(
    "repairs",
    metadata,
    sa.Column("stack_id", Uuid, primary_key=True),
    sa.Column("name", Name, primary_key=True),
    # When the drift was reported by an event; NULL once its end was reported.
    sa.Column("reported_at", Time),
    # How often it was repaired since when, the last repair, and when repairing was given up.
    sa.Column("rounds", sa.Integer, nullable=False),
    sa.Column("since", Time),
    sa.Column("last_at", Time),
    sa.Column("tripped_at", Time),
)

# The observers and their counters; the row with an empty name holds the sums of those that are gone.
observers = sa.Table(
    "observers",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("beat_at", Time, nullable=False),
    sa.Column("observations", sa.BigInteger, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("repairs", sa.BigInteger, nullable=False),
    sa.Column("trips", sa.BigInteger, nullable=False),
)
