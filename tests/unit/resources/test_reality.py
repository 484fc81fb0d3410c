"""The journal of reality: every complete line counts, from any process, also after a kill while writing."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from isotherm import errors
from isotherm.resources.reality.journal import JournalReality, MemoryReality


def test_a_line_that_was_torn_by_a_kill_never_happened_and_spoils_nothing(tmp_path: Path) -> None:
    journal = tmp_path / "reality.journal"
    first = JournalReality(journal)
    asyncio.run(first.create("T", "token-1", {}, "one"))
    with journal.open("ab") as torn:
        torn.write(b'{"id":"two","kind":"T","tok')
    asyncio.run(first.create("T", "token-3", {}, "three"))
    second = JournalReality(journal)
    assert set(second.objects) == set(first.objects) == {"one", "three"}
    assert asyncio.run(second.find("token-3")) == "three"
    for reality in (first, second):
        reality.close()


def test_each_process_sees_what_the_other_did(tmp_path: Path) -> None:
    one, other = JournalReality(tmp_path / "journal"), JournalReality(tmp_path / "journal")
    asyncio.run(one.create("T", "token", {"a": 1}, "x"))
    assert asyncio.run(other.get("x")) == {"a": 1}
    assert asyncio.run(other.delete("x"))
    assert asyncio.run(one.get("x")) is None
    one.close()
    other.close()


def test_the_last_word_on_an_object_counts(tmp_path: Path) -> None:
    """However long it is; and once it is gone, its token means nothing any more."""
    one, other = JournalReality(tmp_path / "journal"), JournalReality(tmp_path / "journal")
    long = {"a": "x" * 5000}
    asyncio.run(one.create("T", "token", {"a": 1}, "x"))
    assert asyncio.run(other.update("x", long))
    for reality in (one, other):
        assert asyncio.run(reality.get("x")) == long
        assert asyncio.run(reality.find("token")) == "x"
        with pytest.raises(errors.Permanent, match="exists"):
            asyncio.run(reality.create("T", "token", {}, "y"))
    assert asyncio.run(one.delete("x"))
    for reality in (one, other):
        assert asyncio.run(reality.find("token")) is None
        assert not asyncio.run(reality.update("x", {})) and not asyncio.run(reality.delete("x"))
        assert reality.objects == {}
        reality.close()


def test_a_journal_that_was_cut_is_said_so(tmp_path: Path) -> None:
    reality = JournalReality(tmp_path / "journal")
    asyncio.run(reality.create("T", "token", {}, "x"))
    os.truncate(tmp_path / "journal", 0)
    with pytest.raises(errors.Permanent, match="cut short"):
        asyncio.run(reality.get("x"))
    with pytest.raises(errors.Permanent, match="cut short"):
        asyncio.run(reality.create("T", "other", {}, "y"))
    assert (tmp_path / "journal").stat().st_size == 0, "what would be forgotten is not made"
    reality.close()


@pytest.mark.parametrize("seed", range(5))
def test_processes_that_take_turns_see_what_one_would_see(tmp_path: Path, seed: int) -> None:
    chance, expected = random.Random(seed), MemoryReality()
    writers = [JournalReality(tmp_path / "journal") for _ in range(3)]
    for number in range(120):
        writer, name = chance.choice(writers), f"object-{chance.randrange(6)}"
        if asyncio.run(expected.get(name)) is None:
            for one in (writer, expected):
                asyncio.run(one.create("T", f"token-{number}", {"n": number}, name))
        elif chance.random() < 0.5:
            for one in (writer, expected):
                assert asyncio.run(one.update(name, {"n": number}))
        else:
            for one in (writer, expected):
                assert asyncio.run(one.delete(name))
        reader = chance.choice(writers)
        assert asyncio.run(reader.get(name)) == asyncio.run(expected.get(name))
    for writer in writers:
        assert writer.objects == expected.objects
        writer.close()
