"""The state machine of versions: every write of the table `resources`.

The row has no column of its own for the state of a version; `VersionState` derives it from `superseded`, `action` and
`status`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from isotherm.states import Action, DeletionPolicy, Protection, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.database.bulk import Bulk, insert
from isotherm.store.records import Version
from isotherm.store.transitions.machine import NO_ROW, Machine, Part


class Protector(NamedTuple):
    """The protection of a version: on the request of a user, and by its template."""

    level: Protection
    user: str
    template: Protection


class VersionState(IntEnum):
    """The state of a version in its life."""

    IN_PROGRESS = 1  # current; a step has begun, and its intent is stored
    COMPLETE = 2  # current; the last action succeeded
    FAILED = 3  # current; the last action failed, or its outcome is unknown
    SUPERSEDED = 4  # no longer wanted; waits for its deletion, or for a rollback that makes it current again
    FORGOTTEN = 5  # holds no object; only its row is left to be deleted


IN_PROGRESS, COMPLETE, FAILED, SUPERSEDED, FORGOTTEN = VersionState
_CURRENT = (IN_PROGRESS, COMPLETE, FAILED)
_HOLDING = (*_CURRENT, SUPERSEDED)

MACHINE = Machine("resources", VersionState)
_transition = MACHINE.transition
_VERSION = t.resources.c

# A version without a digest proves nothing: no plan takes it for up to date, no rollback makes it current again.
_FORGOTTEN: Mapping[str, Any] = {
    "action": int(Action.DELETE), "status": int(Status.COMPLETE), "digest": None, "intent": None,
}


def holds_object() -> sa.ColumnElement[bool]:
    """Return the condition that a row holds an object of its own."""
    forgotten = sa.and_(_VERSION.action == int(Action.DELETE), _VERSION.status == int(Status.COMPLETE))
    return sa.and_(_VERSION.external == sa.false(), ~forgotten)


# Steps.

_INSERT = insert(
    t.resources, "id", "stack_id", "name", "type", "implementation", "token", "physical_id", "action", "status", "reason",
    "properties", "digest", "metadata", "data", "published", "requires", "replaces", "superseded", "deletion_policy",
    "external", "operation_id", "intent", "suspended", "begun_at", "created_at",
)


@_transition(from_=(NO_ROW,), to=_HOLDING, keeps=("I1", "I9"))
def create(connection: sa.Connection, new: Iterable[Version], now: float) -> None:
    """Insert versions: with an intent before the first call to the cloud, as FAILED, or as adopted or imported."""
    seal = sealing.of(connection).seal
    _INSERT(
        connection,
        ((v.id, v.stack_id, v.name, v.type, v.implementation, v.token, v.physical_id, int(v.action), int(v.status),
          v.reason, seal(v.properties, "properties", v.id, v.stack_id), v.digest,
          seal(v.metadata, "metadata", v.id, v.stack_id), seal(v.data, "data", v.id, v.stack_id),
          seal(v.published, "published", v.id, v.stack_id), v.requires, v.replaces, v.superseded,
          int(v.deletion_policy), v.external, v.operation_id, seal(v.intent, "intent", v.id, v.stack_id), v.suspended,
          v.begun_at, now)
         for v in new),
    )


_UPDATE = Bulk(
    sa.update(t.resources)
    .where(_VERSION.id == sa.bindparam("v_id"))
    .values(type=sa.bindparam("v_type"), implementation=sa.bindparam("v_implementation"), token=sa.bindparam("v_token"),
            physical_id=sa.bindparam("v_physical_id"), action=sa.bindparam("v_action"),
            status=sa.bindparam("v_status"), reason=sa.bindparam("v_reason"), properties=sa.bindparam("v_properties"),
            digest=sa.bindparam("v_digest"), metadata=sa.bindparam("v_metadata"), data=sa.bindparam("v_data"),
            published=sa.bindparam("v_published"), requires=sa.bindparam("v_requires"),
            operation_id=sa.bindparam("v_operation_id"), intent=sa.bindparam("v_intent"),
            suspended=sa.bindparam("v_suspended"), begun_at=sa.bindparam("v_begun_at"),
            updated_at=sa.bindparam("v_now")),
    "v_type", "v_implementation", "v_token", "v_physical_id", "v_action", "v_status", "v_reason",
    "v_properties", "v_digest", "v_metadata", "v_data",
    "v_published", "v_requires", "v_operation_id", "v_intent", "v_suspended", "v_begun_at", "v_now", "v_id",
)


@_transition(from_=_CURRENT, to=_CURRENT, keeps=("I1", "I5", "I9"))
def update(connection: sa.Connection, changed: Iterable[Version], now: float) -> None:
    """Write an intent or a result: the columns that a step may change. The caller has checked the lease.

    Type and token are among them: a row whose creation never began is used again for another definition.
    The deletion policy is not: it belongs to the newest plan, which may be newer than the step.
    """
    seal = sealing.of(connection).seal
    _UPDATE(
        connection,
        ((v.type, v.implementation, v.token, v.physical_id, int(v.action), int(v.status), v.reason,
          seal(v.properties, "properties", v.id, v.stack_id), v.digest, seal(v.metadata, "metadata", v.id, v.stack_id),
          seal(v.data, "data", v.id, v.stack_id), seal(v.published, "published", v.id, v.stack_id), v.requires,
          v.operation_id, seal(v.intent, "intent", v.id, v.stack_id), v.suspended, v.begun_at, now,
          v.id)
         for v in changed),
    )


@_transition(from_=(*_HOLDING, FORGOTTEN), to=(NO_ROW,), keeps=("I1", "I16"))
def delete(connection: sa.Connection, version_ids: Collection[int]) -> None:
    """Delete the rows of versions whose objects are deleted or retained."""
    rows.delete_by_id(connection, _VERSION.id, version_ids)


# Replacement and rollback.

_REPLACE = Bulk(
    sa.update(t.resources)
    .where(_VERSION.id == sa.bindparam("v_old"))
    .values(superseded=True, replaced_by=sa.bindparam("v_new")),
    "v_new", "v_old",
)


@_transition(from_=_CURRENT, to=(SUPERSEDED,), keeps=("I8",))
def replace(connection: sa.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Supersede versions by their replacements, given as (replacement, replaced)."""
    _REPLACE(connection, pairs)


@_transition(from_=_CURRENT, to=(SUPERSEDED,), keeps=("I8", "I15"))
def supersede(connection: sa.Connection, version_id: int | None) -> None:
    """Supersede a version in favour of an older one that the plan wants again."""
    connection.execute(sa.update(t.resources).where(_VERSION.id == version_id).values(superseded=True))


@_transition(from_=(SUPERSEDED,), to=_CURRENT, keeps=("I8", "I15"))
def reinstate(connection: sa.Connection, version_id: int, *, instead_of: int | None) -> None:
    """Make a superseded version current again.

    `replaced_by` is kept until its object has been looked at (`confirm`): no check has visited the object meanwhile.
    """
    mine = sa.update(t.resources).where(_VERSION.id == version_id)
    connection.execute(mine.values(superseded=False, replaced_by=instead_of or version_id))


@_transition(keeps=("I2",))
def confirm(connection: sa.Connection, version_ids: Collection[int]) -> None:
    """Record that the objects of reinstated versions have been looked at."""
    if version_ids:
        connection.execute(
            sa.update(t.resources).where(rows.among(_VERSION.id), _VERSION.superseded == sa.false())
            .values(replaced_by=None), rows.ids(version_ids))


_FORGET = Bulk(
    sa.update(t.resources).where(_VERSION.id == sa.bindparam("v_id"))
    .values(reason=sa.bindparam("v_reason"), updated_at=sa.bindparam("v_now"), **_FORGOTTEN),
    "v_reason", "v_now", "v_id",
)


@_transition(from_=_HOLDING, to=(FORGOTTEN,), keeps=("I1",))
def forget(connection: sa.Connection, versions: Iterable[tuple[int, str]], now: float) -> None:
    """Mark versions as holding no object, each given with the reason: it is gone, or belongs to another version."""
    _FORGET(connection, ((reason, now, id_) for id_, reason in versions))


_DISTRUST_OLDER = Bulk(
    sa.update(t.resources)
    .where(_VERSION.stack_id == sa.bindparam("v_stack_id"), _VERSION.name == sa.bindparam("v_name"),
           _VERSION.id != sa.bindparam("v_id"), _VERSION.superseded == sa.true(),
           _VERSION.implementation == sa.bindparam("v_implementation"),
           _VERSION.physical_id == sa.bindparam("v_physical_id"))
    .values(digest=None),
    "v_stack_id", "v_name", "v_id", "v_implementation", "v_physical_id",
)


@_transition(keeps=("I1", "I8"))
def distrust_older(connection: sa.Connection, made: Iterable[Version]) -> None:
    """Clear the digests of superseded versions whose object was created again under the same physical id."""
    _DISTRUST_OLDER(connection, ((v.stack_id, v.name, v.id, v.implementation, v.physical_id) for v in made))


@_transition(keeps=("I1", "I17"))
def rename(connection: sa.Connection, stack_id: str, names: Mapping[str, str]) -> None:
    """Give versions of a stack other names, all at once. The name that each was made under is kept."""
    theirs = sa.update(t.resources).where(_VERSION.stack_id == stack_id, rows.among(_VERSION.name))
    connection.execute(theirs.where(_VERSION.made_as.is_(None)).values(made_as=_VERSION.name), rows.ids(names))
    connection.execute(theirs.values(name=sa.case(names, value=_VERSION.name)), rows.ids(names))


@_transition(keeps=("I1", "I17"), part=Part.ADMIN)
def hand_over(connection: sa.Connection, version: Version, operation_id: str, home: str) -> None:
    """Write a version that another stack takes over: its new stack, name and digest, and its texts sealed for that stack.

    `home` is the name of the stack that it leaves. The name and the stack that it was made under are kept.
    """
    seal, stack_id = sealing.of(connection).seal, version.stack_id
    texts = {name: seal(getattr(version, name), name, version.id, stack_id) for name in rows.SEALED}
    connection.execute(
        sa.update(t.resources).where(_VERSION.id == version.id)
        .values(stack_id=stack_id, name=version.name, digest=version.digest, operation_id=operation_id, requires="[]",
                replaces=None, replaced_by=None, made_as=sa.func.coalesce(_VERSION.made_as, _VERSION.name),
                made_in=sa.func.coalesce(_VERSION.made_in, home), **texts))


@_transition(keeps=("I2",), part=Part.ADMIN)
def restate(connection: sa.Connection, version_id: int, digest: str) -> None:
    """Write the digest of another definition that amounts to what was applied."""
    connection.execute(sa.update(t.resources).where(_VERSION.id == version_id).values(digest=digest))


# Stopping an operation.

_UNKNOWN: Mapping[str, Any] = {"status": Status.FAILED, "intent": None, "digest": None}


@_transition(from_=(IN_PROGRESS,), to=(FAILED,), keeps=("I1", "I13"), part=Part.STOP)
def abort(connection: sa.Connection, version_ids: Iterable[int], reason: sa.ColumnElement[str]) -> None:
    """Fail versions whose steps are stopped: their outcome is unknown. The token stays, to find their objects by."""
    mine = sa.update(t.resources).where(rows.among(_VERSION.id))
    connection.execute(mine.values(reason=reason, **_UNKNOWN), rows.ids(version_ids))


@_transition(from_=(IN_PROGRESS,), to=(FAILED,), keeps=("I1", "I13"), part=Part.STOP)
def abort_all(connection: sa.Connection, stack_id: str, reason: str) -> None:
    """Fail all versions of a stack that are in progress, on an operator's order."""
    mine = sa.update(t.resources).where(_VERSION.stack_id == stack_id, _VERSION.status == Status.IN_PROGRESS)
    connection.execute(mine.values(reason=reason, **_UNKNOWN))


# Outside of steps.


@_transition(from_=_CURRENT, to=(COMPLETE, FAILED), keeps=("I14",), part=Part.ADMIN)
def mark(connection: sa.Connection, version_id: int, status: Status, reason: str, now: float) -> None:
    """Mark a version as unhealthy or healthy for the user. It has no operation, which distinguishes it from a check."""
    mine = sa.update(t.resources).where(_VERSION.id == version_id)
    connection.execute(mine.values(action=Action.CHECK, status=status, reason=reason, updated_at=now, operation_id=""))


@_transition(keeps=("I17",))
def set_policy(connection: sa.Connection, stack_id: str, names: Collection[str], policy: DeletionPolicy) -> None:
    """Set the deletion policy of all versions of these names, from the moment the template is accepted."""
    connection.execute(
        sa.update(t.resources)
        .where(_VERSION.stack_id == stack_id, _VERSION.external == sa.false(), rows.among(_VERSION.name))
        .values(deletion_policy=policy),
        rows.ids(names),
    )


@_transition(keeps=("I17",), part=Part.ADMIN)
def abandon(connection: sa.Connection, stack_id: str, *, adopted: bool) -> None:
    """Keep the objects of a stack when its resources are deleted; with `adopted`, only those that it has adopted."""
    those = [_VERSION.stack_id == stack_id, *([_VERSION.action == Action.ADOPT] if adopted else [])]
    connection.execute(sa.update(t.resources).where(*those).values(deletion_policy=DeletionPolicy.ABANDON))


@_transition(keeps=("I2",), part=Part.ADMIN)
def distrust(connection: sa.Connection, stack_id: str, physical_ids: Collection[str]) -> None:
    """Clear the digests of the versions with these objects, so that the next update visits them."""
    theirs = sa.update(t.resources).where(_VERSION.stack_id == stack_id, rows.among(_VERSION.physical_id))
    connection.execute(theirs.values(digest=None), rows.ids(physical_ids))


@_transition(keeps=("I5",), part=Part.ADMIN)
def write_scaling(connection: sa.Connection, version: Version, data: str, digest: str) -> bool:
    """Write the data of a scaling group without a lease; return False if the version has changed since it was read."""
    unchanged = connection.execute(
        sa.update(t.resources)
        .where(_VERSION.id == version.id, _VERSION.status == Status.COMPLETE, _VERSION.intent.is_(None),
               _VERSION.digest == version.digest)
        .values(data=sealing.of(connection).seal(data, "data", version.id, version.stack_id), digest=digest)
    )
    return bool(unchanged.rowcount)


_BEING_DELETED = sa.and_(_VERSION.action == int(Action.DELETE), _VERSION.status == int(Status.IN_PROGRESS))


@_transition(keeps=("I17",))
def protect_by_template(
    connection: sa.Connection, stack_id: str, names: Collection[str], level: Protection, *, raises_only: bool
) -> None:
    """Set what the template protects the current versions of these names from. NONE: lift it, also for older versions.

    `raises_only`: a version keeps a higher protection. The deletion of an object that has begun cannot be called off.
    """
    mine = [_VERSION.stack_id == stack_id, rows.among(_VERSION.name), ~_BEING_DELETED]
    if level is not Protection.NONE:
        mine.append(_VERSION.superseded == sa.false())
    if raises_only:
        mine.append(_VERSION.template_protection < level)
    connection.execute(sa.update(t.resources).where(*mine).values(template_protection=int(level)), rows.ids(names))


@_transition(keeps=("I17",))
def pass_on_protection(connection: sa.Connection, version_id: int, by: Protector) -> None:
    """Protect a version that was just created, as its template says or as what it replaces was."""
    mine = sa.update(t.resources).where(_VERSION.id == version_id)
    connection.execute(mine.values(protection=int(by.level), protector=by.user, template_protection=int(by.template)))


@_transition(keeps=("I17",), part=Part.ADMIN)
def protect(connection: sa.Connection, version_id: int, level: Protection, user: str) -> None:
    """Protect the object of a version on a user's request."""
    mine = sa.update(t.resources).where(_VERSION.id == version_id)
    connection.execute(mine.values(protection=int(level), protector=user))


@_transition(keeps=("I17",), part=Part.ADMIN)
def unprotect(connection: sa.Connection, stack_id: str, name: str) -> None:
    """Lift every protection of all versions of a resource."""
    mine = sa.update(t.resources).where(_VERSION.stack_id == stack_id, _VERSION.name == name)
    connection.execute(mine.values(protection=0, protector="", template_protection=0))


_COUNT_SIGNAL = (
    sa.update(t.resources)
    .where(_VERSION.id == sa.bindparam("v_id"))
    .values(signals=_VERSION.signals + 1, signal_bytes=_VERSION.signal_bytes + sa.bindparam("v_growth"))
)


@_transition(keeps=("I10",), part=Part.ADMIN)
def count_signal(connection: sa.Connection, version_id: int, growth: int) -> None:
    """Count a signal, and the bytes by which the stored signals grow."""
    connection.execute(_COUNT_SIGNAL, {"v_id": version_id, "v_growth": growth})


@_transition(part=Part.ADMIN)
def drop_signals(connection: sa.Connection, version_id: int, size: int) -> None:
    """Subtract the bytes of deleted signals."""
    mine = sa.update(t.resources).where(_VERSION.id == version_id)
    connection.execute(mine.values(signal_bytes=_VERSION.signal_bytes - size))


_CREATED_AT = Bulk(
    sa.update(t.resources).where(_VERSION.id == sa.bindparam("v_id")).values(created_at=sa.bindparam("v_created_at")),
    "v_created_at", "v_id",
)


@_transition(part=Part.ADMIN)
def set_created_at(connection: sa.Connection, times: Iterable[tuple[float, int]]) -> None:
    """Set when imported versions were created, given as (time, version)."""
    _CREATED_AT(connection, times)


_MIGRATE = Bulk(
    sa.update(t.resources).where(_VERSION.id == sa.bindparam("v_id"))
    .values(operation_id=sa.bindparam("v_operation_id"), requires=sa.bindparam("v_requires"),
            digest=sa.bindparam("v_digest"), superseded=sa.bindparam("v_superseded")),
    "v_operation_id", "v_requires", "v_digest", "v_superseded", "v_id",
)


@_transition(from_=_HOLDING, to=_HOLDING, keeps=("I9", "I18"), part=Part.ADMIN)
def migrate(connection: sa.Connection, versions: Iterable[tuple[object, ...]]) -> None:
    """Write the versions of a migrated stack. In order: operation, requires, digest, superseded, version."""
    _MIGRATE(connection, versions)
