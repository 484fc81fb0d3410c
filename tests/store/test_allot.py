"""Capacity is allotted fairly: by projects, then by stacks; none gets more than it asks for, and none of it is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from isotherm.store.fairness import allot
from isotherm.store.fairness.allot import WaitingStack


def party(stack: Any, project: str = "p", family: str = "") -> Any:
    return WaitingStack(project, family or stack, stack)


@given(st.integers(0, 300), st.lists(st.integers(0, 100), max_size=20), st.integers(0, 1000))
def test_a_split_is_whole_and_as_equal_as_can_be(room: Any, wants: Any, first: Any) -> None:
    given_ = allot.split(room, wants, first)
    assert sum(given_) == min(room, sum(wants))
    assert all(0 <= got <= want for got, want in zip(given_, wants, strict=True))
    unsated = [got for got, want in zip(given_, wants, strict=True) if got < want]
    # Demands above the share get equal parts, except for one unit of the remainder.
    assert not unsated or min(unsated) + 1 >= max(given_)


parties = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("abc"), st.integers(0, 40)), max_size=30,
).map(lambda rows: [WaitingStack(project, f"{project}{family}", f"s{number}")
                    for number, (project, family, _) in enumerate(rows)])


@given(parties, st.integers(0, 200), st.integers(0, 50), st.data())
def test_a_deal_is_whole_and_projects_have_alike(known: Any, room: Any, turn: Any, data: Any) -> None:
    wants = {one.stack_id: data.draw(st.integers(0, 60)) for one in known}
    free = {project: data.draw(st.integers(-3, 80)) for project in "pq"}
    shares = allot.share_out(known, room, turn, wants, free)
    assert set(shares) == {one.stack_id for one in known}
    assert all(0 <= shares[stack] <= wants[stack] for stack in shares)
    got: Counter[str] = Counter()
    can: Counter[str] = Counter()
    for one in known:
        got[one.project] += shares[one.stack_id]
        can[one.project] += wants[one.stack_id]
    most = {project: min(can[project], max(0, free.get(project, 10**9))) for project in can}
    assert all(got[project] <= most[project] for project in most)
    assert sum(got.values()) == min(room, sum(most.values()))
    unsated = [got[project] for project in most if got[project] < most[project]]
    assert not unsated or min(unsated) + 1 >= max(got.values())


def test_a_small_project_has_half_beside_one_with_many_stacks() -> None:
    many = [party(f"s{n}", "big") for n in range(50)]
    shares = allot.share_out([*many, party("small", "other")], 100)
    assert shares["small"] == 50
    assert sum(shares[one.stack_id] for one in many) == 50


def test_stacks_inside_one_stack_share_as_one() -> None:
    inside = [party(f"s{n}", family="around") for n in range(9)]
    shares = allot.share_out([*inside, party("small")], 90)
    assert shares["small"] == 45
    assert sum(shares[one.stack_id] for one in inside) == 45


def test_stacks_inside_one_stack_get_handfuls_one_after_the_other() -> None:
    inside = [party(f"s{n}", family="around") for n in range(9)]
    turns = [allot.share_out(inside, 2 * allot.BATCH, turn) for turn in range(9)]
    assert all(sorted(shares.values()) == [0] * 7 + [allot.BATCH] * 2 for shares in turns)
    assert all(sum(shares[one.stack_id] for shares in turns) == 2 * allot.BATCH for one in inside)


def test_what_one_does_not_want_goes_to_the_others() -> None:
    shares = allot.share_out([party("a"), party("b"), party("c", "other")], 100, 0, {"c": 2, "a": 9})
    assert shares == {"a": 9, "b": 89, "c": 2}


@given(parties.filter(bool), st.integers(1, 3))
def test_each_stack_comes_first_in_some_turn(known: Any, room: Any) -> None:
    """With less capacity than stacks, none is left out for good."""
    turns = 40 * len(known)
    got: Counter[str] = Counter()
    for turn in range(turns):
        got.update(allot.share_out(known, room, turn))
    assert all(got[one.stack_id] for one in known)


@given(parties, st.integers(1, 20), st.integers(0, 100))
def test_some_are_of_all_projects(known: Any, count: Any, turn: Any) -> None:
    chosen = allot.select(known, count, turn)
    assert len(chosen) == min(count, len(known))
    present = {one.project for one in known}
    assert len({one.project for one in chosen}) == min(len(present), count)
