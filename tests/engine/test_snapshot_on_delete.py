"""The deletion policy `snapshot`: the type is told, at each delete of an object, and only with that policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from isotherm.resources import builtin, contract
from isotherm.resources.heat.test_resource import TestResource
from tests.engine.conftest import Lab, Tell


class Copied(TestResource):
    """Notes at each delete whether the object is copied first."""

    TYPE = "Test::Copied"
    traits = contract.Traits(supports_snapshot_delete=True)
    deleted: ClassVar[dict[str, bool]] = {}

    async def handle_delete(self) -> object:
        self.deleted[self.name] = self.snapshot_on_delete
        return await super().handle_delete()


@pytest.fixture(autouse=True)
def _type() -> Iterator[None]:
    Copied.deleted.clear()
    builtin.registry().register(Copied)
    yield
    del builtin.registry().types[Copied.TYPE]


def of(policy: str) -> dict[str, Any]:
    return {"type": Copied.TYPE, "properties": {"value": "x"}, "deletion_policy": policy}


def test_a_type_is_told_to_copy_the_object_before_its_delete(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        assert (await it.create({"a": of("Snapshot"), "b": of("Delete"), "c": of("Snapshot")}))["status"] == "COMPLETE"
        assert (await it.update({"a": of("Snapshot"), "b": of("Delete")}))["status"] == "COMPLETE"
        assert Copied.deleted == {"c": True}
        assert (await it.delete())["status"] == "COMPLETE"
        assert Copied.deleted == {"a": True, "b": False, "c": True}

    lab(story)
