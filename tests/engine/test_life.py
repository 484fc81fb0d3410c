"""A stack's life: created, updated in every way, deleted. Each test looks at reality, not only at the tables."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.planning.planner import Planning
from isotherm.secrets import Redactor
from tests.engine.conftest import Lab, Tell, resource


@pytest.mark.ledger("S2.3", "S0.1", "S0.2", "S3.3")
def test_create_update_delete(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource("1"), "b": resource({"get_attr": ["a", "output"]})})
        assert stack["stack_status"] == "CREATE_COMPLETE"
        assert it.values() == ["1", "1"]
        before = await it.physical()
        stack = await it.update({"a": resource("2"), "b": resource({"get_attr": ["a", "output"]})})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["2", "2"], "a change reaches whoever reads it"
        assert await it.physical() == before, "in place: nothing was made anew"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S2.5")
def test_an_update_without_a_change_touches_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": resource({"get_attr": ["a", "output"]}), "c": resource(needs=["b"])}
        await it.create(template)
        rows = await it.api.resources.list("s")
        events = len(await it.api.events.list("s"))
        spent = []
        for number in (1, 2, 3):
            before = it.engine.store.commits
            stack = await it.update(template)
            spent.append(it.engine.store.commits - before)
            assert stack["stack_status"] == "UPDATE_COMPLETE"
            assert await it.api.resources.list("s") == rows
            own = 2 * number
            assert len(await it.api.events.list("s")) == events + own, "the stack's own two events, and none of a resource"
        # Beside one of the updates the process may have renewed its registration.
        assert min(spent) <= 3

    lab(story)


def test_nodes_that_wait_together_read_the_secrets_once(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The reason of each wait is masked, and masking needs the secrets."""
    asked = []
    original = Planning.all_secrets

    async def counted(self: Planning, *what: str) -> Redactor:
        asked.append(what)
        return await original(self, *what)

    monkeypatch.setattr(Planning, "all_secrets", counted)

    async def story(it: Lab) -> None:
        waits = {"type": "OS::Heat::Dummy", "properties": {"max_wait_secs": 1}}
        stack = await it.create({f"r{i}": waits for i in range(20)})
        assert stack["stack_status"] == "CREATE_COMPLETE"
        assert len(asked) == 1

    lab(story)


def test_what_changes_k_of_n_touches_k(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {f"r{i}": resource(needs=[f"r{i - 1}"] if i else None) for i in range(20)}
        await it.create(template)
        after = (await it.api.events.list("s", last=1))[0]["id"]
        await it.update({**template, "r3": resource("new", needs=["r2"])})
        touched = {one["resource_name"] for one in await it.api.events.list("s", after=after)} - {""}
        assert touched == {"r3"}, "those that depend on it read nothing of it that has changed"

    lab(story)


def test_a_replacement_is_made_before_the_old_one_goes(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(update_replace_value="1"), "b": resource({"get_resource": "a"})})
        before = await it.physical()
        await it.update({"a": resource(update_replace_value="2"), "b": resource({"get_resource": "a"})})
        after = await it.physical()
        assert before["a"] != after["a"]
        assert before["b"] == after["b"]
        assert it.values() == sorted([after["a"], "x"]), "the dependant has moved, and the old one is gone"
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"] * 2 + [
            "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]

    lab(story)


def test_what_the_template_drops_is_deleted_dependants_first(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(), "b": resource(needs=["a"]), "c": resource(needs=["b"]), "d": resource()})
        stack = await it.update({"d": resource()})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert len(it.objects()) == 1
        gone = [one["resource_name"] for one in await it.api.events.list("s", last=50)
                if one["resource_status"] == "DELETE_COMPLETE"]
        assert gone == ["c", "b", "a"]

    lab(story)


def test_conditions_switch_resources_on_and_off(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        switch = {"on": {"type": "boolean"}}
        when = {"wanted": {"get_param": "on"}}
        template = {"a": resource(), "b": {**resource("extra"), "condition": "wanted"}}
        await it.create(template, parameters=switch, conditions=when, environment={"parameters": {"on": False}})
        assert it.values() == ["x"]
        await it.update(template, parameters=switch, conditions=when, environment={"parameters": {"on": True}})
        assert it.values() == ["extra", "x"]
        await it.update(template, parameters=switch, conditions=when, environment={"parameters": {"on": False}})
        assert it.values() == ["x"]

    lab(story)


def test_outputs_come_from_what_resources_have_published(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        outputs = {"value": {"value": {"get_attr": ["a", "output"]}}, "name": {"value": {"get_resource": "a"}},
                   "none": {"value": {"get_resource": "zz"}}}
        await it.create({"a": resource("1")}, outputs=outputs)
        found = {one["output_key"]: one for one in await it.api.outputs.list("s")}
        assert found["value"]["output_value"] == "1"
        assert found["name"]["output_value"] == (await it.physical())["a"]
        assert "zz" in found["none"]["output_error"]
        outputs["more"] = {"value": {"get_attr": ["b", "output"]}}
        await it.update({"a": resource("1"), "b": resource("2")}, outputs=outputs)
        assert {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}["more"] == "2"

    lab(story)


def test_a_parameter_whose_part_another_resource_names(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        read = {"get_param": ["sizes", {"get_attr": ["a", "output"]}]}
        made = {"a": resource("small"), "b": resource(read)}

        def with_sizes(sizes: dict[str, str]) -> dict[str, object]:
            return {"parameters": {"sizes": {"type": "json", "default": sizes}}, "outputs": {"o": {"value": read}}}

        assert (await it.create(made, **with_sizes({"small": "1", "big": "9"})))["status"] == "COMPLETE"
        assert it.values() == ["1", "small"]
        await it.update(made, **with_sizes({"small": "2", "big": "9"}))
        assert it.values() == ["2", "small"], "what only the parameter changed is changed"
        await it.update({**made, "a": resource("big")}, **with_sizes({"small": "2", "big": "9"}))
        assert it.values() == ["9", "big"]
        assert (await it.api.outputs.list("s"))[0]["output_value"] == "9"

    lab(story)


def test_properties_that_come_to_no_map(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        whole = {"type": "OS::Heat::TestResource", "properties": {"get_attr": ["a", "output"]}}
        stack = await it.create({"a": resource("1"), "b": whole})
        assert stack["status"] == "FAILED"
        assert "Resource b properties type must be object" in stack["stack_status_reason"]
        assert (await it.update({"a": resource("1"), "b": resource("2")}))["status"] == "COMPLETE"
        assert it.values() == ["1", "2"]

    lab(story)


def test_an_output_may_read_an_attribute_that_was_not_read_before(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before = await it.physical()
        await it.update({"a": resource("1")}, outputs={"late": {"value": {"get_attr": ["a", "output"]}}})
        assert (await it.api.outputs.list("s"))[0]["output_value"] == "1"
        assert await it.physical() == before
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


def test_a_name_is_taken_only_by_the_living(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        first = await it.create({"a": resource()})
        with pytest.raises(errors.Conflict) as refused:
            await it.create({"a": resource()})
        assert refused.value.kind == "StackExists"
        await it.delete()
        second = await it.create({"a": resource()})
        assert second["id"] != first["id"]
        assert (await it.api.stacks.show(first["id"]))["stack_status"] == "DELETE_COMPLETE"

    lab(story)


@pytest.mark.parametrize("name", ["", "1abc", "a b", "a/../b", "a\nb", "x" * 256, "ä", "a;drop table stacks"])
def test_bad_stack_names_are_refused(lab: Tell, name: Any) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError):
            await it.api.stacks.create(name, it.request({"a": resource()}))
        assert await it.api.stacks.list() == []

    lab(story)


@pytest.mark.ledger("S3.1", "S3.2")
def test_the_row_carries_the_architecture(lab: Tell, architecture: Any) -> None:
    async def story(it: Lab) -> None:
        (it.engine.path / "isotherm.conf").write_text("[DEFAULT]\nconvergence_engine = false\n")
        other = Embedded(it.engine.path)
        await it.api.stacks.create("new", it.request({}))
        await other.orchestrator.stacks.create("old", it.request({}))
        other.close()

        def rows(connection: Any) -> Any:
            return dict(connection.exec_driver_sql("SELECT name, convergence FROM stacks").all())

        chosen = int(architecture == "convergence")
        assert await it.engine.store.read(rows) == {"new": chosen, "old": 0}
        for name, is_ in (("new", chosen), ("old", 0)):
            await it.end(await it.api.stacks.update(name, it.request({"a": resource()})))
            assert (await it.engine.store.read(rows))[name] == is_, "sticky, whatever the option says now"

    lab(story)


def test_a_deleted_stack_leaves_nothing_but_its_row_and_its_events(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(), "b": resource(needs=["a"])})
        await it.update({"a": resource("2"), "c": resource()})
        await it.delete()

        def left(connection: Any) -> Any:
            tables = ("nodes", "edges", "resources", "blobs", "uses")
            return {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in tables}

        assert await it.engine.store.read(left) == {"nodes": 0, "edges": 0, "resources": 0, "blobs": 0, "uses": 0}

    lab(story)
