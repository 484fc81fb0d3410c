"""A result that cannot be stored fails alone: the others of its transaction are stored."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.states import NodeState
from isotherm.store.operations import settle
from isotherm.store.queue import claim as claiming
from tests.engine.conftest import Lab, Tell, resource


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database that does not take what comes of a resource `bad`. (An injected fault: we know of no value like that.)"""

    def refuse(module: Any, name: str, is_refused: Any) -> None:
        original = getattr(module, name)

        def unit(connection: Any, some: list[Any], *rest: Any) -> Any:
            # After the others: what they wrote in the same transaction has to be undone.
            answer = original(connection, some, *rest)
            if any(is_refused(one) for one in some):
                raise TypeError("type 'set' is not supported")
            return answer

        monkeypatch.setattr(module, name, unit)

    return refuse


def is_beginning(one: Any) -> bool:
    return bool(one.claim.name == "bad")


def is_outcome(one: Any) -> bool:
    return bool(one.claim.name == "bad" and one.state is NodeState.DONE)


def is_anything(one: Any) -> bool:
    return bool(one.claim.name == "bad")


@pytest.mark.parametrize(("module", "name", "is_refused", "is_told"), [
    (claiming, "begin", is_beginning, True), (settle, "reports", is_outcome, True), (settle, "reports", is_anything, False),
])
def test_the_others_go_on(
    lab: Tell, refusing: Any, caplog: pytest.LogCaptureFixture, module: Any, name: Any, is_refused: Any, is_told: Any
) -> None:
    async def story(it: Lab) -> None:
        refusing(module, name, is_refused)
        many = {f"a{number}": resource(needs=[f"a{number - 1}"] if number else None) for number in range(5)}
        bad = await it.api.stacks.create("s1", it.request({"bad": resource(), **many}))
        good = [await it.api.stacks.create(f"t{number}", it.request(many)) for number in range(3)]
        for one in good:
            assert (await it.end(one))["stack_status"] == "CREATE_COMPLETE"
        if is_told:
            stack = await it.end(bad)
            assert stack["stack_status"] == "CREATE_FAILED"
            assert "cannot be stored: TypeError: type 'set' is not supported" in stack["stack_status_reason"]
        else:
            assert (await it.api.stacks.show("s1"))["status"] == "IN_PROGRESS"
        assert "starting over" not in caplog.text

    lab(story)
