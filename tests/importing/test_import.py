"""`import-heat` on the recorded database of a real Heat: the rows are Heat's own, only the database is SQLite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.cli import main
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.importing import heat_rows
from isotherm.importing.run import ImportOutcome
from isotherm.store import tables as t
from tests.importing import recorded, story
from tools.real_heat import sample_stacks

KEY = recorded.record()["key"]
# All but what is known to stay: an update of the legacy engine that failed has left a backup.
TOLD = {name: one for name, one in recorded.record()["told"].items() if name != "stuck-legacy"}
WELL = [name for name in TOLD if name.partition("-")[0] not in ("failed", "stuck", "resting")]
EVERYTHING = list(t.metadata.tables.values())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "home").mkdir()
    engine = Embedded(tmp_path / "home")
    yield engine
    engine.close()


@pytest.fixture
def url(tmp_path: Path) -> Any:
    return recorded.load(tmp_path / "heat.db")


def run(work: Any) -> Any:
    return asyncio.run(work)


def outcomes(told: Any) -> Any:
    return {one.name: one.outcome for one in told}


def test_a_dry_run_tells_the_same_and_changes_nothing(engine: Any, url: Any) -> None:
    before = run(story.rows(engine, *EVERYTHING))
    tried = run(story.bring(engine, url, story.wish(KEY, dry_run=True)))
    assert run(story.rows(engine, *EVERYTHING)) == before and story.things(engine) == {}
    done = run(story.bring(engine, url, story.wish(KEY)))
    assert [one.as_dict() for one in tried] == [one.as_dict() for one in done]
    assert outcomes(done) == {**dict.fromkeys(TOLD, ImportOutcome.IMPORTED), "stuck-legacy": ImportOutcome.REFUSED}


def test_stacks_are_what_heat_said_they_are(engine: Any, url: Any) -> None:
    run(story.bring(engine, url, story.wish(KEY)))
    run(story.is_as_heat_told(engine, TOLD))


def test_a_no_op_update_changes_nothing(engine: Any, url: Any) -> None:
    run(story.bring(engine, url, story.wish(KEY)))
    run(story.no_op_changes_nothing(engine, WELL))


def test_a_delete_removes_all(engine: Any, url: Any) -> None:
    run(story.bring(engine, url, story.wish(KEY)))
    kept = {one for one in story.things(engine) if "-second-" in one}  # deletion_policy: retain
    run(story.delete_removes_all(engine, list(TOLD)))
    assert set(story.things(engine)) == kept and len(kept) == 2


def test_doing_it_again_passes_over_what_is_here(engine: Any, url: Any) -> None:
    run(story.bring(engine, url, story.wish(KEY, stacks=["values-legacy"])))
    again = outcomes(run(story.bring(engine, url, story.wish(KEY))))
    assert again.pop("values-legacy") is ImportOutcome.HERE and again.pop("stuck-legacy") is ImportOutcome.REFUSED
    assert set(again.values()) == {ImportOutcome.IMPORTED}


def test_an_import_that_was_killed_can_be_repeated(engine: Any, url: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the objects were placed, and before the rows were written."""
    async def die(unit: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(engine.store, "write", die)
        run(story.bring(engine, url, story.wish(KEY)))
    assert story.things(engine)
    assert outcomes(run(story.bring(engine, url, story.wish(KEY))))["values-legacy"] is ImportOutcome.IMPORTED
    run(story.is_as_heat_told(engine, TOLD))


def test_an_update_changes_what_it_says_and_nothing_else(engine: Any, url: Any) -> None:
    """One more member: the others are left alone, in whatever way Heat made them."""
    run(story.bring(engine, url, story.wish(KEY)))
    before = story.things(engine)

    async def work() -> None:
        async with engine.driving():
            for path in sample_stacks.PATHS:
                name = f"groups-{path}"
                change = story.request(name, parameters={"size": 5})
                accepted = await engine.orchestrator.stacks.update(name, change)
                assert (await story.end(engine, accepted.stack_id))["stack_status"] == "UPDATE_COMPLETE"

    run(work())
    after = story.things(engine)
    assert {id_: after[id_] for id_ in before} == before
    assert [one["value"] for id_, one in after.items() if id_ not in before] == ["go-5", "go-5"]


def test_a_change_reaches_what_was_made_by_heat(engine: Any, url: Any) -> Any:
    run(story.bring(engine, url, story.wish(KEY)))

    async def work() -> Any:
        async with engine.driving():
            change = story.request("values-legacy", parameters={"word": "hola"})
            accepted = await engine.orchestrator.stacks.update("values-legacy", change)
            await story.end(engine, accepted.stack_id)
            outputs = await engine.orchestrator.outputs.list("values-legacy")
            return {one["output_key"]: one["output_value"] for one in outputs}

    outputs = run(work())
    assert outputs == {**TOLD["values-legacy"]["outputs"], "joined": "hola-3"}
    assert sorted(one["value"] for id_, one in story.things(engine).items() if id_.startswith("values-legacy")) == [
        "hola-3", "hola-3"]


def test_what_failed_in_heat_is_mended_here(engine: Any, url: Any) -> Any:
    run(story.bring(engine, url, story.wish(KEY)))

    async def work() -> Any:
        async with engine.driving():
            change = story.request("failed-legacy", parameters={"broken": False})
            accepted = await engine.orchestrator.stacks.update("failed-legacy", change)
            return await story.end(engine, accepted.stack_id)

    assert run(work())["stack_status"] == "UPDATE_COMPLETE"
    made = [one["value"] for id_, one in story.things(engine).items() if id_.startswith("failed-legacy")]
    assert sorted(made) == ["fine", "oh no"]


def test_a_failed_rollback_never_goes_back_to_nothing(engine: Any, url: Any) -> Any:
    """What Heat had made stays, whatever goes wrong later."""
    run(story.bring(engine, url, story.wish(KEY, stacks=["hidden-legacy"])))
    before = story.things(engine)
    bad = "heat_template_version: 2021-04-16\nresources: {x: {type: OS::Heat::TestResource, properties: {fail: true}}}"

    async def work() -> Any:
        async with engine.driving():
            change = Request(bad, disable_rollback=False)
            accepted = await engine.orchestrator.stacks.update("hidden-legacy", change)
            return await story.end(engine, accepted.stack_id)

    assert run(work())["stack_status"] == "ROLLBACK_COMPLETE"
    assert story.things(engine) == before


# What is not understood.

def refused(engine: Any, path: Any, *changes: Any, key: Any = KEY, name: str = "values-legacy") -> Any:
    url = recorded.load(path / "changed.db", *changes)
    before = run(story.rows(engine, *EVERYTHING))
    (told,) = run(story.bring(engine, url, story.wish(key, stacks=[name])))
    assert told.outcome is ImportOutcome.REFUSED
    assert run(story.rows(engine, *EVERYTHING)) == before and story.things(engine) == {}
    return "\n".join(told.problems)


def test_the_wrong_key_is_told(engine: Any, tmp_path: Path) -> None:
    assert "another key" in refused(engine, tmp_path, key="x" * 32, name="hidden-legacy")


def test_no_key_is_told(engine: Any, tmp_path: Path) -> None:
    assert "no key was given" in refused(engine, tmp_path, key=None, name="hidden-legacy")


def test_a_stack_under_way_is_refused(engine: Any, tmp_path: Path) -> None:
    told = refused(engine, tmp_path, ("update stack set status = 'IN_PROGRESS' where name = 'values-legacy'", ()))
    assert "UPDATE_IN_PROGRESS" in told


def test_one_stack_under_way_deep_inside_refuses_the_whole_tree(engine: Any, tmp_path: Path) -> None:
    deep = next(one["name"] for one in recorded.record()["tables"]["stack"] if "-inner-" in one["name"]
                and one["name"].startswith("nested-legacy"))
    told = refused(engine, tmp_path, ("update stack set status = 'IN_PROGRESS' where name = ?", (deep,)),
                   name="nested-legacy")
    assert deep in told


def test_a_type_that_is_not_known_is_named(engine: Any, tmp_path: Path) -> None:
    text = ("update raw_template set template = replace(template, 'OS::Heat::RandomString', 'OS::Retired::Type') "
            "where id in (select raw_template_id from stack where name = 'values-legacy')")
    assert "OS::Retired::Type" in refused(engine, tmp_path, (text, ()))


def test_resources_left_in_a_backup_are_named(engine: Any, tmp_path: Path) -> None:
    """The legacy engine keeps what it replaced until an update has ended well, and this one has not."""
    assert "backup stack stuck-legacy*" in refused(engine, tmp_path, name="stuck-legacy")


def test_a_name_that_is_taken_is_told(engine: Any, url: Any, tmp_path: Path) -> None:
    run(story.bring(engine, url, story.wish(KEY, stacks=["values-legacy"])))
    rename = "update stack set name = ? where id = ?"
    other = recorded.load(tmp_path / "other.db", (rename, ("values-legacy", TOLD["software-legacy"]["id"])),
                          (rename, ("old", TOLD["values-legacy"]["id"])))
    told = run(story.bring(engine, other, story.wish(KEY, stacks=[TOLD["software-legacy"]["id"]])))
    assert told[0].outcome is ImportOutcome.REFUSED and "already exists" in told[0].problems[0]


def test_what_differs_from_its_template_is_looked_at_by_the_next_update(engine: Any, tmp_path: Path) -> None:
    """Heat applied something else than the template says now: the import tells, and the update mends it."""
    url = recorded.load(tmp_path / "heat.db", (
        "update resource set rsrc_prop_data_id = null, properties_data = ?, properties_data_encrypted = 0 "
        "where name = 'plain' and stack_id = (select id from stack where name = 'hidden-legacy')",
        ('{"value": "somebody else"}',)))
    (told,) = run(story.bring(engine, url, story.wish(KEY, stacks=["hidden-legacy"])))
    assert told.outcome is ImportOutcome.IMPORTED and "resource plain of hidden-legacy" in told.notes[0]
    preview = run(engine.orchestrator.preview.changes("hidden-legacy", story.request("hidden-legacy")))
    assert {item.name: item.action for item in preview.items} == {
        "account": "no change", "hash": "no change", "plain": "update"}


def test_an_older_version_is_cleaned_up_by_the_next_operation(engine: Any, url: Any) -> Any:
    """Convergence keeps a replaced version beside the new one until an update has ended well, and this one has not."""
    (told,) = run(story.bring(engine, url, story.wish(KEY, stacks=["stuck-convergence"])))
    assert (told.outcome, told.resources) == (ImportOutcome.IMPORTED, 2)
    assert sorted(one["value"] for one in story.things(engine).values()) == ["first", "first", "second"]

    async def work() -> Any:
        async with engine.driving():
            change = story.request("stuck-convergence", parameters={"edition": "second"})
            accepted = await engine.orchestrator.stacks.update("stuck-convergence", change)
            return await story.end(engine, accepted.stack_id)

    assert run(work())["stack_status"] == "UPDATE_COMPLETE"
    assert [one["value"] for one in story.things(engine).values()] == ["second", "second"]


def test_a_scaling_group_goes_on_from_where_heat_left_it(engine: Any, url: Any) -> None:
    """Heat had made one more than the template says. A signal adds another; the oldest go first."""
    run(story.bring(engine, url, story.wish(KEY)))
    there = [id_ for id_ in story.things(engine) if id_.startswith("scaling-legacy")]

    async def grown() -> None:
        async with engine.driving():
            await engine.orchestrator.signals.send("scaling-legacy", "grow", None)
            async with asyncio.timeout(60):
                while len([id_ for id_ in story.things(engine) if id_.startswith("scaling-legacy")]) < 4:
                    await asyncio.sleep(0.05)

    async def shrunk() -> None:
        async with engine.driving():
            template = story.request("scaling-legacy").template.replace("desired_capacity: 2", "desired_capacity: 1")
            accepted = await engine.orchestrator.stacks.update("scaling-legacy", Request(template))
            assert (await story.end(engine, accepted.stack_id))["stack_status"] == "UPDATE_COMPLETE"

    run(grown())
    assert len(there) == 3 and set(there) < set(story.things(engine))
    run(shrunk())
    (left,) = [id_ for id_ in story.things(engine) if id_.startswith("scaling-legacy")]
    assert left not in there


def test_a_stack_suspended_in_heat_is_suspended_here_and_resumes(engine: Any, url: Any) -> Any:
    run(story.bring(engine, url, story.wish(KEY)))

    async def work() -> Any:
        async with engine.driving():
            with pytest.raises(errors.UserError, match="suspended"):
                await engine.orchestrator.stacks.update("resting-legacy", story.request("resting-legacy"))
            accepted = await engine.orchestrator.stacks.resume("resting-legacy")
            return await story.end(engine, accepted.stack_id)

    assert run(work())["stack_status"] == "RESUME_COMPLETE"
    run(story.no_op_changes_nothing(engine, ["resting-legacy"]))


def test_a_database_that_is_none_of_heats_is_told(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="cannot be read"), heat_rows.opened(f"sqlite:///{tmp_path / 'empty.db'}"):
        pass


def test_a_stack_that_heat_does_not_have_is_told(engine: Any, url: Any) -> None:
    with pytest.raises(errors.NotFound, match="no stack nowhere"):
        run(story.bring(engine, url, story.wish(KEY, stacks=["nowhere"])))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: Any) -> None:
    monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "home"))
    (tmp_path / "key").write_text(KEY + "\n")
    arguments = ["import-heat", "--database-url", url, "--key-file", str(tmp_path / "key"), "--project", "default"]
    assert main.main([*arguments, "--dry-run"]) == 5
    assert "would be imported" in capsys.readouterr().out
    assert main.main([*arguments, "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    assert {one["stack_name"]: one["outcome"] for one in told["stacks"]} == {
        **dict.fromkeys(TOLD, "imported"), "stuck-legacy": "refused"}
    assert main.main(["outputs", "values-legacy", "joined"]) == 0
    assert "salut-3" in capsys.readouterr().out
    assert main.main([*arguments[:3], "--json", *TOLD]) == 0  # nothing is opened of what is here already
    assert {one["outcome"] for one in json.loads(capsys.readouterr().out)["stacks"]} == {"already here"}


def test_heats_own_configuration_says_where_and_with_which_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: Any
) -> None:
    monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "home"))
    assert main.main(["import-heat", "--dry-run"]) == 2
    (tmp_path / "heat.conf").write_text(f"[DEFAULT]\nauth_encryption_key = {KEY}\n[database]\nconnection = {url}\n")
    assert main.main(["import-heat", "--heat-conf", str(tmp_path / "heat.conf"), "--dry-run", "--json", *TOLD]) == 0
    told = json.loads(capsys.readouterr().out)["stacks"]
    assert [one["outcome"] for one in told] == ["imported"] * len(TOLD)


def test_a_stack_that_stays_is_told_and_so_is_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: Any
) -> None:
    monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "home"))
    assert main.main(["import-heat", "--database-url", url, "hidden-legacy"]) == 5
    out = capsys.readouterr().out
    assert "refused" in out and "auth_encryption_key" in out
