"""Stacks whose resources fail at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import ClassVar

import pytest

from isotherm import errors
from isotherm.resources import builtin
from isotherm.resources.heat.test_resource import TestResource
from tests.engine.conftest import Lab, Tell

STACKS = ("one", "two")


class Together(TestResource):
    """Fails when as many creations are in progress as there are stacks."""

    TYPE = "Test::Together"
    all_are_here: ClassVar[asyncio.Barrier]

    async def handle_create(self) -> object:
        await self.all_are_here.wait()
        raise errors.Permanent("no")


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    builtin.registry().register(Together)
    yield
    del builtin.registry().types[Together.TYPE]


def test_each_stack_rolls_back(lab: Tell, caplog: pytest.LogCaptureFixture) -> None:
    """Their rollbacks begin in one transaction of the worker."""

    async def story(it: Lab) -> None:
        Together.all_are_here = asyncio.Barrier(len(STACKS))
        accepted = [await it.api.stacks.create(name, it.request({"r": {"type": Together.TYPE}}, disable_rollback=False))
                    for name in STACKS]
        ended = [await it.end(one) for one in accepted]
        assert [stack["stack_status"] for stack in ended] == ["ROLLBACK_COMPLETE"] * len(STACKS)
        assert "cannot be written" not in caplog.text

    lab(story)
