"""Our own types pass the conformance kit, and a type that breaks the contract does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from isotherm.resources import builtin, contract
from isotherm.testing import Example, conformance, kills, kit
from tests.testing.cloud_examples import NEED_A_CLOUD
from tests.testing.examples import EXAMPLES, SERVICE

test_own_types = conformance(*EXAMPLES)


@pytest.fixture(autouse=True, scope="module")
def _service() -> Iterator[None]:
    with SERVICE.running():
        yield


@pytest.fixture(autouse=True)
def _empty_service() -> None:
    SERVICE.objects.clear()


def test_every_type_of_the_registry_has_an_example() -> None:
    tried = {example.type.TYPE for example in EXAMPLES}
    known = set(builtin.registry().types)
    assert known - tried == NEED_A_CLOUD


class Forgetful(contract.Resource):
    """A type that makes an object each time it is asked, and cannot find the one that it made."""

    TYPE = "Test::Forgetful"
    made: ClassVar[list[str]] = []

    async def handle_create(self) -> object:
        self.made.append(self.token)
        self.physical_id = self.token
        return None

    async def handle_delete(self) -> object:
        return None


def test_a_type_that_leaves_its_object_is_found_out(tmp_path: Path) -> None:
    example = Example(Forgetful, {}, objects=lambda folder: list(Forgetful.made))
    with pytest.raises(AssertionError, match="after a delete there should be 0 objects"):
        kit._lives_and_goes(example, tmp_path)


def test_a_type_that_cannot_find_its_object_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="after a kill before call 1 of a create"):
        kills.survives_a_kill_of_a_create(Example(Forgetful, {}), tmp_path)
