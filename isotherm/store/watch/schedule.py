"""Units of work of the observer: due stacks, their leases, and the progress of each round of observations.

A stack is leased for one chunk of its resources at a time; a stack with more to observe goes to the end of the queue. A
lease has a fence: an observer that has lost it changes no row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, DriftPolicy, Status, WatchMode
from isotherm.store import rows
from isotherm.store import tables as t

_WATCH, _STACK = t.watches.c, t.stacks.c
# Seconds until a stack is due again: with an operation in progress; suspended, deleted or paused.
BUSY_S, IDLE_S = 0.5, 5.0
# More hinted resources than this make the whole stack due.
MANY_HINTS = 200


class Watch(msgspec.Struct, frozen=True, gc=False):
    """A stack to observe, with its watch settings and the progress of the round."""

    stack_id: str
    project: str
    stack_name: str
    owner_id: str | None
    generation: int
    operation_id: str
    status: int
    action: int
    policy: DriftPolicy | None
    overrides: dict[str, int]
    interval_s: float | None
    mode: WatchMode
    cursor: str
    began_at: float | None
    requested_at: float | None
    # By resource: the number of hints. A hint that came later changes the number, and so is not lost.
    hints: dict[str, int]
    repair_id: str | None
    fence: int

    @property
    def is_quiet(self) -> bool:
        """Return whether the resources can be observed now: no operation is in progress, suspended or deleting."""
        return self.status != Status.IN_PROGRESS and self.action not in (Action.SUSPEND, Action.DELETE)


_COLUMNS = (
    _WATCH.stack_id, _STACK.project, _STACK.name, _STACK.owner_id, _STACK.generation, _STACK.operation_id, _STACK.status,
    _STACK.action, _WATCH.policy, _WATCH.overrides, _WATCH.interval_s, _WATCH.mode, _WATCH.cursor, _WATCH.began_at,
    _WATCH.requested_at, _WATCH.hints, _WATCH.repair_id, _WATCH.fence, t.watch_projects.c.mode,
)
_SELECT = (
    sa.select(*_COLUMNS).join(t.stacks, _STACK.id == _WATCH.stack_id)
    .outerjoin(t.watch_projects, t.watch_projects.c.project == _STACK.project)
)
# The index on `due` is the queue of stacks.
_DUE = _SELECT.where(_WATCH.due <= sa.bindparam("now"), _STACK.tomb == "").order_by(_WATCH.due).limit(sa.bindparam("most"))


def _watch(row: Any) -> Watch:
    (stack_id, project, name, owner_id, generation, operation_id, status, action, policy, overrides, interval_s, mode,
     cursor, began_at, requested_at, hints, repair_id, fence, project_mode) = row
    return Watch(
        stack_id, project, name, owner_id, generation, operation_id, status, action,
        None if policy is None else DriftPolicy(policy), msgspec.json.decode(overrides), interval_s,
        WatchMode(max(mode, project_mode or 0)), cursor, began_at, requested_at, msgspec.json.decode(hints), repair_id,
        fence,
    )


_NEW = {"overrides": "{}", "mode": int(WatchMode.ACTIVE), "cursor": "", "hints": "{}", "fence": 0}


def enrol(connection: sa.Connection, now: float) -> None:
    """Start to watch new stacks, and stop watching deleted ones."""
    known = sa.exists().where(_WATCH.stack_id == _STACK.id)
    new = sa.select(_STACK.id, *(sa.literal(value) for value in _NEW.values()), sa.literal(now)).where(
        _STACK.tomb == "", ~known)
    connection.execute(sa.insert(t.watches).from_select(["stack_id", *_NEW, "due"], new))
    for table in (t.watches, t.repairs):
        living = sa.exists().where(_STACK.id == table.c.stack_id, _STACK.tomb == "")
        connection.execute(sa.delete(table).where(~living))


def is_anything(connection: sa.Connection, now: float, *, enrols: bool) -> bool:
    """Return whether a stack is due, or (with `enrols`) not yet watched. Takes no lock."""
    if connection.execute(sa.select(sa.exists().where(_WATCH.due <= now))).scalar():
        return True
    known = sa.exists().where(_WATCH.stack_id == _STACK.id)
    return enrols and bool(connection.execute(sa.select(sa.exists().where(_STACK.tomb == "", ~known))).scalar())


def take(connection: sa.Connection, worker: str, now: float, lease_s: float, most: int) -> list[Watch]:
    """Take due stacks under a lease; postpone those that cannot be observed now."""
    taken: list[Watch] = []
    later: list[Watch] = []
    for row in connection.execute(_DUE, {"now": now, "most": most}).all():
        one = _watch(row)
        (taken if one.is_quiet and one.mode is not WatchMode.PAUSED else later).append(one)
    connection.execute(
        sa.update(t.watches).where(rows.among(_WATCH.stack_id))
        .values(worker=worker, fence=_WATCH.fence + 1, due=now + lease_s), rows.ids(one.stack_id for one in taken))
    for wait_s, busy in ((BUSY_S, True), (IDLE_S, False)):
        connection.execute(
            sa.update(t.watches).where(rows.among(_WATCH.stack_id)).values(due=now + wait_s),
            rows.ids(one.stack_id for one in later if (one.status == Status.IN_PROGRESS) is busy))
    return [msgspec.structs.replace(one, fence=one.fence + 1) for one in taken]


def recall(connection: sa.Connection, now: float, latest: float) -> None:
    """Make stacks due now whose time lies beyond any that the current options allow: an interval was shortened."""
    connection.execute(
        sa.update(t.watches)
        .where(_WATCH.due > latest, _WATCH.worker.is_(None), _WATCH.interval_s.is_(None)).values(due=now))


def release(connection: sa.Connection, workers: Collection[str], now: float) -> None:
    """Release the leases of dead observers: their stacks are due again."""
    theirs = sa.update(t.watches).where(rows.among(_WATCH.worker))
    connection.execute(theirs.values(worker=None, due=now), rows.ids(workers))


def one(connection: sa.Connection, stack_id: str, now: float) -> Watch:
    """Return the watch of one stack without a lease; create it if there is none. Raises NoResultFound without a stack."""
    found = connection.execute(_SELECT.where(_WATCH.stack_id == stack_id)).one_or_none()
    if found is None:
        connection.execute(sa.insert(t.watches).values(stack_id=stack_id, due=now, **_NEW))
        found = connection.execute(_SELECT.where(_WATCH.stack_id == stack_id)).one()
    return _watch(found)


def peek(connection: sa.Connection, stack_id: str) -> tuple[Watch | None, float | None, float | None]:
    """Read the watch of one stack without writing, with the end of its last round and the time of the next observation."""
    found = connection.execute(_SELECT.where(_WATCH.stack_id == stack_id)).one_or_none()
    times = connection.execute(sa.select(_WATCH.observed_at, _WATCH.due).where(_WATCH.stack_id == stack_id)).one_or_none()
    return None if found is None else _watch(found), times and times[0], times and times[1]


def is_held(connection: sa.Connection, watch: Watch, worker: str) -> bool:
    """Return whether the observer still holds the lease."""
    query = sa.select(_WATCH.fence, _WATCH.worker).where(_WATCH.stack_id == watch.stack_id)
    found = connection.execute(query).one_or_none()
    return found is not None and tuple(found) == (watch.fence, worker)


def is_ours(connection: sa.Connection, watch: Watch, worker: str) -> bool:
    """Return whether the observer still holds the lease and the stack has not changed since it was taken."""
    return is_held(connection, watch, worker) and is_unmoved(connection, watch)


def mark_repair(connection: sa.Connection, stack_ids: Collection[str], operation_id: str) -> None:
    connection.execute(sa.update(t.watches).where(rows.among(_WATCH.stack_id)).values(repair_id=operation_id),
                       rows.ids(stack_ids))


def is_unmoved(connection: sa.Connection, watch: Watch) -> bool:
    found = connection.execute(
        sa.select(_STACK.generation, _STACK.status, _STACK.tomb).where(_STACK.id == watch.stack_id)).one_or_none()
    return found is not None and tuple(found) == (watch.generation, watch.status, "")


def give_back(connection: sa.Connection, watch: Watch, worker: str, *, due: float, **values: Any) -> None:
    """End the lease and store when the stack is due next. `hints`: those that were handled.

    Hints that came in the meantime make the stack due at once; a hint for the whole stack begins a new round.
    """
    taken_hints = values.pop("hints", {})
    query = sa.select(_WATCH.hints, _WATCH.requested_at).where(_WATCH.stack_id == watch.stack_id)
    found = connection.execute(query).one_or_none()
    if found is None:
        return
    left = {name: times for name, times in msgspec.json.decode(found.hints).items() if times != taken_hints.get(name)}
    asked = found.requested_at != watch.requested_at
    if asked:
        values |= {"cursor": "", "began_at": None}
    connection.execute(
        sa.update(t.watches)
        .where(_WATCH.stack_id == watch.stack_id, _WATCH.fence == watch.fence, _WATCH.worker == worker)
        .values(worker=None, due=0.0 if left or asked else due, hints=msgspec.json.encode(left).decode(), **values))


def hint(connection: sa.Connection, stack_id: str, names: Collection[str] | None, now: float) -> None:
    """Record a hint that resources of a stack may have changed. None: all of them."""
    watch = one(connection, stack_id, now)
    # An observer that holds the stack continues; `give_back` makes it due again.
    due = sa.case((_WATCH.worker.is_(None), now), else_=_WATCH.due)
    together = watch.hints | {name: watch.hints.get(name, 0) + 1 for name in names or ()}
    values: dict[str, Any] = {"due": due, "hints": msgspec.json.encode(together).decode()}
    if names is None or len(together) > MANY_HINTS:
        values |= {"requested_at": now, "cursor": "", "began_at": None, "hints": "{}"}
    connection.execute(sa.update(t.watches).where(_WATCH.stack_id == stack_id).values(values))


def looked(connection: sa.Connection, stack_id: str, now: float) -> None:
    """Record that all resources of a stack were observed."""
    connection.execute(sa.update(t.watches).where(_WATCH.stack_id == stack_id).values(observed_at=now))


def configure(connection: sa.Connection, stack_id: str, now: float, **values: Any) -> None:
    """Change the watch settings of a stack and begin a new round. The lease of an observer on it ends."""
    one(connection, stack_id, now)
    connection.execute(
        sa.update(t.watches).where(_WATCH.stack_id == stack_id)
        .values(due=now, cursor="", began_at=None, worker=None, fence=_WATCH.fence + 1, **values))


def override(connection: sa.Connection, stack_id: str, name: str, policy: DriftPolicy | None, now: float) -> None:
    known = dict(one(connection, stack_id, now).overrides)
    known.pop(name, None)
    if policy is not None:
        known[name] = int(policy)
    configure(connection, stack_id, now, overrides=msgspec.json.encode(known).decode())


def rename(connection: sa.Connection, stack_id: str, names: Mapping[str, str]) -> None:
    """Give the policies of single resources to their new names."""
    text = connection.execute(sa.select(_WATCH.overrides).where(_WATCH.stack_id == stack_id)).scalar()
    known = msgspec.json.decode(text or "{}")
    if not names.keys().isdisjoint(known):
        kept = {names.get(name, name): policy for name, policy in known.items()}
        mine = sa.update(t.watches).where(_WATCH.stack_id == stack_id)
        connection.execute(mine.values(overrides=msgspec.json.encode(kept).decode()))


def hand_over(connection: sa.Connection, from_: tuple[str, str], to: tuple[str, str], now: float) -> None:
    """Give the policy of a resource to another stack, each given as stack and name. Leases of observers on both end."""
    policy = one(connection, from_[0], now).overrides.get(from_[1])
    for (stack_id, name), kept in ((from_, None), (to, policy)):
        override(connection, stack_id, name, None if kept is None else DriftPolicy(kept), now)


def set_project(connection: sa.Connection, project: str, mode: WatchMode, now: float) -> None:
    connection.execute(sa.delete(t.watch_projects).where(t.watch_projects.c.project == project))
    if mode is not WatchMode.ACTIVE:
        connection.execute(sa.insert(t.watch_projects).values(project=project, mode=int(mode)))
    theirs = sa.select(_STACK.id).where(_STACK.project == project, _STACK.tomb == "")
    connection.execute(sa.update(t.watches).where(_WATCH.stack_id.in_(theirs), _WATCH.worker.is_(None)).values(due=now))


def project_mode(connection: sa.Connection, project: str) -> WatchMode:
    query = sa.select(t.watch_projects.c.mode).where(t.watch_projects.c.project == project)
    return WatchMode(connection.execute(query).scalar() or WatchMode.ACTIVE)
