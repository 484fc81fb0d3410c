"""Texts are read back unchanged, and different texts stay different; on each database."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.secrets.ring import KeyRing
from isotherm.states import Action, DeletionPolicy, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import bulk
from isotherm.store.database.writer import ThreadedStore
from isotherm.store.operations import accept
from isotherm.store.reads import lookups, stack_list
from isotherm.store.reads.stack_list import Filters, StackQuery
from isotherm.store.records import Acceptance, Event, NewStack, Version
from isotherm.store.signals import signals
from isotherm.store.tables import repairs
from isotherm.store.transitions import versions as version_rows
from tests import databases

TEXTS = [
    "", " ", "a 🔥 b", "it's \"so\" `x` \\ \\n %s %(a)s %% :a ? {b}", "a\r\nb\tc", "ends in spaces  ",
    "\u202eright to left", "e\u0301", "\x01\x1f\x7f\x85\u2028", "\U0010ffff", "\ufeffx", '{"a": ["b"]}', "null", "007",
    "true", "NaN", "\\u0041", "--", "'; DROP TABLE stacks; --", "{\"a\",NULL}", "x" * 70_000,
]
# Two by two, these differ in no more than some databases overlook.
ALIKE = ["a", "A", "a ", "á", "a\u0301", "a\u00ad", "ａ", "ss", "ß", "1", "01", "", " "]
NUL = "a\0b"


def write(store: ThreadedStore, unit: Any) -> Any:
    return asyncio.run(store.write(unit))


def read(store: ThreadedStore, query: Any) -> list[Any]:
    return asyncio.run(store.read(lambda connection: [tuple(row) for row in connection.execute(query)]))


def event(reason: str = "", name: str = "r", **more: Any) -> Event:
    given = {"type": "T", "physical_id": None, **more}
    return Event("stack", "op", name, given["type"], given["physical_id"], Action.CREATE, Status.COMPLETE, reason)


def version(id_: int, **more: Any) -> Version:
    given = {"physical_id": "p", "reason": "", "properties": "{}", **more}
    return Version(id_, "stack", f"r{id_}", "T", "T", "token", given["physical_id"], Action.CREATE, Status.COMPLETE,
                   given["reason"], given["properties"], None, "null", "{}", None, "[]", None, False, DeletionPolicy.DELETE,
                   False, "op", None)


def as_kept(text: str) -> str:
    """PostgreSQL has no NUL."""
    return text.replace("\0", "\ufffd") if databases.ON == "postgresql" else text


def create(store: ThreadedStore, name: str = "s", **more: Any) -> str:
    id_ = str(uuid.uuid4())
    request = Acceptance(id_, 0, str(uuid.uuid4()), Action.CREATE, "", disable_rollback=True, timeout_s=60.0, **more)
    write(store, lambda connection: accept.create(connection, NewStack(id_, "project", name, True), request, 10.0))
    return id_


def test_they_come_back_as_they_were_given(store: ThreadedStore) -> None:
    write(store, lambda c: rows.insert_events(c, [event(text) for text in TEXTS], 1.0))
    assert [row[0] for row in read(store, sa.select(t.events.c.reason).order_by(t.events.c.id))] == TEXTS
    versions = [version(number, reason=text, physical_id=text) for number, text in enumerate(TEXTS)]
    write(store, lambda c: version_rows.create(c, [version(one.id) for one in versions], 1.0))
    write(store, lambda c: version_rows.update(c, versions, 1.0))
    found = read(store, sa.select(t.resources.c.reason, t.resources.c.physical_id).order_by(t.resources.c.id))
    assert found == [(text, text) for text in TEXTS]
    create(store, description="".join(TEXTS))
    assert read(store, sa.select(t.stacks.c.description)) == [("".join(TEXTS),)]


def test_numbers_and_nothing_come_back_too(store: ThreadedStore) -> None:
    times = [0.0, 1e-9, 1763270000.123457, 1.7976931348623157e308]
    insert = bulk.insert(t.retained, "id", "stack_id", "name", "type", "physical_id", "token", "created_at")
    given = [(2**62 + number, "s", "n", "T", None, "t", time) for number, time in enumerate(times)]
    write(store, lambda c: insert(c, given))
    columns = (t.retained.c.id, t.retained.c.physical_id, t.retained.c.created_at)
    assert read(store, sa.select(*columns).order_by(t.retained.c.id)) == [(row[0], None, row[6]) for row in given]


def _rounds_among(name: str, connection: sa.Connection) -> list[Any]:
    found = sa.select(repairs.c.rounds).where(rows.among(repairs.c.name))
    return list(connection.execute(found, rows.ids([name])))


def test_what_others_would_take_for_the_same_is_two(store: ThreadedStore) -> None:
    names = [name for name in ALIKE if name]
    insert = bulk.insert(repairs, "stack_id", "name", "rounds")
    write(store, lambda c: insert(c, [("s", name, number) for number, name in enumerate(names)]))
    for number, name in enumerate(names):
        assert read(store, sa.select(repairs.c.rounds).where(repairs.c.name == name)) == [(number,)]
        assert read(store, sa.select(repairs.c.rounds).where(repairs.c.name.in_([name]))) == [(number,)]
        among = asyncio.run(store.read(partial(_rounds_among, name)))
        assert among == [(number,)]
    assert [row[0] for row in read(store, sa.select(repairs.c.name).order_by(repairs.c.name))] == sorted(names)


def test_tags_that_are_alike_are_two(store: ThreadedStore) -> None:
    tags = '["a","A","a ","á"]'
    create(store, tags=tags)
    for tag in ("a", "A", "a ", "á"):
        wish = StackQuery(Filters(tags=[tag]))
        assert asyncio.run(store.read(partial(stack_list.count, project=None, query=wish))) == 1
    assert (
        asyncio.run(store.read(lambda c: stack_list.count(c, None, StackQuery(Filters(tags=["a  "]))))) == 0
    )


def test_a_tag_that_is_too_long_is_told(store: ThreadedStore) -> None:
    with pytest.raises(errors.UserError, match="80"):
        create(store, tags=f'["{"x" * 81}"]')


def test_nul_fails_nothing(store: ThreadedStore) -> None:
    """In a reason, an output, a requested name: it is kept, or shown as the replacement character."""
    one = event(NUL, name=NUL, type=NUL, physical_id=NUL)
    write(store, lambda c: rows.insert_events(c, [event("before"), one], 1.0))
    event_ = t.events.c
    assert read(store, sa.select(event_.reason, event_.name, event_.type, event_.physical_id).order_by(event_.id))[1] == (
        (as_kept(NUL),) * 4)
    write(store, lambda c: version_rows.create(c, [version(1)], 1.0))
    write(store, lambda c: version_rows.update(c, [version(1, reason=NUL, physical_id=NUL)], 1.0))
    assert read(store, sa.select(t.resources.c.reason)) == [(as_kept(NUL),)]
    create(store, description=NUL, tags='["a\\u0000b"]', reason=NUL)
    assert read(store, sa.select(t.stacks.c.description, t.stacks.c.reason)) == [(as_kept(NUL), as_kept(NUL))]
    assert (
        asyncio.run(store.read(lambda c: stack_list.page(c, "project", StackQuery(Filters(name=[NUL])))))
        == []
    )
    with pytest.raises(errors.NotFound):
        asyncio.run(store.read(lambda c: signals.addressee(c, "stack", NUL)))


def test_nul_takes_nothing_else_with_it(store: ThreadedStore) -> None:
    """It fails no other unit of its group, and nothing that its own unit has done before."""
    def unit(connection: Any) -> None:
        rows.insert_events(connection, [event("first")], 1.0)
        rows.insert_events(connection, [event(NUL)], 1.0)

    async def both() -> None:
        await asyncio.gather(store.write(unit), store.write(lambda c: rows.insert_events(c, [event("other")], 1.0)))

    asyncio.run(both())
    assert sorted(row[0] for row in read(store, sa.select(t.events.c.reason))) == sorted(["first", as_kept(NUL), "other"])


def test_a_physical_id_may_be_a_whole_path(store: ThreadedStore) -> None:
    path = "/".join(["folder" * 20] * 40)
    write(store, lambda c: version_rows.create(c, [version(1, physical_id=path)], 1.0))
    write(store, lambda c: rows.insert_events(c, [event(type="https://example.org/" + path, physical_id=path)], 1.0))
    assert read(store, sa.select(t.resources.c.physical_id)) == [(path,)]
    assert read(store, sa.select(t.events.c.physical_id).where(t.events.c.type.like("https:%"))) == [(path,)]


def test_many_long_texts_fit_into_one_batch(store: ThreadedStore) -> None:
    """More than one packet of MariaDB holds."""
    text = '"value"' * 6000
    write(store, lambda c: version_rows.create(c, [version(number) for number in range(400)], 1.0))
    write(store, lambda c: version_rows.update(c, [version(number, properties=text) for number in range(400)], 1.0))
    found = read(store, sa.select(sa.func.count()).select_from(t.resources).where(t.resources.c.properties == text))
    assert found == [(400,)]


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Any]:
    store = ThreadedStore.open(databases.url_of(tmp_path), lambda: KeyRing(["k" * 32]))
    yield store
    store.close()


def test_a_template_of_many_megabytes(sealed: Any) -> None:
    text = "x" * (9 << 20)
    create(sealed, blobs={"hash": text})
    assert asyncio.run(sealed.read(lambda c: lookups.blobs(c, ["hash"]))) == {"hash": text}


def test_what_is_too_much_for_the_database_is_said_so(sealed: Any) -> None:
    """Of MariaDB it is a setting how much it takes at once; nothing of the request is left."""
    asked: dict[str, Any] = {"blobs": {"hash": "x" * (16 << 20)}}
    if databases.ON != "mariadb":
        create(sealed, **asked)
        return
    with pytest.raises(errors.UserError, match=r"too large for the database: .*16,777,216 \(max_allowed") as caught:
        create(sealed, **asked)
    assert caught.value.kind == "RequestLimitExceeded"
    assert read(sealed, sa.select(t.stacks.c.id)) == []
    create(sealed)


def test_a_row_that_is_named_twice_gets_what_came_last(store: ThreadedStore) -> None:
    write(store, lambda c: version_rows.create(c, [version(number) for number in range(3)], 1.0))
    write(store, lambda c: version_rows.update(
        c, [version(1, reason="first"), version(2, reason="other"), version(1, reason="last")], 1.0))
    assert read(store, sa.select(t.resources.c.reason).order_by(t.resources.c.id)) == [("",), ("last",), ("other",)]


def test_counting_up_twice_counts_two(store: ThreadedStore) -> None:
    up = bulk.Bulk(sa.update(t.resources).where(t.resources.c.id == sa.bindparam("v_id"))
                   .values(signals=t.resources.c.signals + sa.bindparam("v_more")), "v_more", "v_id")
    write(store, lambda c: version_rows.create(c, [version(1), version(2)], 1.0))
    write(store, lambda c: up(c, [(1, 1), (10, 2), (2, 1), (4, 1)]))
    assert read(store, sa.select(t.resources.c.signals).order_by(t.resources.c.id)) == [(7,), (10,)]
