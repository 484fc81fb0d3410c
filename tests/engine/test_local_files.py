"""Files and folders of this machine, through the whole engine."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import local_access
from isotherm.resources.local import claims, confinement
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from tests.engine.conftest import Lab, Tell
from tests.engine.local_stage import Stage, file, folder
from tests.engine.test_export import abandoned

MIB = 1024 * 1024


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"




def test_a_file_is_made_changed_and_deleted(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file()}, outputs={
            name: {"value": {"get_attr": ["f", name]}} for name in ("path", "size", "sha256")})
        assert stack["status"] == "COMPLETE", stack
        assert (base / "a.txt").read_text() == "hello"
        assert mode(base / "a.txt") == "0644"
        assert await it.physical() == {"f": "a.txt"}
        before = (base / "a.txt").stat().st_ino
        await it.update({"f": file(content="bye", mode="0600")})
        assert (base / "a.txt").read_text() == "bye"
        assert mode(base / "a.txt") == "0600"
        assert (base / "a.txt").stat().st_ino != before  # written beside it, and put in its place
        await it.delete()
        assert [one.name for one in base.iterdir()] == [".isotherm"]
        assert not list(base.glob(".isotherm/*/*"))

    lab(story)


def test_attributes_tell_what_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hällo")
        await stage.run("create")
        one = stage.resource()
        assert await one.attribute("path") == str(tmp_path / "a.txt")
        assert await one.attribute("size") == 6
        (tmp_path / "a.txt").write_bytes(b"x")
        assert await one.attribute("sha256") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

    asyncio.run(story())


def test_a_big_file_is_read_in_pieces_and_a_huge_one_not_at_all(tmp_path: Path) -> Any:
    """Both are sparse: they take no space, and would take all memory."""
    def peak(size: int) -> tuple[int, object, object, contract.LiveState]:
        os.truncate(tmp_path / "a.txt", size)
        tracemalloc.start()
        try:
            found = asyncio.run(look())
            return tracemalloc.get_traced_memory()[1], *found
        finally:
            tracemalloc.stop()

    async def look() -> tuple[object, object, contract.LiveState]:
        one = stage.resource()
        return await one.attribute("size"), await one.attribute("sha256"), await stage.seen()

    stage = Stage(tmp_path, File, path="a.txt", content="hello")
    asyncio.run(stage.run("create"))
    for size in (64 * MIB, 64 * MIB + 1):
        used, told, sha256, seen = peak(size)
        assert used < 8 * MIB
        assert (told, sha256) == (size, hashlib.sha256(b"hello" + bytes(size - 5)).hexdigest())
        assert isinstance(seen, contract.Seen) and seen.properties["content"] == f"sha256:{sha256} ({size} bytes)"
    used, told, sha256, seen = peak(3 * 1024 * MIB)
    assert used < 8 * MIB
    assert (told, sha256) == (3 * 1024 * MIB, None)
    assert isinstance(seen, contract.Seen) and "sha256" not in seen.properties["content"]


def test_another_path_is_another_file(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"f": file("a.txt")})
        await it.update({"f": file("b.txt")})
        assert not (base / "a.txt").exists()
        assert (base / "b.txt").read_text() == "hello"

    lab(story)


def test_a_folder_and_a_file_in_it(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"d": folder("d", mode="0750"), "f": file("d/a.txt", needs="d")})
        assert stack["status"] == "COMPLETE", stack
        assert mode(base / "d") == "0750"
        await it.update({"d": folder("d", mode="0700"), "f": file("d/a.txt", needs="d")})
        assert mode(base / "d") == "0700"
        await it.delete()
        assert not (base / "d").exists()

    lab(story)


def test_a_folder_with_something_else_in_it_is_only_deleted_when_told_to(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": folder()})
        (base / "d" / "of-somebody-else").write_text("x")
        stack = await it.delete()
        assert stack["status"] == "FAILED"
        assert "d is not empty: of-somebody-else" in stack["stack_status_reason"]
        await it.update({"d": folder(purge=True)})
        await it.delete()
        assert not (base / "d").exists()

    lab(story)


def test_a_foreign_file_is_not_overwritten_and_not_deleted(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        (base / "a.txt").write_text("mine")
        stack = await it.create({"f": file()})
        assert stack["status"] == "FAILED"
        assert "a.txt exists already" in stack["stack_status_reason"]
        await it.delete()
        assert (base / "a.txt").read_text() == "mine"

    lab(story)


def test_two_resources_do_not_share_a_file(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file(), "g": file(content="other", needs="f")})
        assert stack["status"] == "FAILED"
        assert "a.txt belongs to another resource" in stack["stack_status_reason"]
        assert (base / "a.txt").read_text() == "hello"

    lab(story)


def test_an_import_looks_and_leaves_it_alone(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        (base / "a.txt").write_text("mine")
        stack = await it.create({"f": {**file(content="other"), "external_id": "a.txt"}})
        assert stack["status"] == "COMPLETE", stack
        await it.delete()
        assert (base / "a.txt").read_text() == "mine"

    lab(story)


def test_an_imported_folder_is_left_alone(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        (base / "d").mkdir(parents=True)
        (base / "d" / "mine").write_text("mine")
        assert (await it.create({"d": {**folder(), "external_id": "d"}}))["status"] == "COMPLETE"
        await it.delete()
        assert (base / "d" / "mine").read_text() == "mine"

    lab(story)


def test_an_import_of_what_is_not_there_fails(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        for name in ("none.txt", "../engine.log"):
            stack = await it.create({"f": {**file(), "external_id": name}})
            assert stack["status"] == "FAILED"
            await it.delete()

    lab(story)


def test_a_file_that_is_gone_is_found_by_a_check_and_made_again(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"f": file()})
        (base / "a.txt").unlink()
        checked = await it.end(await it.api.stacks.check("s"))
        assert checked["status"] == "FAILED"
        assert "the file a.txt does not exist" in checked["stack_status_reason"]
        assert (await it.update({"f": file()}))["status"] == "COMPLETE"
        # The version that was replaced has not taken its successor's file with it.
        assert (base / "a.txt").read_text() == "hello"
        await it.delete()
        assert not (base / "a.txt").exists()

    lab(story)


@pytest.mark.parametrize("path", ["../a", "d/../../a", ".isotherm/claims/x", "", "a\0b", "x" * 300])
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_made(lab: Tell, path: Any) -> None:
    async def story(it: Lab) -> None:
        for made in (file(path), folder(path)):
            with pytest.raises(errors.UserError):
                await it.api.stacks.create("s", it.request({"r": made}))

    lab(story)


def test_an_absolute_path_may_be_used_inside_the_folder_only(lab: Tell, base: Path, tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file(str(base / "in.txt"))})
        assert stack["status"] == "COMPLETE", stack
        stack = await it.update({"f": file(str(tmp_path / "out.txt"))})
        assert stack["status"] == "FAILED"
        assert "outside of" in stack["stack_status_reason"]
        assert not (tmp_path / "out.txt").exists()

    lab(story)


def test_no_symbolic_link_leads_out(lab: Tell, base: Path, tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        base.mkdir(exist_ok=True)
        (base / "link").symlink_to(outside)
        stack = await it.create({"f": file("link/a.txt")})
        assert stack["status"] == "FAILED"
        assert not list(outside.iterdir())
        await it.delete()
        # In the place of a file of ours, a link is not followed either: it is replaced.
        await it.create({"f": file("a.txt", "one")})
        (outside / "victim").write_text("untouched")
        (base / "a.txt").unlink()
        (base / "a.txt").symlink_to(outside / "victim")
        await it.update({"f": file("a.txt", "two")})
        assert (outside / "victim").read_text() == "untouched"
        assert (base / "a.txt").read_text() == "two"
        assert not (base / "a.txt").is_symlink()

    lab(story)


@pytest.mark.parametrize("given", [420, "644", "0999", "rw-r--r--"])
def test_a_mode_that_yaml_has_misread_is_told(lab: Tell, given: Any) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="four octal digits"):
            await it.api.stacks.create("s", it.request({"f": file(mode=given)}))

    lab(story)


@pytest.mark.ledger("S1.1")
def test_the_reality_of_a_file(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello", owner=str(os.getuid()))
        await stage.run("create")
        assert await stage.drift() == []
        (tmp_path / "a.txt").write_text("changed")
        assert await stage.drift() == ["content"]
        (tmp_path / "a.txt").chmod(0o600)
        assert await stage.drift() == ["content", "mode"]
        await stage.run("update", stage.given, {"content": "hello", "mode": "0644"})
        assert await stage.drift() == []
        (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
        assert await stage.drift() == ["content"]
        (tmp_path / "a.txt").unlink()
        assert await stage.seen() == contract.Gone()
        (tmp_path / "a.txt").mkdir()
        assert await stage.seen() == contract.Gone()
        # The whole folder is not there, perhaps not mounted: that says nothing about what is in it.
        stage.local = local_access.Local(tmp_path / "elsewhere")
        assert isinstance(await stage.seen(), contract.Unseen)

    asyncio.run(story())


def test_a_big_file_is_compared_by_its_hash(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="x" * 3_000_000)
        await stage.run("create")
        seen = await stage.seen()
        assert isinstance(seen, contract.Seen)
        assert seen.properties["content"].startswith("sha256:")
        assert await stage.drift() == []
        with (tmp_path / "a.txt").open("a") as opened:
            opened.write("y")
        assert await stage.drift() == ["content"]

    asyncio.run(story())


def test_the_reality_of_a_folder(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, Directory, path="d")
        await stage.run("create")
        assert await stage.drift() == []
        (tmp_path / "d").chmod(0o700)
        assert await stage.drift() == ["mode"]
        (tmp_path / "d").rmdir()
        assert await stage.seen() == contract.Gone()

    asyncio.run(story())


def test_a_file_whose_maker_was_killed_is_found_and_not_made_twice(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello")
        assert await stage.resource().find_by_token() == contract.Absent()
        await stage.run("create")
        inode = (tmp_path / "a.txt").stat().st_ino
        stage.state.physical_id = None  # the engine was killed before it was recorded
        assert await stage.resource().find_by_token() == contract.Found("a.txt")
        assert (tmp_path / "a.txt").stat().st_ino == inode
        # Killed after the claim, before the file: it is made then.
        (tmp_path / "a.txt").unlink()
        assert await stage.resource().find_by_token() == contract.Absent()
        await stage.run("create")
        assert (tmp_path / "a.txt").read_text() == "hello"
        assert await Stage(tmp_path, File, "token-2", path="a.txt").resource().find_by_token() == contract.Absent()

    asyncio.run(story())


def test_a_draft_that_a_kill_left_is_never_written_into(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello")
        await stage.run("create")
        os.link(tmp_path / "a.txt", tmp_path / ".isotherm/drafts/token-1")
        held = (tmp_path / "a.txt").open()
        with held:
            stage.given["content"] = "bye"
            await stage.run("update", {}, {"content": "bye"})
            assert held.read() == "hello"

    asyncio.run(story())


def test_a_lease_that_has_run_out_stops_all_changes(tmp_path: Path) -> None:
    def over() -> None:
        raise errors.Superseded("the lease has run out")

    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt")
        assert stage.local is not None
        stage.local = stage.local.guarded(over)
        with pytest.raises(errors.Superseded):
            await stage.run("create")
        assert not (tmp_path / "a.txt").exists()

    asyncio.run(story())


def test_the_adopting_stack_owns_the_files(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"f": file()})
        stack = await it.end(await it.api.exports.adopt("s", await abandoned(it)))
        assert stack["status"] == "COMPLETE", stack
        await it.update({"f": file(content="bye")})
        assert (base / "a.txt").read_text() == "bye"
        await it.delete()
        assert not (base / "a.txt").exists()

    lab(story)


def test_claims_are_of_one_resource(tmp_path: Path) -> None:
    all_ = claims.Claims(confinement.Confined(tmp_path))
    first = claims.Claim("a", "t1", "stack", "r")
    all_.take(("a",), first, ("t1",))
    with pytest.raises(errors.Permanent):
        all_.take(("a",), claims.Claim("a", "t2", "stack", "other"), ("t2",))
    successor = claims.Claim("a", "t3", "stack", "r")
    all_.take(("a",), successor, ("t3",))
    assert all_.of(("a",)) == successor
    all_.release(("a",))
    assert all_.of(("a",)) is None
