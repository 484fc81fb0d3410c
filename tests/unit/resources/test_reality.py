"""The journal of a reality: what is in it happened, whoever wrote it, and whoever was killed while writing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from isotherm.resources.reality import JournalReality


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
