"""The TaskRunner: a step at a time, resumable from data alone, and without a thread blocked while it waits."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import random
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.resources import contract, runner
from isotherm.resources.reality.journal import MemoryReality
from isotherm.resources.runner import Done, Failed, Task, TaskRunner, Waiting
from isotherm.states import Action


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> Any:
        return self.time


class Slow(contract.Resource):
    """Takes three seconds to make, and leaves a trail."""

    TYPE = "Test::Slow"

    async def handle_create(self) -> Any:
        await self.context.reality.create(self.TYPE, self.token, {}, f"object-{self.token}")
        self.physical_id = f"object-{self.token}"
        return {"until": self.context.clock.now() + 3}

    async def check_create_complete(self, progress: Any) -> Any:
        if progress is None:
            return True
        left = progress["until"] - self.context.clock.now()
        return True if left <= 0 else contract.Wait(left, "growing")

    def handle_delete(self) -> None:  # type: ignore[override]
        """Plain, not async: it runs on a thread."""
        self.data["thread"] = True

    async def handle_update(self, before: Any, changed: Any) -> None:
        raise errors.Temporary("busy", retry_after_s=7)

    async def handle_check(self) -> None:
        raise ValueError("x" * 1_000_000 + "\U0001f600\0\ud800")


@pytest.fixture
def context() -> Any:
    return contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality())


def state(physical_id: Any = None) -> Any:
    return contract.ResourceState(name="slow", stack_name="stack", stack_id="id", token="token", properties={},
                                  physical_id=physical_id)


def resource(context: Any, physical_id: Any = None) -> Any:
    return Slow(state(physical_id), context)


def step(one: Any, task: Any) -> Any:
    return asyncio.run(TaskRunner(one, task).step())


@pytest.mark.ledger("S0.2")
def test_a_step_never_waits_it_says_how_long(context: Any) -> None:
    one, task = resource(context), Task(Action.CREATE)
    outcome = step(one, task)
    assert isinstance(outcome, Waiting)
    assert (outcome.seconds, outcome.reason) == (3, "growing")
    assert task.handled


@pytest.mark.ledger("S0.4", "S0.2")
def test_another_worker_goes_on_from_the_data_alone(context: Any) -> None:
    first = resource(context)
    task = Task(Action.CREATE)
    step(first, task)
    context.clock.time += 2
    again = Task(Action.CREATE, handled=True, progress=copy.deepcopy(task.progress))
    outcome = step(resource(context, first.physical_id), again)
    assert isinstance(outcome, Waiting)
    assert outcome.seconds == 1
    context.clock.time += 1
    assert isinstance(step(resource(context, first.physical_id), again), Done)
    assert len(context.reality.objects) == 1


def test_plain_methods_run_on_a_thread(context: Any) -> None:
    one = resource(context)
    assert isinstance(step(one, Task(Action.DELETE)), Done)
    assert one.data == {"thread": True}


def test_a_temporary_error_is_a_wait(context: Any) -> None:
    task = Task(Action.UPDATE)
    outcome = step(resource(context, "id"), task)
    assert isinstance(outcome, Waiting)
    assert (outcome.seconds, outcome.reason, task.handled) == (7, "busy", False)


def test_any_other_error_is_a_failure_of_bounded_size(context: Any) -> None:
    outcome = step(resource(context, "id"), Task(Action.CHECK))
    assert isinstance(outcome, Failed)
    assert outcome.reason.startswith("ValueError: resources.slow: xxx")
    assert len(outcome.reason) == runner.REASON_LIMIT
    outcome.reason.encode()


def test_being_superseded_is_not_a_failure(context: Any) -> None:
    class Overtaken(Slow):
        async def handle_create(self) -> None:
            raise errors.Superseded("the lease has run out")

    with pytest.raises(errors.Superseded):
        step(Overtaken(state(), context), Task(Action.CREATE))


class ExpiredLease:
    def check(self) -> None:
        raise errors.Superseded("the lease has run out")


def test_an_operation_is_not_checked_under_a_lost_lease(context: Any) -> None:
    asked: list[str] = []

    class Polled(Slow):
        async def check_create_complete(self, progress: Any) -> Any:
            asked.append("create")

        def check_delete_complete(self, progress: Any) -> Any:
            asked.append("delete")

    lost = dataclasses.replace(context, lease=ExpiredLease())
    for action in (Action.CREATE, Action.DELETE):
        with pytest.raises(errors.Superseded):
            step(Polled(state(), lost), Task(action, handled=True))
    assert asked == []


class Asked(contract.Resource):
    """Answers each question with the next of its answers."""

    TYPE = "Test::Asked"
    traits = contract.Traits(poll=contract.Poll(first=2.0, factor=3.0, most=10.0, jitter=0.0))
    answers: ClassVar[list[Any]] = []

    async def check_create_complete(self, progress: Any) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def asked(context: Any, task: Any, answer: Any) -> Any:
    Asked.answers = [answer]
    return step(Asked(state(), context), task)


def test_pauses_grow_to_the_longest_and_the_count_is_part_of_the_task(context: Any) -> None:
    task = Task(Action.CREATE)
    answers = [False, contract.Wait(reason="building"), errors.Temporary("busy"), False]
    assert [asked(context, task, answer).seconds for answer in answers] == [2.0, 6.0, 10.0, 10.0]
    resumed = Task(Action.CREATE, handled=True, attempts=1)
    assert asked(context, resumed, False).seconds == 6.0


def test_a_pause_that_is_given_is_obeyed_and_not_counted(context: Any) -> None:
    task = Task(Action.CREATE)
    assert asked(context, task, contract.Wait(42.0)).seconds == 42.0
    assert asked(context, task, errors.Temporary("busy", 33.0)).seconds == 33.0
    assert task.attempts == 0


def test_pauses_vary_within_their_jitter() -> None:
    poll, random_ = contract.Poll(first=10.0, factor=1.0, most=10.0, jitter=0.2), random.Random(1)
    drawn = [poll.pause_s(attempts, random_) for attempts in range(1000)]
    assert 8.0 <= min(drawn) < 8.1 < 11.9 < max(drawn) <= 12.0
