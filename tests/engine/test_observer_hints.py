"""Notifications of a cloud cause an observation of the object that they name, and of no other."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from isotherm.engine.process.embedded import Embedded
from isotherm.store.watch import reality_hints
from tests.engine.conftest import Lab, Tell
from tests.engine.local_stage import file
from tests.engine.test_observer import SELDOM, becomes, observed, options, seen

pytestmark = [pytest.mark.ledger("S1.5"), pytest.mark.usefixtures("base")]


@pytest.mark.parametrize("form", ["id", "name", "project", "resource", "object", "object of a stack", "foreign"])
def test_what_is_hinted_at_is_looked_at(lab: Tell, tmp_path: Path, form: Any) -> None:
    options(tmp_path, **SELDOM)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"a": file("a"), "b": file("b")})
        id_ = (await it.api.stacks.show("s"))["id"]
        object_ = (await it.physical())["a"]
        what: dict[str, Any] = {
            "id": {"stack": id_}, "name": {"stack": "s"}, "project": {"stack": "s", "project": "default"},
            "resource": {"stack": "s", "resource": "a"}, "object": {"physical_id": object_},
            "object of a stack": {"stack": "s", "physical_id": object_},
            "foreign": {"event_type": "file.delete.end", "payload": {"file": {"id": object_}}},
        }[form]
        async with observed(it):
            await becomes(it, "a", "in_sync")
            await becomes(it, "b", "in_sync")
            (base / "a").unlink()
            (base / "b").unlink()
            it.engine.hints.take(what)
            await becomes(it, "a", "gone")
            whole = form in ("id", "name", "project")
            if whole:
                await becomes(it, "b", "gone")
            else:
                (base / "a").write_text("hello")
                it.engine.hints.take(what)
                await becomes(it, "a", "in_sync")
                assert await seen(it, "b") == "in_sync", "nobody spoke of it"

    lab(story)


def test_what_is_about_nothing_of_ours_changes_nothing(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **SELDOM)
    path: Path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(), "other": file("b")})
        async with observed(it):
            await becomes(it, "config", "in_sync")
            await becomes(it, "other", "in_sync")
            path.unlink()
            path.with_name("b").unlink()
            for what in ({"stack": "nobody"}, {"physical_id": "nothing"}, {"stack": "s", "project": "another"}, {"x": [1]},
                         {"stack": {"s": 1}}):
                it.engine.hints.take(what)
            it.engine.hints.take({"stack": "s", "resource": "other"})
            await becomes(it, "other", "gone")
            assert await seen(it, "config") == "in_sync"
            it.engine.hints.take({"stack": "s", "resources": ["nobody", "config"]})
            await becomes(it, "config", "gone")

    lab(story)


def test_many_hints_are_written_together(lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    options(tmp_path, **SELDOM)
    written: list[int] = []
    take = reality_hints.take

    def counted(connection: Any, hints: Any, now: Any) -> Any:
        written.append(len(hints))
        return take(connection, hints, now)

    monkeypatch.setattr(reality_hints, "take", counted)

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        for number in range(20_000):
            it.engine.hints.take({"stack": "s", "resource": f"r{number % 7}"})
            it.engine.hints.take({"physical_id": f"o{number}"})
        await it.engine.hints.close()

    lab(story)
    assert 0 < len(written) < 10, "a few, should the database want it tried again"
    assert written[0] > 1000


def test_what_comes_last_is_written_before_the_end(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **SELDOM)

    async def seen_before(it: Lab) -> None:
        await it.create({"config": file()})
        async with observed(it):
            await becomes(it, "config", "in_sync")

    async def hinted(engine: Embedded) -> None:
        async with engine.on_bus():
            engine.hints.take({"stack": "s", "resource": "config"})

    async def seen_after(it: Lab) -> None:
        async with observed(it):
            await becomes(it, "config", "gone")

    lab(seen_before)
    (tmp_path / "local" / "a.txt").unlink()
    with contextlib.closing(Embedded(tmp_path)) as engine:
        asyncio.run(hinted(engine))
    lab(seen_after)
