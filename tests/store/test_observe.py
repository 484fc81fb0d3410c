"""What was seen of resources: kept with its time, and never overwritten by what was seen before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.secrets.ring import KeyRing
from isotherm.states import Action, DeletionPolicy, ObservationResult, Status
from isotherm.store import tables as t
from isotherm.store.database.writer import Connection, ThreadedStore
from isotherm.store.records import Observation, Version
from isotherm.store.transitions import versions as version_rows
from isotherm.store.watch import observations
from tests import databases, observed

STACK = "stack"
DRIFT = '[{"property":"a","applied":"1","live":"2","wanted":"1"}]'
MARKER = "hush-4711"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ThreadedStore]:
    store = ThreadedStore.open(databases.url_of(tmp_path), ring=lambda: KeyRing(["k" * 32]))
    write(store, lambda connection: version_rows.create(connection, [version(1), version(2)], 5.0))
    yield store
    store.close()


def version(id_: int, *, superseded: bool = False) -> Version:
    return Version(id_, STACK, f"r{id_}", "T", "T", f"token{id_}", f"p{id_}", Action.CREATE, Status.COMPLETE, "", "{}", "d",
                   "null", "{}", None, "[]", None, superseded, DeletionPolicy.DELETE, False, "op", None)


def write(store: ThreadedStore, unit: Any) -> Any:
    return asyncio.run(store.write(unit))


def record(store: ThreadedStore, *seen: Observation) -> set[int]:
    found: set[int] = write(store, lambda connection: observations.record(connection, seen))
    return found


def of_stack(store: ThreadedStore) -> dict[str, Observation]:
    found: dict[str, Observation] = asyncio.run(store.read(lambda connection: observed.of_stack(connection, STACK)))
    return found


def saw(at: float, *, id_: int = 1, **more: Any) -> Observation:
    return Observation(id_, STACK, at, more.pop("result", ObservationResult.SEEN), **more)


def test_an_older_look_never_overwrites_a_newer_one(store: ThreadedStore) -> None:
    assert record(store, saw(20.0, live='{"a":"new"}')) == {1}
    assert record(store, saw(19.0, live='{"a":"old"}'), saw(19.0, id_=2)) == {2}
    assert of_stack(store)["r1"].live == '{"a":"new"}'
    assert record(store, saw(21.0, live='{"a":"newer"}')) == {1}
    assert of_stack(store)["r1"].live == '{"a":"newer"}'


def test_since_when_it_has_drifted(store: ThreadedStore) -> None:
    record(store, saw(10.0))
    assert of_stack(store)["r1"].drifted_since is None
    record(store, saw(20.0, drift=DRIFT))
    record(store, saw(30.0, result=ObservationResult.GONE))
    assert of_stack(store)["r1"].drifted_since == 20.0
    assert asyncio.run(store.read(lambda connection: observations.drifted(connection, [STACK, "other"]))) == {STACK: 1}
    record(store, saw(40.0))
    assert of_stack(store)["r1"].drifted_since is None
    assert asyncio.run(store.read(lambda connection: observations.drifted(connection, [STACK]))) == {}


def test_what_cannot_be_seen_erases_nothing(store: ThreadedStore) -> None:
    record(store, saw(20.0, drift=DRIFT, live='{"a":"2"}'))
    record(store, saw(30.0, result=ObservationResult.UNSEEN, reason="no answer"))
    found = of_stack(store)["r1"]
    assert (found.result, found.reason, found.seen_at) == (ObservationResult.UNSEEN, "no answer", 30.0)
    assert (found.drift, found.live, found.drifted_since) == (DRIFT, '{"a":"2"}', 20.0)


def test_what_was_written_since_was_not_seen(store: ThreadedStore) -> None:
    """It was compared with what is not applied any more."""
    write(store, lambda connection: version_rows.update(connection, [version(1)], 50.0))
    assert record(store, saw(40.0, drift=DRIFT)) == set()
    assert record(store, saw(60.0)) == {1}


def test_what_is_put_right_has_not_drifted(store: ThreadedStore) -> None:
    record(store, saw(20.0, drift=DRIFT, live='{"a":"2"}'))
    write(store, lambda connection: observations.put_right(connection, [1], 30.0))
    found = of_stack(store)["r1"]
    assert (found.drift, found.live, found.drifted_since, found.seen_at) == ("[]", None, None, 30.0)
    assert record(store, saw(25.0, drift=DRIFT)) == set(), "who looked before it was put right says nothing new"


def test_it_goes_with_the_row_and_with_the_version(store: ThreadedStore) -> None:
    assert record(store, saw(20.0, id_=99)) == set(), "there is no such row"
    record(store, saw(20.0), saw(20.0, id_=2))

    def unit(connection: Connection) -> None:
        connection.execute(sa.update(t.resources).where(t.resources.c.id == 1).values(superseded=True))
        observations.forget(connection, [2])

    write(store, unit)
    assert of_stack(store) == {}, "the one is another version's, the other is gone"


def test_what_is_live_may_be_secret_and_is_sealed(store: ThreadedStore) -> None:
    record(store, saw(20.0, live=f'{{"a":"{MARKER}"}}', drift=f'[{{"live":"{MARKER}"}}]'))
    record(store, saw(30.0, live=f'{{"a":"{MARKER}"}}', drift=f'[{{"live":"{MARKER}"}}]'))
    stored = asyncio.run(store.read(lambda connection: str(connection.execute(sa.select(t.observations)).all())))
    assert MARKER not in stored
    assert of_stack(store)["r1"].live == f'{{"a":"{MARKER}"}}'
