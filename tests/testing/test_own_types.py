"""Our own types pass the conformance kit, and a type that breaks the contract does not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm.resources import contract
from isotherm.resources.heat.dummy import Dummy
from isotherm.resources.heat.none import NoneResource
from isotherm.resources.heat.random_string import RandomString
from isotherm.resources.heat.test_resource import TestResource as StoredText
from isotherm.resources.heat.value import Value
from isotherm.resources.journal import JournalReality
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.testing import Example, conformance, kit


def _in_reality(folder: Path, work: Callable[[JournalReality], Any]) -> Any:
    with contextlib.closing(JournalReality(folder / "reality.journal")) as reality:
        return work(reality)


def _objects(folder: Path) -> list[str]:
    return _in_reality(folder, lambda reality: list(reality.objects)) if (folder / "reality.journal").exists() else []


def _run(work: Coroutine[Any, Any, Any]) -> None:
    assert asyncio.run(work)


def _vanish(folder: Path, physical_id: str) -> None:
    _in_reality(folder, lambda reality: _run(reality.delete(physical_id)))


def _local(folder: Path) -> list[Path]:
    base = folder / "local"
    return [one for one in base.iterdir() if not one.name.startswith(".")] if base.is_dir() else []


test_random_string = conformance(Example(RandomString, {"length": 20}, replacing={"length": 30}))
test_value = conformance(Example(Value, {"value": "hush-hush-4711"}, in_place={"value": "b"}, secret="hush-hush-4711"))
test_none = conformance(Example(NoneResource, {}))
test_dummy = conformance(Example(
    Dummy, {"max_wait_secs": 0}, in_place={"max_wait_secs": 0, "update_in_place_prop": "x"},
    replacing={"max_wait_secs": 0, "name_len": 12}, objects=_objects, vanish=_vanish))
test_test_resource = conformance(Example(
    StoredText, {"value": "a"}, in_place={"value": "b"}, objects=_objects, vanish=_vanish,
    drift=lambda folder, id_: _in_reality(folder, lambda reality: _run(reality.update(id_, {"value": "other"})))))
test_file = conformance(Example(
    File, {"path": "f", "content": "a"}, in_place={"path": "f", "content": "b"}, replacing={"path": "g", "content": "a"},
    objects=lambda folder: [str(one) for one in _local(folder)],
    drift=lambda folder, _: _local(folder)[0].write_text("other"), vanish=lambda folder, _: _local(folder)[0].unlink()))
test_directory = conformance(Example(
    Directory, {"path": "d"}, replacing={"path": "e"}, objects=lambda folder: [str(one) for one in _local(folder)],
    vanish=lambda folder, _: _local(folder)[0].rmdir()))


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
        kit._survives_a_kill_at_each_call(Example(Forgetful, {}), tmp_path)
