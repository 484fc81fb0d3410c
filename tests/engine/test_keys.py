"""Keys that are rotated, lost, and of no use elsewhere; hashes that cannot be guessed; passwords that are generated."""

from __future__ import annotations

import asyncio
import collections
import math
import random
import string
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.process import key_file
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import builtin
from isotherm.store import tables as t
from tests import databases
from tests.engine.conftest import Lab, resource
from tests.engine.markers import HIDDEN, MARKER, NESTED, OLDER, SECRET, WORDS, Login

Tell = Callable[[Callable[[Lab], Coroutine[Any, Any, None]]], None]
SHORT = "k7q"


@pytest.fixture(autouse=True)
def _types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin.registry().types, Login.TYPE, Login)


def test_no_digest_or_address_can_be_guessed(tmp_path: Path) -> None:
    """A short password and a known template: no hash in the tables can be computed from them without the key."""

    async def hashes(folder: Path) -> set[str]:
        engine = Embedded(folder)
        try:
            async with engine.driving():
                it = Lab(engine)
                await it.end(await it.api.stacks.create("s", it.request(
                    {"a": resource(SECRET)}, parameters=HIDDEN, environment={"parameters": {"pw": SHORT}})))
        finally:
            engine.close()
        with databases.looking(folder) as connection:
            found = {row[0] for row in connection.exec_driver_sql(
                "SELECT hash FROM blobs UNION SELECT digest FROM nodes UNION SELECT digest FROM resources UNION "
                "SELECT input FROM operations UNION SELECT hash FROM uses")}
        return found - {None, ""}

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (asyncio.run(hashes(tmp_path / name)) for name in ("one", "two"))
    assert len(one) == len(two) == 3
    assert not one & two


@asynccontextmanager
async def engine_on(folder: Path) -> AsyncIterator[Lab]:
    engine = Embedded(folder)
    try:
        async with engine.driving():
            yield Lab(engine)
    finally:
        engine.close()


def tree() -> dict[str, Any]:
    return {"a": resource(SECRET), "b": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["a", "output"]}}},
            "n": {"type": "nested.yaml", "properties": {"plain": SECRET}},
            "r": {"type": "OS::Heat::RandomString"}}


OPTIONS: dict[str, Any] = {"parameters": HIDDEN, "environment": WORDS, "files": {"nested.yaml": NESTED}}


def test_keys_can_be_rotated(tmp_path: Path) -> None:
    """Case 45: old rows by the old key, new ones by the new; nothing is done to resources because of it."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create(tree(), **OPTIONS)
        keys = tmp_path / "keys"
        keys.write_text(f"{'0123456789abcdef' * 4}\n{keys.read_text()}")
        async with engine_on(tmp_path) as it:
            request = it.request(tree(), **OPTIONS)
            assert set((await it.api.preview.changes("s", request)).counts) == {"no change"}
            before = len(await it.api.events.list("s"))
            await it.end(await it.api.stacks.update("s", request))
            assert len(await it.api.events.list("s")) == before + 2
            changed = {**tree(), "a": resource({"list_join": ["", [SECRET, "!"]]})}
            assert (await it.update(changed, **OPTIONS))["stack_status"] == "UPDATE_COMPLETE"
            assert MARKER + "!" in it.values()
            assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
            assert it.objects() == {}

    asyncio.run(story())


def lose(folder: Path) -> None:
    """Delete the keys, and begin with a new one."""
    (folder / "keys").unlink()
    with pytest.raises(errors.UserError) as raised:
        Embedded(folder)
    assert raised.value.kind == "InvalidEncryptionKey"
    assert str(folder / "keys") in raised.value.problems[0].hint
    assert not (folder / "keys").exists()
    key_file.make(folder / "keys")


def test_no_key_is_made_where_something_is_sealed(tmp_path: Path) -> None:
    async def story() -> None:
        Embedded(tmp_path).close()
        Embedded(tmp_path).close()  # nothing was sealed, and no key was needed
        assert not (tmp_path / "keys").exists()
        async with engine_on(tmp_path) as it:
            await it.create(tree(), **OPTIONS)
        keys = (tmp_path / "keys").read_text()
        lose(tmp_path)
        (tmp_path / "keys").unlink()
        (tmp_path / "isotherm.conf").write_text(f"[DEFAULT]\nauth_encryption_key = {keys.split()[-1]}\n")
        async with engine_on(tmp_path) as it:
            assert (await it.api.exports.export("s", hidden=True))["environment"]["parameters"] == {"pw": MARKER}

    asyncio.run(story())


def test_a_lost_key_says_so_and_the_stack_can_be_deleted(tmp_path: Path) -> None:
    """Case 45: reading gives a clear error, an update fails, deleting works; other stacks are not affected."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create(tree(), **OPTIONS)
        lose(tmp_path)
        async with engine_on(tmp_path) as it:
            assert (await it.api.stacks.show("s"))["stack_status"] == "CREATE_COMPLETE"
            assert {one["resource_name"] for one in await it.api.resources.list("s")} == {"a", "b", "n", "r"}
            for read in (it.api.outputs.list, it.api.exports.export, it.api.inputs.parameters):
                with pytest.raises(errors.Unreadable, match="key"):
                    await read("s")
            failed = await it.update({**tree(), "a": resource("another")}, **OPTIONS)
            assert failed["stack_status"] == "UPDATE_FAILED"
            others = await it.end(await it.api.stacks.create("t", it.request(tree(), **OPTIONS)))
            assert others["stack_status"] == "CREATE_COMPLETE"
            gone = await it.delete()
            assert gone["stack_status"] == "DELETE_COMPLETE", gone["stack_status_reason"]
            assert (await it.end(await it.api.stacks.delete("t")))["stack_status"] == "DELETE_COMPLETE"
            assert it.objects() == {}

    asyncio.run(story())


def test_what_could_not_be_read_is_not_overwritten(tmp_path: Path) -> None:
    """The key may come back: until then, every sealed text stays what it was."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create({"a": resource(SECRET)}, **OPTIONS)
        keys = (tmp_path / "keys").read_text()
        lose(tmp_path)
        async with engine_on(tmp_path) as it:
            await it.end(await it.api.stacks.check("s"))
        (tmp_path / "keys").write_text(keys)
        async with engine_on(tmp_path) as it:
            await it.end(await it.api.stacks.check("s"))
            found = await it.api.resources.show("s", "a")
            assert found["attributes"]["output"] == "******"
            assert it.values() == [MARKER]

    asyncio.run(story())


@pytest.mark.parametrize("table", ["resources", "blobs"])
def test_what_was_swapped_is_not_authentic(tmp_path: Path, table: str) -> None:
    """Case 47: a text of one stack in the place of another's."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            for name, word in (("s", MARKER), ("t", OLDER)):
                request = it.request({"a": {"type": "OS::Heat::Value", "properties": {"value": SECRET}}}, parameters=HIDDEN,
                                     environment={"parameters": {"pw": word}})
                await it.end(await it.api.stacks.create(name, request))
            ids = {one["stack_name"]: one["id"] for one in await it.api.stacks.list()}
        place = t.resources.c.properties if table == "resources" else t.operations.c.input
        stack_id = place.table.c.stack_id
        with databases.looking(tmp_path) as connection:
            other = connection.execute(sa.select(place).where(stack_id == ids["s"])).scalar_one()
            connection.execute(sa.update(place.table).where(stack_id == ids["t"]).values({place: other}))
        async with engine_on(tmp_path) as it:
            with pytest.raises(errors.Unreadable):
                if table == "resources":
                    await it.api.resources.show("t", "a")
                else:
                    await it.api.exports.export("t", hidden=True)
            assert (await it.api.exports.export("s", hidden=True))["environment"]["parameters"] == {"pw": MARKER}

    asyncio.run(story())


# Generated passwords.


def entropy(texts: Iterator[str]) -> float:
    counts = collections.Counter(character for text in texts for character in text)
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values())


def test_generated_passwords(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 50: as long as asked for, from the alphabet asked for, and from the operating system's own source."""

    async def story(it: Lab) -> None:
        def one(**properties: Any) -> dict[str, Any]:
            return {"type": "OS::Heat::RandomString", "properties": properties}

        resources = {f"r{i}": one(length=64) for i in range(40)}
        resources |= {f"d{i}": one(length=200, character_classes=[{"class": "digits", "min": 1}]) for i in range(3)}
        resources["m"] = one(length=12, character_classes=[{"class": "lowercase", "min": 5}, {"class": "digits", "min": 5}])
        outputs = {name: {"value": {"get_attr": [name, "value"]}} for name in resources}
        await it.create(resources, outputs=outputs)
        made = {view["output_key"]: view["output_value"] for view in await it.api.outputs.list("s")}
        letters = [text for name, text in made.items() if name.startswith("r")]
        assert {len(text) for text in letters} == {64}
        assert len(set(letters)) == 40
        assert set("".join(letters)) <= set(string.ascii_letters + string.digits)
        assert entropy(iter(letters)) > 5.85  # of 5.954 for 62 characters
        assert all(set(made[f"d{i}"]) <= set(string.digits) and len(made[f"d{i}"]) == 200 for i in range(3))
        assert sum(c.isdigit() for c in made["m"]) >= 5
        assert sum(c.islower() for c in made["m"]) >= 5
        # Each character is drawn from the operating system's source, and from no other.
        assert len(drawn) >= sum(len(text) for text in made.values())

    drawn: list[bytes] = []
    source = random._urandom  # type: ignore[attr-defined]

    def watched(count: int) -> bytes:
        drawn.append(source(count))
        return drawn[-1]

    monkeypatch.setattr(random, "_urandom", watched)
    lab(story)
