"""Migration from the legacy path to convergence: whole trees, when no operation is in progress, without a cloud."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.admin.migrate import MigrationReport, Migrator, Outcome
from isotherm.engine.operations.accept import Acceptor
from isotherm.engine.orchestrator import Requester
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.resources.reality.journal import JournalReality
from isotherm.states import Action, EdgeKind, NodeState, Status
from isotherm.store import tables as t
from isotherm.store.database import writer
from isotherm.store.database.writer import Connection
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.legacy_rows import make_legacy, of_stacks, rows
from tests.engine.test_nested import FILES, nested

TEMPLATE = {
    "a": resource("1"),
    "b": resource({"get_attr": ["a", "output"]}),
    "c": nested("middle.yaml", value={"get_attr": ["b", "output"]}),
    "d": {"type": "OS::Heat::RandomString", "depends_on": ["c"]},
    "group": {"type": "OS::Heat::ResourceGroup", "properties": {
        "count": 2, "resource_def": {"type": "OS::Heat::TestResource", "properties": {"value": "%index%"}}}},
}


def migrating(it: Lab) -> Migrator:
    return Migrator(it.engine.store, it.engine.types, it.engine.clock, new_id)


async def migrated(it: Lab, *named: str, dry_run: bool = False) -> list[MigrationReport]:
    one = migrating(it)
    return [await one.migrate(root, dry_run=dry_run) for root in await one.roots(named)]


async def legacy(it: Lab, template: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    stack = await it.create(template or TEMPLATE, files=FILES, **options)
    assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
    await make_legacy(it.engine)
    return stack


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


async def only(it: Lab, table: sa.Table, **where: Any) -> list[sa.RowMapping]:
    return [row for row in await rows(it.engine, table) if all(row[name] == value for name, value in where.items())]


@pytest.mark.ledger("S4.1", "S4.3")
def test_a_tree_is_migrated_whole(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        before = {row["id"]: row for row in await rows(it.engine, t.stacks)}
        assert len(before) == 4
        (told,) = await migrated(it, "s")
        assert (told.outcome, told.stacks, told.unproven, told.leftovers, told.reasons) == (Outcome.MIGRATED, 4, 0, 0, [])
        after = {row["id"]: row for row in await rows(it.engine, t.stacks)}
        operations = {row["id"]: row for row in await rows(it.engine, t.operations)}
        assert after.keys() == before.keys() and len(operations) == len(after)
        for id_, row in after.items():
            assert row["convergence"]
            assert row["operation_id"] == row["complete_operation_id"] != before[id_]["operation_id"]
            assert row["generation"] == before[id_]["generation"] + 1 == operations[row["operation_id"]]["generation"]
            assert (row["action"], row["status"]) == (before[id_]["action"], before[id_]["status"])
        for row in await rows(it.engine, t.resources):
            assert row["operation_id"] == after[row["stack_id"]]["operation_id"]
            assert row["digest"]
        assert {row["operation_id"] for row in await rows(it.engine, t.uses)} == operations.keys()

    lab(story)


@pytest.mark.ledger("S4.3")
def test_the_graph_is_what_convergence_would_have_written(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(TEMPLATE, files=FILES)

        async def graph() -> Any:
            names = {row["id"]: (row["stack_id"], row["name"]) for row in await rows(it.engine, t.nodes)}
            edges = sorted((names[row["src"]], names[row["dst"]], row["kind"]) for row in await rows(it.engine, t.edges))
            versions = {(row["id"], row["requires"], row["digest"]) for row in await rows(it.engine, t.resources)}
            nodes = {(row["id"], row["digest"], row["kind"], row["state"], row["resource_id"])
                     for row in await rows(it.engine, t.nodes)}
            return edges, versions, nodes

        before = await graph()
        assert len(before[0]) == 3 and all(kind == EdgeKind.REQUIRES for _, _, kind in before[0])
        await make_legacy(it.engine)
        assert await graph() != before
        await migrated(it)
        assert await graph() == before

    lab(story)


@pytest.mark.ledger("S4.1", "S4.4")
def test_an_update_that_asks_for_nothing_new_touches_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        objects, physical = it.objects(), await it.physical()
        await migrated(it)
        last = max(row["id"] for row in await rows(it.engine, t.events))
        stack = await it.update(TEMPLATE, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        events = [row for row in await rows(it.engine, t.events) if row["id"] > last]
        assert {row["name"] for row in events} == {""}
        assert (it.objects(), await it.physical()) == (objects, physical)
        changed = {**TEMPLATE, "a": resource("2")}
        assert (await it.update(changed, files=FILES))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["0", "1", "2", "2", "2"]
        assert await it.physical() == physical
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S4.4")
def test_no_cloud_is_called(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        calls: list[str] = []
        for name in ("create", "get", "find", "update", "delete"):
            def counted(self: Any, *given: Any, _name: str = name, **more: Any) -> Any:
                calls.append(_name)
                raise AssertionError(f"reality was asked to {_name}")

            monkeypatch.setattr(JournalReality, name, counted)
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED
        assert calls == []
        await it.api.stacks.update("s", it.request({**TEMPLATE, "a": resource("2")}, files=FILES))

        async def called() -> bool:
            return bool(calls)

        await it.until(called)  # the counter does count

    lab(story)


@pytest.mark.ledger("S4.3")
def test_the_texts_of_what_came_before_are_gone(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it, {"a": resource("old-words")})
        old = {row["hash"] for row in await rows(it.engine, t.blobs)}
        # A second operation, of which the first is the one before.
        await it.engine.store.write(lambda connection: connection.execute(sa.update(t.stacks).values(convergence=True)))
        await it.api.stacks.update("s", it.request({"a": resource("new", wait_secs=30)}))
        await it.engine.store.write(_as_if_ended)
        assert old & {row["hash"] for row in await rows(it.engine, t.blobs)}
        await migrated(it)
        assert not old & {row["hash"] for row in await rows(it.engine, t.blobs)}
        (operation,) = await rows(it.engine, t.operations)
        assert (await rows(it.engine, t.stacks))[0]["complete_operation_id"] == operation["id"]

    lab(story)


def _as_if_ended(connection: Connection) -> None:
    connection.execute(sa.delete(t.stack_locks))
    connection.execute(sa.update(t.operations).values(state=4, due=None, deadline=None))
    connection.execute(sa.update(t.nodes).values(state=NodeState.DONE, due=None, worker=None, lease_until=None))
    connection.execute(sa.update(t.resources).values(status=Status.COMPLETE, intent=None))
    connection.execute(sa.update(t.stacks).values(status=Status.COMPLETE, convergence=False))


@pytest.mark.ledger("S4.2")
@pytest.mark.parametrize("status", [Status.FAILED, Status.IN_PROGRESS])
def test_only_what_is_complete_is_migrated(lab: Tell, status: Any) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        inside = await only(it, t.stacks, depth=2)

        def worsen(connection: Connection) -> None:
            connection.execute(sa.update(t.stacks).where(t.stacks.c.id == inside[0]["id"]).values(status=status))

        await it.engine.store.write(worsen)
        before = await of_stacks(it.engine)
        (told,) = await migrated(it)
        assert told.outcome is Outcome.REFUSED
        assert told.reasons == [f"{inside[0]['name']}, inside it, is CREATE_{status.name}"]
        assert await of_stacks(it.engine) == before
        mended = sa.update(t.stacks).values(status=Status.COMPLETE)
        await it.engine.store.write(lambda connection: connection.execute(mended))
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED

    lab(story)


@pytest.mark.ledger("S4.2")
def test_a_stack_that_an_engine_has_locked_is_left_alone(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await legacy(it)
        now = it.engine.clock.now()

        def lock(until: float) -> Any:
            def unit(connection: Connection) -> None:
                connection.execute(sa.delete(t.stack_locks))
                connection.execute(sa.insert(t.stack_locks).values(
                    stack_id=stack["id"], engine="e", operation_id="o", fence=1, lease_until=until))

            return unit

        await it.engine.store.write(lock(now + 60))
        assert (await migrated(it))[0].reasons == ["it is CREATE_COMPLETE, but an engine has it locked"]
        await it.engine.store.write(lock(now - 60))
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED
        assert await rows(it.engine, t.stack_locks) == []

    lab(story)


@pytest.mark.ledger("S4.4")
def test_an_operation_that_comes_in_between_wins(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await legacy(it, {"a": resource("1")})
        one = migrating(it)
        (root,) = await one.roots()
        write = it.engine.store.write

        async def late(unit: Any) -> Any:
            monkeypatch.setattr(it.engine.store, "write", write)
            await write(lambda connection: connection.execute(
                sa.update(t.stacks).values(generation=t.stacks.c.generation + 1, status=Status.IN_PROGRESS)))
            return await write(unit)

        monkeypatch.setattr(it.engine.store, "write", late)
        told = await one.migrate(root)
        assert (told.outcome, told.reasons) == (Outcome.REFUSED, ["an operation was accepted meanwhile"])
        assert not (await rows(it.engine, t.stacks))[0]["convergence"]

    lab(story)


@pytest.mark.ledger("S4.4")
def test_a_request_that_was_about_to_use_the_old_path_is_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it, {"a": resource("1")})
        stack = (await rows(it.engine, t.stacks))[0]
        late = acceptor_of(it).repetition(stack, Action.CHECK)
        await migrated(it)
        with pytest.raises(errors.Conflict):
            await acceptor_of(it).supersede(late, lambda *_: None)
        assert (await it.update({"a": resource("2")}))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


@pytest.mark.ledger("S4.4")
def test_rows_outside_the_template_are_kept_and_cleaned_up_by_the_next_operation(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        wanted = {"a": resource("1"), "b": resource("2", needs=["a"])}
        await legacy(it, {**wanted, "gone": resource("3"), "loose": resource("4")})
        physical = await it.physical()

        def drop(connection: Connection) -> None:
            """One without a node, one superseded under a name that is still there, one whose name is gone."""
            node, version = t.nodes.c, t.resources.c
            connection.execute(sa.delete(t.nodes).where(node.name == "loose"))
            connection.execute(sa.delete(t.nodes).where(node.name == "b"))
            connection.execute(sa.update(t.resources).where(version.name == "b").values(superseded=True))

        await it.engine.store.write(drop)
        await _have_template(it, wanted)
        (told,) = await migrated(it)
        assert (told.outcome, told.leftovers) == (Outcome.MIGRATED, 3)
        found = {row["name"]: row for row in await rows(it.engine, t.resources)}
        assert {row["physical_id"] for row in found.values()} == set(physical.values())
        assert {name for name, row in found.items() if row["superseded"]} == {"b", "loose"}
        assert json.loads(found["b"]["requires"]) == [found["a"]["id"]]
        assert it.values() == ["1", "2", "3", "4"]
        stack = await it.update(wanted)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1", "2"]
        assert set(it.objects()) & set(physical.values()) == {physical["a"]}

    lab(story)


def acceptor_of(it: Lab) -> Acceptor:
    return Acceptor(it.engine.service_ports, Requester())


async def _have_template(it: Lab, template: dict[str, Any]) -> None:
    """The stack's newest operation is one that asked for this."""
    request = it.request(template)
    stack = (await rows(it.engine, t.stacks))[0]
    goal = await acceptor_of(it).desire(request, stack["name"], stack["id"])
    acceptance = await acceptor_of(it).acceptance(stack["id"], stack["generation"], Action.UPDATE, request, goal)
    await acceptor_of(it).supersede(acceptance, lambda connection, *_: _as_if_ended(connection))


@pytest.mark.ledger("S4.4")
def test_it_can_be_repeated(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        await migrated(it)
        before = await of_stacks(it.engine)
        assert await migrated(it) == []
        assert [told.outcome for told in await migrated(it, "s")] == [Outcome.HERE]
        assert await of_stacks(it.engine) == before

    lab(story)


@pytest.mark.ledger("S4.4")
def test_a_dry_run_changes_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        before = await of_stacks(it.engine)
        (told,) = await migrated(it, dry_run=True)
        assert (told.outcome, told.stacks, told.unproven) == (Outcome.MIGRATED, 4, 0)
        assert await of_stacks(it.engine) == before

    lab(story)


@pytest.mark.ledger("S4.4")
def test_a_failure_after_any_statement_leaves_the_tree_as_it_was(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        before = await of_stacks(it.engine)
        statements, limit = 0, 0

        def count(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
            nonlocal statements
            if statement.startswith(("UPDATE", "INSERT", "DELETE")):
                statements += 1
                if statements == limit:
                    raise _Killed

        # The migration has connections of its own: the worker shares none of them.
        with contextlib.closing(Embedded(it.engine.path)) as mover:
            sa.event.listen(mover.store._engine, "before_cursor_execute", count)
            while True:
                statements, limit = 0, limit + 1
                try:
                    (told,) = await migrated(Lab(mover))
                    break
                except _Killed:
                    assert await of_stacks(it.engine) == before, limit
            sa.event.remove(mover.store._engine, "before_cursor_execute", count)
        assert limit > 40
        assert (told.outcome, told.unproven) == (Outcome.MIGRATED, 0)

    lab(story)


class _Killed(Exception):
    """What a statement that fails raises."""


@pytest.mark.ledger("S4.1")
def test_what_is_not_what_the_template_says_is_looked_at_by_the_next_update(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it, {"a": resource("1"), "b": resource("2")})
        await _have_template(it, {"a": resource("1"), "b": resource("3")})
        (told,) = await migrated(it)
        assert told.unproven == 1
        physical = await it.physical()
        assert (await it.update({"a": resource("1"), "b": resource("3")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "3"]
        assert await it.physical() == physical
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


def test_hidden_parameters_and_suspended_stacks_come_along(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        schema, given = {"p": {"type": "string", "hidden": True}}, {"parameters": {"p": "password-1"}}
        template = {"a": resource({"get_param": "p"}), "in": nested(value={"get_param": "p"})}
        await it.create(template, files=FILES, parameters=schema, environment=given)
        await it.end(await it.api.stacks.suspend("s"))
        await make_legacy(it.engine)
        (told,) = await migrated(it)
        assert (told.outcome, told.unproven, told.state) == (Outcome.MIGRATED, 0, "SUSPEND_COMPLETE")
        assert (await it.end(await it.api.stacks.resume("s")))["stack_status"] == "RESUME_COMPLETE"
        before = it.objects()
        stack = await it.update(template, files=FILES, parameters=schema, environment=given)
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.objects() == before

    lab(story)


def test_a_snapshot_outlives_the_migration(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        taken = await it.api.snapshots.take("s", "before")
        await it.end(taken)
        await make_legacy(it.engine)
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED
        assert (await it.update({"a": resource("2")}))["stack_status"] == "UPDATE_COMPLETE"
        stack = await it.end(await it.api.snapshots.restore("s", "before"))
        assert stack["stack_status"] == "RESTORE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1"]

    lab(story)


@pytest.mark.ledger("S4.1")
def test_a_nested_stack_is_not_migrated_by_itself(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        inside = await only(it, t.stacks, depth=1)
        with pytest.raises(errors.UserError, match="is nested in s"):
            await migrated(it, inside[0]["id"])
        with pytest.raises(errors.NotFound):
            await migrated(it, "no-such-stack")

    lab(story)


def test_a_tree_whose_template_cannot_be_read_is_named(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it, {"a": resource("1")})
        await it.engine.store.write(lambda connection: connection.execute(sa.delete(t.blobs)))
        (told,) = await migrated(it)
        assert told.outcome is Outcome.REFUSED and told.reasons

    lab(story)


def test_the_store_runs_a_tree_in_one_transaction(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await legacy(it)
        # A folder of its own: a running engine commits now and then as well.
        with contextlib.closing(Embedded(it.engine.path)) as other:
            assert isinstance(other.store, writer.ThreadedStore)
            commits = other.store.commits
            (told,) = await migrated(Lab(other))
            assert told.outcome is Outcome.MIGRATED
            assert other.store.commits == commits + 1

    lab(story)


@pytest.fixture
def old_path(tmp_path: Path) -> None:
    """New stacks are made on the legacy path, by its own engine."""
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nconvergence_engine = false\n")


@pytest.mark.ledger("S4.1", "S4.3", "S4.4")
@pytest.mark.usefixtures("old_path")
def test_what_the_legacy_engine_made_is_migrated_whole(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({**TEMPLATE, "a": resource("0")}, files=FILES)
        # Everything is replaced or changed once, so that there is something to leave behind.
        stack = await it.update(TEMPLATE, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert not any(row["convergence"] for row in await rows(it.engine, t.stacks))
        objects, physical = it.objects(), await it.physical()
        (told,) = await migrated(it)
        assert (told.outcome, told.stacks, told.unproven, told.leftovers) == (Outcome.MIGRATED, 4, 0, 0), told
        assert all(row["convergence"] for row in await rows(it.engine, t.stacks))
        assert len(await rows(it.engine, t.edges)) == 3
        last = max(row["id"] for row in await rows(it.engine, t.events))
        stack = await it.update(TEMPLATE, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert {row["name"] for row in await rows(it.engine, t.events) if row["id"] > last} == {""}
        assert (it.objects(), await it.physical()) == (objects, physical)
        # Convergence takes another operation while one is under way, on every stack of the tree.
        slow = {**TEMPLATE, "a": resource("5", action_wait_secs={"update": 0.5})}
        last = max(row["id"] for row in await rows(it.engine, t.events))
        await it.api.stacks.update("s", it.request(slow, files=FILES))
        # Once begun, the update of `a` ends before the newer operation has its turn, however loaded the machine is.
        await it.until(lambda: _is(it, "a", "UPDATE_IN_PROGRESS"))
        stack = await it.update({**TEMPLATE, "c": nested("middle.yaml", value="7")}, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        endings = [(row["name"], row["status"]) for row in await rows(it.engine, t.events) if row["id"] > last]
        assert endings.count(("a", Status.COMPLETE)) == 2, "the slow update, and the one that takes it back"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.usefixtures("old_path")
def test_after_a_migration_only_dependants_wait_for_a_running_update(lab: Tell) -> None:
    """The older update of `a` never ends: `b` waits for it, and `c` does not."""
    async def story(it: Lab) -> None:
        before = {"a": resource("1"), "b": resource("1", needs=["a"]), "c": resource("1")}
        await it.create(before)
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED
        endless = {**before, "a": resource("2", action_wait_secs={"update": -1})}
        await it.api.stacks.update("s", it.request(endless))
        await it.until(lambda: _is(it, "a", "UPDATE_IN_PROGRESS"))
        await it.api.stacks.update("s", it.request({**before, "b": resource("3", needs=["a"]), "c": resource("3")}))
        await it.until(lambda: _is(it, "c", "UPDATE_COMPLETE"))
        assert [await it.status(name) for name in ("a", "b")] == ["UPDATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


@pytest.mark.usefixtures("old_path")
@pytest.mark.parametrize("action", ["suspend", "check", "rollback"])
def test_every_complete_state_of_the_legacy_path_is_migrated(lab: Tell, action: Any) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": nested(value={"get_attr": ["a", "output"]})}
        await it.create(template, files=FILES)
        if action == "rollback":
            stack = await it.update({**template, "c": resource("x", fail=True)}, files=FILES, disable_rollback=False)
        else:
            stack = await it.end(await it.act(action))
        assert stack["stack_status"] == f"{action.upper()}_COMPLETE", stack["stack_status_reason"]
        (told,) = await migrated(it)
        assert (told.outcome, told.unproven, told.reasons) == (Outcome.MIGRATED, 0, [])
        if action == "suspend":
            await it.end(await it.api.stacks.resume("s"))
        objects = it.objects()
        assert (await it.update(template, files=FILES))["stack_status"] == "UPDATE_COMPLETE"
        assert it.objects() == objects
        assert (await it.update({"a": resource("2")}, files=FILES))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["2"]

    lab(story)


@pytest.mark.ledger("S4.2")
@pytest.mark.usefixtures("old_path")
def test_a_legacy_stack_in_progress_is_left_to_its_engine(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        accepted = await it.api.stacks.update("s", it.request({"a": resource("2", action_wait_secs={"update": 1})}))
        (told,) = await migrated(it)
        assert (told.outcome, told.reasons) == (Outcome.REFUSED, ["it is UPDATE_IN_PROGRESS"])
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        assert (await migrated(it))[0].outcome is Outcome.MIGRATED
        assert it.values() == ["2"]

    lab(story)


@pytest.mark.ledger("S4.4")
@pytest.mark.usefixtures("old_path")
def test_updates_that_come_while_it_works_are_refused_or_done_and_never_lost(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        names = [f"s{number:02}" for number in range(20)]
        made = [await it.api.stacks.create(name, it.request({"a": resource("old")})) for name in names]
        for one in made:
            await it.end(one)

        async def update(name: str) -> bool:
            try:
                accepted = await it.api.stacks.update(name, it.request({"a": resource(f"new-{name}")}))
            except errors.Conflict as error:
                assert error.kind == "ActionInProgress"
                return False
            assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
            return True

        asked, told = await asyncio.gather(
            asyncio.gather(*(update(name) for name in names)), asyncio.create_task(migrated(it)))
        assert {one.outcome for one in told} <= {Outcome.MIGRATED, Outcome.REFUSED}
        done = [name for name, accepted in zip(names, asked, strict=True) if accepted]
        assert it.values() == sorted([f"new-{name}" for name in done] + ["old"] * (len(names) - len(done)))
        assert all(one.outcome is Outcome.MIGRATED for one in await migrated(it))
        assert await migrated(it) == []
        assert all([await update(name) for name in names])
        assert it.values() == sorted(f"new-{name}" for name in names)

    lab(story)
