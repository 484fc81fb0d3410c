"""Signals and waits that are recorded at the same time, in every order; a pause and its clearing likewise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm import errors
from isotherm.states import Action, DeletionPolicy, NodeState, Status
from isotherm.store import tables as t
from isotherm.store.database.writer import ThreadedStore
from isotherm.store.operations import accept, plan, settle
from isotherm.store.queue import choose, claim
from isotherm.store.records import Acceptance, Beginning, Event, NewStack, Pause, Report, Version, Wanted
from isotherm.store.signals import hooks, signals


def write(store: Any, unit: Any) -> Any:
    return asyncio.run(store.write(unit))


def event(reason: str = "") -> Any:
    return Event("stack", "op1", "r", "T", None, Action.CREATE, Status.IN_PROGRESS, reason)


def begun(store: Any) -> Any:
    """A stack with one resource, claimed, and its creation begun."""

    def unit(connection: Any) -> Any:
        request = Acceptance("stack", 0, "op1", Action.CREATE, "", disable_rollback=True, timeout_s=60.0)
        accept.create(connection, NewStack("stack", "project", "s", True), request, 10.0)
        plan.write(connection, "op1", [Wanted("r", "digest", "[]", (), DeletionPolicy.DELETE)], 10.0)
        (taken,) = claim.take(connection, choose.ClaimRequest("w", 100.0, 10), 11.0).claims
        version = Version(0, "stack", "r", "T", "T", "token", None, Action.CREATE, Status.IN_PROGRESS, "", "{}", None, "{}",
                          "{}", None, "[]", None, False, DeletionPolicy.DELETE, False, "op1", "{}")
        claim.begin(connection, [Beginning(taken, version, True, event())], 11.0)
        return taken, version

    return write(store, unit)


def send(store: Any, key: str = "1", now: float = 20.0) -> None:
    def unit(connection: Any) -> None:
        to = signals.addressee(connection, "stack", "r")
        signals.take(connection, to, signals.NewSignal(f"id {key} {now}", key, "{}", "told"), "op1", now)

    write(store, unit)


def wait(store: Any, taken: Any, version: Any, seen: Any, now: float = 20.0) -> None:
    report = Report(taken, NodeState.WAITING, version, wake_in_s=1000.0, awaits=str(version.id), seen=seen)
    write(store, lambda connection: settle.reports(connection, [report], "new", now))


def due(store: Any) -> Any:
    found = asyncio.run(store.read(lambda connection: connection.execute(t.nodes.select()).mappings().all()))
    return [row["due"] for row in found]


def test_a_signal_wakes_the_waiting_node(store: ThreadedStore) -> None:
    taken, version = begun(store)
    wait(store, taken, version, seen=0)
    assert due(store) == [1020.0]
    send(store, now=21.0)
    assert due(store) == [21.0]


def test_a_signal_that_came_first_is_not_missed(store: ThreadedStore) -> None:
    taken, version = begun(store)
    send(store, now=19.0)
    wait(store, taken, version, seen=0)
    assert due(store) == [20.0], "it had seen none when it decided to wait"


def test_a_node_that_has_seen_the_signal_waits_for_the_next(store: ThreadedStore) -> None:
    taken, version = begun(store)
    send(store, now=19.0)
    wait(store, taken, version, seen=1)
    assert due(store) == [1020.0]
    send(store, now=30.0)
    assert due(store) == [30.0], "also where the key is the same"


def test_the_end_of_a_wait_leaves_nothing_to_wake(store: ThreadedStore) -> None:
    taken, version = begun(store)
    write(store, lambda c: settle.reports(c, [Report(taken, NodeState.DONE, version)], "new", 20.0))
    send(store, now=21.0)
    assert due(store) == [None]


def test_clearing_leaves_what_came_since(store: ThreadedStore) -> None:
    _, version = begun(store)
    for key in ("a", "b", "c"):
        send(store, key)
    write(store, lambda connection: signals.clear(connection, str(version.id), 2))
    kept = asyncio.run(store.read(lambda connection: signals.inbox(connection, "stack", "token", [])))
    assert kept is not None
    assert [(number, key) for number, key, _ in kept.signals] == [(3, "c")]
    assert kept.seen == 3


def test_signals_go_with_their_resource(store: ThreadedStore) -> None:
    taken, version = begun(store)
    send(store)
    write(store, lambda c: settle.reports(c, [Report(taken, NodeState.DONE, version, removed=True)], "new", 20.0))
    assert asyncio.run(store.read(lambda connection: connection.execute(t.signals.select()).all())) == []


def pause(store: Any, taken: Any, now: float = 20.0) -> None:
    report = Report(taken, NodeState.WAITING, wake_in_s=1000.0, pause=Pause("pre-create", event("paused")))
    write(store, lambda connection: settle.reports(connection, [report], "new", now))


def test_a_pause_is_told_once_and_cleared_once(store: ThreadedStore) -> None:
    taken, _ = begun(store)
    pause(store, taken)
    assert due(store) == [1020.0]
    write(store, lambda connection: hooks.clear(connection, "stack", "r", "pre-create", 21.0))
    assert due(store) == [21.0]
    with pytest.raises(errors.UserError):
        write(store, lambda connection: hooks.clear(connection, "stack", "r", "pre-create", 22.0))
    (again,) = write(store, lambda connection: claim.take(connection, choose.ClaimRequest("w", 100.0, 10), 23.0).claims)
    assert again.hooks == {"pre-create": False}
    # A worker that took it before it was cleared reports late: it does not pause again, and there is no second event.
    pause(store, again, now=24.0)
    assert due(store) == [24.0]
    told = asyncio.run(store.read(lambda connection: connection.execute(t.events.select()).mappings().all()))
    assert [row["reason"] for row in told].count("paused") == 1


def test_a_pause_means_nothing_to_another_operation(store: ThreadedStore) -> Any:
    taken, _ = begun(store)
    pause(store, taken)
    request = Acceptance("stack", 1, "op2", Action.UPDATE, "", disable_rollback=True, timeout_s=60.0)

    def newer(connection: Any) -> Any:
        accept.supersede(connection, request, 30.0)
        plan.write(connection, "op2", [Wanted("r", "digest2", "[]", (), DeletionPolicy.DELETE)], 30.0)
        (claimed,) = claim.take(connection, choose.ClaimRequest("w", 100.0, 10), 31.0).claims
        return claimed, hooks.pending(connection, "stack")

    claimed, pending = write(store, newer)
    assert claimed.hooks == {}
    assert pending == []
