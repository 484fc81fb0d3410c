"""The capacity of a worker is shared: stacks and projects take turns, and limits of projects are kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.states import Action, DeletionPolicy, NodeState
from isotherm.store import locks, rows
from isotherm.store import tables as t
from isotherm.store.database.writer import ThreadedStore
from isotherm.store.fairness import shares
from isotherm.store.fairness.shares import START
from isotherm.store.operations import accept, plan, settle
from isotherm.store.queue import choose, claim
from isotherm.store.records import Acceptance, NewStack, Report, Wanted
from tests import databases


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    store = ThreadedStore.open(databases.url_of(tmp_path))
    yield store
    store.close()


def write(store: Any, unit: Any) -> Any:
    return asyncio.run(store.write(unit))


def stack(
    connection: Any, id_: Any, size: Any, now: Any, *, project: str = "p", owner: Any = None, planned: bool = True,
    convergence: bool = True
) -> str:
    asked = Acceptance(id_, 0, f"op-{id_}", Action.CREATE, "", disable_rollback=True, timeout_s=None)
    accept.create(connection, NewStack(id_, project, id_, convergence, owner), asked, now)
    if planned:
        wanted = [Wanted(f"r{n}", f"d{n}", "[]", (), DeletionPolicy.DELETE) for n in range(size)]
        plan.write(connection, f"op-{id_}", wanted, now)
    return str(id_)


class Taker:
    """A worker that takes, turn after turn."""

    def __init__(self, store: Any, room: Any, most: int = 0) -> None:
        self.store, self.room, self.most, self.cursor, self.now = store, room, most, START, 100.0
        self.held_back = False
        self.claims: list[Any] = []

    def turn(self) -> Any:
        """By stack, how many nodes it took."""
        self.now += 0.1
        lease = choose.ClaimRequest("w", self.now + 30, self.room, self.cursor, self.most)
        taken = write(self.store, lambda connection: claim.take(connection, lease, self.now))
        self.cursor, self.held_back = taken.cursor, taken.held_back
        self.claims += taken.claims
        return Counter(one.stack_id for one in taken.claims)

    def end(self, claims: Any) -> None:
        reports = [Report(one, NodeState.DONE) for one in claims]
        write(self.store, lambda connection: settle.reports(connection, reports, "new", self.now))
        self.claims = [one for one in self.claims if one not in claims]


def test_what_fits_is_taken_without_a_look(store: Any) -> None:
    write(store, lambda c: [stack(c, name, 5, 10.0) for name in "ab"])
    taker = Taker(store, 10)
    assert taker.turn() == {"a": 5, "b": 5}
    assert taker.cursor == START
    assert taker.turn() == {}


def test_a_big_stack_does_not_keep_a_small_one_waiting(store: Any) -> None:
    write(store, lambda c: (stack(c, "big", 2000, 10.0), stack(c, "small", 3, 20.0)))
    taker = Taker(store, 100)
    assert taker.turn() == {"big": 97, "small": 3}, "the small one has all it wants, the big one all the rest"
    assert taker.turn() == {"big": 100}


def test_one_stack_alone_gives_its_oldest(store: Any) -> None:
    write(store, lambda c: stack(c, "big", 50, 10.0))
    write(store, lambda c: c.execute(sa.update(t.nodes).where(t.nodes.c.name.in_(["r40", "r41"])).values(due=5.0)))
    taker = Taker(store, 2)
    taker.turn()
    assert {one.name for one in taker.claims} == {"r40", "r41"}


def test_two_that_are_big_have_alike_whatever_small_ones_there_are(store: Any) -> None:
    def unit(c: Any) -> None:
        stack(c, "big1", 500, 10.0)
        stack(c, "big2", 500, 20.0)
        for n in range(20):
            stack(c, f"small{n:02}", 1, 30.0)

    write(store, unit)
    got = Taker(store, 80).turn()
    assert sum(count for name, count in got.items() if name.startswith("small")) == 20
    # An eighth goes by age, to the older one.
    assert got["big2"] >= 25 and got["big1"] == 60 - got["big2"]


def test_projects_share_whatever_number_of_stacks_they_have(store: Any) -> None:
    def unit(c: Any) -> None:
        for n in range(30):
            stack(c, f"a{n:02}", 40, 10.0, project="a")
        stack(c, "b", 200, 20.0, project="b")

    write(store, unit)
    got = Taker(store, 80).turn()
    assert got["b"] == 35, "half of what does not go by age"


def test_stacks_inside_one_stack_have_no_more_than_one(store: Any) -> None:
    def unit(c: Any) -> None:
        stack(c, "root", 1, 10.0)
        for n in range(30):
            stack(c, f"in{n:02}", 40, 10.0, owner="root")
        stack(c, "flat", 200, 20.0)

    write(store, unit)
    got = Taker(store, 80).turn()
    assert got["flat"] >= 30


def test_a_read_continues_at_the_cursor_and_keeps_the_sharers(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More stacks at work than a look goes through: the one that is far behind is found, and not forgotten again."""
    monkeypatch.setattr(shares, "PAGE", 8)

    def unit(c: Any) -> None:
        for n in range(40):
            stack(c, f"a{n:02}", 40, 10.0, project="a")
        stack(c, "z", 300, 20.0, project="z")

    write(store, unit)
    taker = Taker(store, 40)
    got = [taker.turn()["z"] for _ in range(12)]
    first = next(at for at, count in enumerate(got) if count)
    assert first <= 6
    assert all(count >= 15 for count in got[first:]), got


def test_with_capacity_for_one_each_stack_has_a_turn(store: Any) -> None:
    write(store, lambda c: [stack(c, name, 30, 10.0, project="p" if name in "ab" else "q") for name in "abcd"])
    taker = Taker(store, 1)
    got: Counter[str] = Counter()
    for _ in range(40):
        got.update(taker.turn())
    assert sum(got.values()) == 40
    # Each has ten turns. Every eighth turn goes to the oldest node: all five may meet one stack and take its turn away.
    # All nodes are of the same age, so that a server may give those five to any stack.
    assert min(got[name] for name in "abcd") >= 5, got


def test_what_no_look_finds_has_its_turn(store: Any) -> None:
    """Should a stack have something due that is not in progress: it goes by age, and is not lost."""
    write(store, lambda c: (stack(c, "odd", 2, 10.0), stack(c, "big1", 300, 10.5), stack(c, "big2", 300, 10.5)))
    write(store, lambda c: c.execute(sa.update(t.stacks).where(t.stacks.c.id == "odd").values(status=3)))
    taker = Taker(store, 1)
    assert sum(taker.turn()["odd"] for _ in range(16)) == 2


def test_the_work_of_a_turn_does_not_grow_with_a_stack(store: Any) -> None:
    """Counted in what the database is asked, and in rows that it answers."""
    asked = []

    @sa.event.listens_for(sa.Engine, "after_cursor_execute")
    def hear(_connection: Any, _cursor: Any, statement: Any, *_: Any) -> None:
        asked.append(statement)

    try:
        counts = []
        for size in (300, 3000):
            write(store, lambda c, size=size: [stack(c, f"{name}{size}", size, 10.0) for name in "ab"])
            taker = Taker(store, 50)
            taker.turn()
            asked.clear()
            taker.turn()
            counts.append(len(asked))
            write(store, lambda c: c.execute(sa.update(t.nodes).values(due=None)))
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", hear)
    assert counts[0] == counts[1] <= 16


def test_a_project_has_no_more_steps_than_it_may(store: Any) -> None:
    write(store, lambda c: (stack(c, "a", 200, 10.0, project="a"), stack(c, "b", 4, 20.0, project="b")))
    taker = Taker(store, 100, most=7)
    assert taker.turn() == {"a": 7, "b": 4}
    assert taker.held_back
    assert taker.turn() == {}, "they are under way"
    taker.end([one for one in taker.claims if one.stack_id == "a"][:3])
    assert taker.turn() == {"a": 3}
    # The count is the same for every caller.
    assert Taker(store, 100, most=7).turn() == {}
    assert Taker(store, 100, most=9).turn() == {"a": 2}


def test_what_is_held_back_says_why(store: Any) -> None:
    write(store, lambda c: stack(c, "a", 5, 10.0))
    Taker(store, 100, most=2).turn()
    query = sa.select(t.nodes.c.state, t.nodes.c.reason, t.nodes.c.due)
    found = write(store, lambda c: [tuple(row) for row in c.execute(query)])
    told = "2 steps of the project are under way, the most allowed"
    assert Counter((state, reason) for state, reason, _ in found) == {
        (NodeState.RUNNING, None): 2, (NodeState.SCHEDULED, told): 3}
    assert all(due is not None for *_, due in found)


def test_a_dead_worker_s_steps_do_not_count(store: Any) -> None:
    write(store, lambda c: stack(c, "a", 5, 10.0))
    taker = Taker(store, 100, most=2)
    taker.turn()
    taker.now += 60
    assert taker.turn() == {"a": 2}


def test_a_project_at_its_limit_does_not_keep_others_waiting(store: Any) -> None:
    """All that is oldest is held back; the others are found all the same."""
    write(store, lambda c: (stack(c, "a", 500, 10.0, project="a"), stack(c, "b", 30, 20.0, project="b")))
    taker = Taker(store, 40, most=20)
    assert taker.turn() + taker.turn() == {"a": 20, "b": 20}
    taker.end([one for one in taker.claims if one.stack_id == "b"])
    assert taker.turn() == {"b": 10}
    assert taker.held_back


def test_projects_take_turns_to_be_planned(store: Any) -> None:
    def unit(c: Any) -> None:
        for n in range(50):
            stack(c, f"a{n:02}", 1, 10.0, project="a", planned=False)
        stack(c, "b", 1, 20.0, project="b", planned=False)

    write(store, unit)
    place, got = START, []
    for turn in range(20):
        now = 30.0 + turn
        found, place = write(store, lambda c, n=now, p=place: claim.operations_to_plan(c, n + 500, n, 4, p))
        got.append([one.stack_id for one in found])
    assert "b" in got[0]
    flat = [one for found in got for one in found]
    assert len(flat) == len(set(flat)) == 51


def test_projects_take_turns_to_have_an_engine(store: Any) -> None:
    def unit(c: Any) -> None:
        for n in range(50):
            stack(c, f"a{n:02}", 1, 10.0, project="a", planned=False, convergence=False)
        stack(c, "b", 1, 20.0, project="b", planned=False, convergence=False)

    write(store, unit)
    place, got = START, []
    for turn in range(20):
        now = 30.0 + turn
        wish = locks.LockRequest("e", now + 500, 4, place)
        found, place = write(store, lambda c, w=wish, n=now: locks.take(c, w, n))
        got.append([one.stack_id for one in found])
    assert "b" in got[0]
    assert sorted(one for found in got for one in found) == sorted([*(f"a{n:02}" for n in range(50)), "b"])


def test_an_operation_is_planned_as_it_was_accepted(store: Any) -> None:
    write(store, lambda c: stack(c, "a", 1, 10.0, planned=False))
    (found,), _ = write(store, lambda c: claim.operations_to_plan(c, 50.0, 11.0, 4))
    now = write(store, lambda c: rows.operation(c, "op-a"))
    assert found == now and found.fence == 1
    assert write(store, lambda c: claim.operations_to_plan(c, 50.0, 12.0, 4))[0] == []
