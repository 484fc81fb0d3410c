"""The parts of the fault test can tell right from wrong: its book, its cloud, its proxy, and what it compares."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.torture import book, idle, members, proxy, shapes
from tools.torture.book import Book, Operation
from tools.torture.cloud import Store
from tools.torture.reality import Thing
from tools.torture.shapes import Part

SHAPE = {"a": Part("plain", 1), "g": Part("group", 2, ("a",), 2), "p": Part("pair", 3, ("g",)),
         "t": Part("test", 4, ("a", "p"))}


def asked(kept: Book, kind: str, began: float, ended: float, outcome: str = book.ACCEPTED) -> Operation:
    shape: dict[str, Any] | None = {} if kind in (book.CREATE, book.UPDATE) else None
    made = kept.ask("s00", kind, began, shape)
    made.ended, made.outcome = ended, outcome
    return made


def test_requests_that_may_be_the_newest() -> None:
    kept = Book()
    first = asked(kept, book.CREATE, 0, 1)
    assert list(kept.newest("s00")) == [first]
    second, third = asked(kept, book.UPDATE, 2, 4), asked(kept, book.UPDATE, 3, 5)
    assert list(kept.newest("s00")) == [second, third], "they overlapped: who came first is not known"
    assert list(kept.newest("s00", by=2.5)) == [first, second], "it may not have been accepted yet"
    asked(kept, book.UPDATE, 6, 7, book.REFUSED)
    lost = asked(kept, book.UPDATE, 6, float("inf"), book.UNKNOWN)
    assert list(kept.newest("s00")) == [second, third, lost]
    last = asked(kept, book.DELETE, 8, 9)
    assert list(kept.newest("s00")) == [lost, last], "nobody knows when it arrived"
    assert kept.refused() == {"e4"}
    assert not kept.may_never_have_been("s00") and kept.may_never_have_been("s01")


def things() -> list[Thing]:
    return [Thing("o1", "t1", "s", "a", 1, (), ()), Thing("o2", "t2", "s", "g/0", 2, ("o1",), ()),
            Thing("o3", "t3", "s", "g/1", 2, ("o1",), ()), Thing("o4", "t4", "s", "p/one", 3, (), ("o2", "o3")),
            Thing("o5", "t5", "s", "p/two", 3, ("o4",), ())]


def test_what_is_as_it_should_be_is_not_complained_of() -> None:
    assert list(idle.compare(shapes.expected(SHAPE), things())) == []
    assert list(shapes.tests(SHAPE)) == [("t", 4, ["a", "p/two"])]


@pytest.mark.parametrize(("change", "told"), [
    (lambda all_: all_.pop(0), "a is missing"),
    (lambda all_: all_.append(Thing("o9", "t9", "s", "a", 1, (), ())), "a is there 2 times"),
    (lambda all_: all_.append(Thing("o9", "t9", "s", "z", 1, (), ())), "z is there"),
    (lambda all_: all_.__setitem__(0, Thing("o1", "t1", "s", "a", 7, (), ())), "a (o1) is 7"),
    (lambda all_: all_.__setitem__(1, Thing("o2", "t2", "s", "g/0", 2, ("o0",), ())), "g/0 (o2) is 2 ['o0?']"),
    (lambda all_: all_.__setitem__(3, Thing("o4", "t4", "s", "p/one", 3, (), ("o2",))), "p/one (o4) is 3"),
])
def test_what_differs_is_told(change: Any, told: str) -> None:
    found = things()
    change(found)
    assert any(told in one for one in idle.compare(shapes.expected(SHAPE), found))


def test_shapes_need_only_what_is_there() -> None:
    dice = random.Random(1)
    shape = shapes.draw(dice)
    for _ in range(1000):
        shape = shapes.change(dice, shape)
        names = list(shape)
        for place, part in enumerate(shape.values()):
            assert set(part.needs) <= set(names[:place])
        json.dumps(shapes.render(shape, "s", "http://x"))


def test_the_cloud_refuses_what_clouds_refuse(tmp_path: Path) -> None:
    with contextlib.closing(Store(tmp_path / "cloud.db", random.Random(1))) as store:
        store.calm = True
        ask_for_what_is_refused(store)


def ask_for_what_is_refused(store: Store) -> None:

    def call(method: str, path: str, token: str = "", **body: object) -> tuple[int, object, str]:
        answer, _ = store.call(method, path, token, json.dumps({"stack": "s", **body}) if body else "")
        return answer.status, answer.body, answer.wrong

    assert call("POST", "/objects", "t1", uses=[]) == (201, {"id": "o1"}, "")
    assert call("POST", "/objects", "t1", uses=[]) == (200, {"id": "o1"}, ""), "nothing is made twice"
    assert call("GET", "/objects?token=t1") == (200, [{"id": "o1"}], "")
    assert call("POST", "/objects", "t2", uses=["o1"])[0] == 201
    assert call("DELETE", "/objects/o1")[::2] == (409, "deleted while o2 uses it")
    assert call("POST", "/objects", "t3", uses=["o7"])[::2] == (409, "made to use o7, which is not there")
    assert call("DELETE", "/objects/o2")[0] == 204
    assert call("DELETE", "/objects/o1")[0] == 204
    assert call("DELETE", "/objects/o1")[0] == 404
    assert call("POST", "/objects", "t1", uses=[])[0] == 410, "a request that comes late makes nothing"


@pytest.mark.parametrize(("said", "ready"), [
    ('{"folder": "/x"}', True), ('{"problems": [{"message": "the database does not answer"}]}', False), ("[]", False)])
def test_a_daemon_that_reports_a_problem_is_not_ready(said: str, ready: bool) -> None:
    async def story() -> bool:
        program = f"import json; print(json.dumps({said}, indent=2))"
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        try:
            return await members.first_word(process)
        finally:
            await process.communicate()

    assert asyncio.run(story()) is ready


def test_a_way_can_be_cut_and_mended() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience_s: float = 240.0) -> bytes:
        writer.write(b"x")
        async with asyncio.timeout(patience_s):
            return await reader.read(1)

    async def story() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        way = proxy.Proxy(lambda: port)
        await way.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        assert await say(reader, writer) == b"x"
        await way.cut(proxy.FREEZE)
        with pytest.raises(TimeoutError):
            await say(reader, writer, 0.3)
        await way.mend()
        assert await reader.read(1) == b"x", "what was on its way arrives"
        await way.cut(proxy.RESET)
        with pytest.raises(ConnectionResetError):
            await say(reader, writer)
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        assert await say(reader, writer) == b"x"
        await way.cut(proxy.REFUSE)
        with pytest.raises(ConnectionResetError):
            await say(reader, writer)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", way.port)
        await way.mend()
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        assert await say(reader, writer) == b"x"
        await way.stop()
        server.close()

    asyncio.run(story())
