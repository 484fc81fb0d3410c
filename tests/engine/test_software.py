"""Software configs, deployments that wait for a server's answer, and what a server is told."""

from __future__ import annotations

import asyncio
import email
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml

from isotherm import errors
from isotherm.engine import stored_ports
from isotherm.engine.process.embedded import Embedded
from isotherm.store.operations import stop
from tests import databases
from tests.engine.conftest import Lab, Tell

HEAT = "HEAT_SIGNAL"


def config(text: str = "#!/bin/sh\necho $who", **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": text, **more}}


def server() -> dict[str, Any]:
    return {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}}


def deployment(kind: str = "Software", **properties: Any) -> dict[str, Any]:
    return {"type": f"OS::Heat::{kind}Deployment", "properties": {
        "config": {"get_resource": "config"}, "server": {"get_resource": "server"}, "signal_transport": HEAT, **properties}}


def whole(**properties: Any) -> dict[str, Any]:
    source = config(inputs=[{"name": "who", "default": "you"}],
                    outputs=[{"name": "answer"}, {"name": "trouble", "error_output": True}])
    return {"config": source, "server": server(), "deployment": deployment(**properties)}


async def until_it_waits(it: Lab) -> None:
    async def waits() -> bool:
        return any(one["state"] == "WAITING" for one in await it.api.resources.list("s"))

    await it.until(waits)


async def told(it: Lab) -> list[dict[str, Any]]:
    """Return the configs that the server is to apply."""
    found: list[dict[str, Any]] = (await it.api.resources.metadata("s", "server"))["deployments"]
    return found


async def outputs(it: Lab) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}


def values_of(one: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry["value"] for entry in one["inputs"]}


def test_a_deployment_waits_for_its_server(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        names = ("answer", "deploy_stdout", "deploy_stderr")
        read = {name: {"value": {"get_attr": ["deployment", name]}} for name in names}
        template = whole(input_values={"who": "me", "extra": 1})
        accepted = await it.api.stacks.create("s", it.request(template, outputs=read))
        await until_it_waits(it)
        (one,) = await told(it)
        values = values_of(one)
        assert (one["group"], one["config"]) == ("script", "#!/bin/sh\necho $who")
        assert (values["who"], values["extra"], values["deploy_action"]) == ("me", 1, "CREATE")
        assert values["deploy_resource_name"] == "deployment"
        await it.api.signals.send("s", "deployment", {"answer": 42, "deploy_stdout": "me", "deploy_status_code": 0})
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert await outputs(it) == {"answer": 42, "deploy_stdout": "me", "deploy_stderr": None}

    lab(story)


def test_a_deployment_whose_stack_has_timed_out_waits_no_more(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(whole()))
        await until_it_waits(it)
        now = it.engine.clock.now()
        await it.engine.store.write(lambda connection: stop.time_out(connection, accepted.operation_id, "next", now))
        assert (await it.end(accepted))["stack_status"] == "CREATE_FAILED"
        (one,) = await it.api.software.deployments(None)
        assert (one["status"], one["status_reason"]) == ("FAILED", "CREATE aborted (Timed out)")

    lab(story)


@pytest.mark.parametrize(("signal", "reason"), [
    ({"deploy_status_code": 3}, "deploy_status_code : Deployment exited with non-zero status code: 3"),
    ({"trouble": "no disk"}, "trouble : no disk"),
])
def test_a_deployment_that_fails_says_why(lab: Tell, signal: Any, reason: Any) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(whole()))
        await until_it_waits(it)
        await it.api.signals.send("s", "deployment", signal)
        stack = await it.end(accepted)
        assert stack["stack_status_reason"] == (
            f"Resource CREATE failed: Error: resources.deployment: Deployment to server failed: {reason}")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_an_update_puts_another_config_up(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(whole()))
        await until_it_waits(it)
        await it.api.signals.send("s", "deployment", {})
        await it.end(accepted)
        (before,) = await told(it)
        # Too late for the first one, and not an answer to the second.
        await it.api.signals.send("s", "deployment", {"deploy_status_code": 7})
        accepted = await it.api.stacks.update("s", it.request(whole(input_values={"who": "him"})))
        await until_it_waits(it)
        (after,) = await told(it)
        assert after["id"] != before["id"]
        assert (values_of(after)["who"], values_of(after)["deploy_action"]) == ("him", "UPDATE")
        await it.api.signals.send("s", "deployment", {})
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_a_newer_update_does_not_wait_for_the_answer_to_an_older_config(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(whole()))
        await until_it_waits(it)
        accepted = await it.api.stacks.update("s", it.request(whole(input_values={"who": "her"})))

        async def put_up() -> bool:
            return [values_of(one)["who"] for one in await told(it)] == ["her"]

        await it.until(put_up)
        await until_it_waits(it)
        await it.api.signals.send("s", "deployment", {})
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_an_input_may_ask_for_another_deployment(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        def template(who: str) -> dict[str, Any]:
            return {"config": config(inputs=[{"name": "who", "replace_on_change": True}]), "server": server(),
                    "deployment": deployment(input_values={"who": who}, signal_transport="NO_SIGNAL")}

        await it.create(template("a"))
        before = (await it.physical())["deployment"]
        await it.update(template("b"))
        assert (await it.physical())["deployment"] != before
        (one,) = await told(it)
        assert values_of(one)["deploy_action"] == "CREATE"

    lab(story)


def test_without_a_signal_nothing_is_waited_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create(whole(signal_transport="NO_SIGNAL", name="first"))
        assert stack["stack_status"] == "CREATE_COMPLETE"
        assert [one["name"] for one in await told(it)] == ["first"]

    lab(story)


def test_what_is_not_for_this_action_is_not_deployed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(whole(actions=["DELETE"]))
        assert await told(it) == []
        assert await it.status("deployment") == "CREATE_COMPLETE"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_a_deletion_waits_for_the_server_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(whole(actions=["CREATE", "DELETE"])))
        await until_it_waits(it)
        await it.api.signals.send("s", "deployment", {})
        await it.end(accepted)
        accepted = await it.api.stacks.delete("s")
        await until_it_waits(it)
        (one,) = await told(it)
        assert values_of(one)["deploy_action"] == "DELETE"
        await it.api.signals.send("s", "deployment", {})
        assert (await it.end(accepted))["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_a_component_says_itself_at_which_actions_it_applies(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        component = {"type": "OS::Heat::SoftwareComponent", "properties": {"configs": [
            {"actions": ["UPDATE"], "tool": "script", "config": "x"}]}}
        template = {"config": component, "server": server(), "deployment": deployment(signal_transport="NO_SIGNAL")}
        await it.create(template)
        assert await told(it) == []
        template["deployment"]["properties"]["input_values"] = {"a": 1}
        await it.update(template)
        (one,) = await told(it)
        assert (one["group"], one["config"]["configs"][0]["tool"]) == ("component", "script")

    lab(story)


def test_a_component_has_one_config_for_an_action(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        twice = {"type": "OS::Heat::SoftwareComponent", "properties": {"configs": [
            {"tool": "a"}, {"actions": ["CREATE"], "tool": "b"}]}}
        with pytest.raises(errors.UserError, match="Defining more than one configuration for the same action"):
            await it.create({"config": twice})

    lab(story)


def test_a_structured_deployment_fills_inputs_in(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        source = {"type": "OS::Heat::StructuredConfig", "properties": {
            "config": {"a": {"get_input": "who"}, "list": [{"get_input": "none"}, {"b": 1}],
                       "two": {"get_input": 1, "c": 2}}}}
        await it.create({"config": source, "server": server(), "deployment": deployment(
            "Structured", input_values={"who": "me"}, signal_transport="NO_SIGNAL")})
        (one,) = await told(it)
        assert one["config"] == {"a": "me", "list": [None, {"b": 1}], "two": {"get_input": 1, "c": 2}}

    lab(story)


def test_a_strict_structured_deployment_wants_all_values(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        source = {"type": "OS::Heat::StructuredConfig", "properties": {"config": {"a": {"get_input": "who"}}}}
        stack = await it.create({"config": source, "server": server(), "deployment": deployment(
            "Structured", input_values_validate="STRICT", signal_transport="NO_SIGNAL")})
        assert "The Parameter (who) was not provided." in stack["stack_status_reason"]

    lab(story)


def test_configs_as_text(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {
            "script": config("#!/bin/sh"),
            "cloud": {"type": "OS::Heat::CloudConfig", "properties": {"cloud_config": {"users": ["a"], "x": {"y": 1}}}},
            "both": {"type": "OS::Heat::MultipartMime", "properties": {"parts": [
                {"config": {"get_resource": "script"}, "subtype": "x-shellscript", "filename": "run.sh"},
                {"config": {"get_resource": "cloud"}}, {"config": "grüße"}]}},
            "more": {"type": "OS::Heat::MultipartMime", "properties": {"parts": [
                {"config": {"get_resource": "both"}, "type": "multipart"}, {"config": "last"}]}},
        }
        await it.create(template, outputs={name: {"value": {"get_attr": [name, "config"]}} for name in template})
        found = await outputs(it)
        assert found["script"] == "#!/bin/sh"
        assert found["cloud"].startswith("#cloud-config\n")
        assert yaml.safe_load(found["cloud"]) == {"users": ["a"], "x": {"y": 1}}
        parts: Any = email.message_from_string(found["more"]).get_payload()
        kinds = [part.get_content_type() for part in parts]
        assert kinds == ["text/x-shellscript", "text/plain", "text/plain", "text/plain"]
        assert parts[0].get_filename() == "run.sh"
        assert parts[2].get_payload(decode=True).decode() == "grüße"

    lab(story)


def test_a_config_that_changes_is_another_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"config": config("1")})
        before = (await it.physical())["config"]
        await it.update({"config": config("2")})
        assert (await it.physical())["config"] != before
        assert (await it.end(await it.api.stacks.check("s")))["stack_status"] == "CHECK_COMPLETE"

    lab(story)


@pytest.mark.parametrize(("properties", "told_so"), [
    ({"signal_transport": "CFN_SIGNAL"}, "signal_transport CFN_SIGNAL needs an API that takes signed requests"),
    ({"signal_transport": "TEMP_URL_SIGNAL"}, "The stack is in no cloud yet."),
    ({"signal_transport": "ZAQAR_SIGNAL"}, "signal_transport ZAQAR_SIGNAL needs a message queue"),
])
def test_what_needs_a_cloud_says_so(lab: Tell, properties: Any, told_so: Any) -> None:
    async def story(it: Lab) -> None:
        assert told_so in (await it.create(whole(**properties)))["stack_status_reason"]

    lab(story)


def test_a_server_that_polls_where_nothing_is_says_so(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"server": {"type": "OS::Heat::DeployedServer"}})
        assert "software_config_transport POLL_SERVER_CFN needs" in stack["stack_status_reason"]

    lab(story)


def test_a_server_has_a_name(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        named = server()
        named["properties"]["name"] = "web"
        read = {name: {"value": {"get_attr": ["server", name]}} for name in ("name", "os_collect_config")}
        await it.create({"server": named}, outputs=read)
        found = await outputs(it)
        assert found["name"] == "web"
        assert json.dumps(found["os_collect_config"]).count('"resource_name": "server"') == 1

    lab(story)


@pytest.mark.parametrize("moment", ["put_deployment", "deployment"])
def test_a_change_is_heard_at_any_moment(lab: Tell, monkeypatch: pytest.MonkeyPatch, moment: Any) -> Any:
    """The deployment is changed as soon as it exists, or right after the resource has read it."""
    asked = getattr(stored_ports.StoredSoftware, moment)
    changed: list[str] = []

    def story_of(it: Lab) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def then(self: stored_ports.StoredSoftware, stack_id: str, what: Any) -> Any:
            found = await asked(self, stack_id, what)
            id_ = what if moment == "deployment" else what.id
            if not changed and (moment == "put_deployment" or found is not None):
                changed.append(id_)
                await it.api.software.update_deployment(id_, {"status": "COMPLETE", "output_values": {"answer": "42"}})
            return found

        return then

    async def story(it: Lab) -> None:
        monkeypatch.setattr(stored_ports.StoredSoftware, moment, story_of(it))
        stack = await it.create(whole())
        assert (stack["status"], len(changed)) == ("COMPLETE", 1), stack["stack_status_reason"]

    lab(story)


def test_nothing_is_left_of_a_deleted_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(whole(signal_transport="NO_SIGNAL"))
        await it.delete()
        rows = databases.rows(it.engine.path)
        assert not any(rows[table] for table in ("software_configs", "software_deployments", "signals", "hooks"))

    lab(story)


def test_a_killed_deployment_is_taken_up(lab: Tell, tmp_path: Path) -> None:
    async def first() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        async with engine.driving():
            await it.api.stacks.create("s", it.request(whole()))
            await until_it_waits(it)
        await it.api.signals.send("s", "deployment", {"answer": 1})
        engine.close()

    async def story(it: Lab) -> None:
        async with asyncio.timeout(30):
            while (stack := await it.api.stacks.show("s"))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.01)
        assert stack["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(first())
    lab(story)


def test_an_access_policy_names_resources_of_its_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": ["server"]}}
        with pytest.raises(errors.UserError, match="AccessPolicy resource server not in stack"):
            await it.create({"policy": policy})
        nameless = {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": [{"a": 1}]}}
        with pytest.raises(errors.UserError, match=r"AccessPolicy resource \{'a': 1\} not in stack"):
            await it.create({"policy": nameless})
        stack = await it.create({"policy": policy, "server": server()})
        assert stack["stack_status"] == "CREATE_COMPLETE"

    lab(story)


async def waiting_inside(it: Lab, name: str, count: int) -> str:
    """The stack inside a resource, once so many of its resources wait."""

    async def waits() -> bool:
        inside = (await it.physical()).get(name)
        found = await it.api.resources.list(inside) if inside else []
        return bool(sum(one["state"] == "WAITING" for one in found) == count)

    await it.until(waits)
    return (await it.physical())[name]


def group(count: int, kind: str = "Software", **properties: Any) -> dict[str, Any]:
    servers = {f"s{number}": {"get_resource": f"server{number}"} for number in range(count)}
    return {
        "config": config(outputs=[{"name": "answer"}]),
        **{f"server{number}": server() for number in range(count)},
        "group": {"type": f"OS::Heat::{kind}", "properties": {
            "config": {"get_resource": "config"}, "servers": servers, "signal_transport": HEAT, **properties}},
    }


def test_a_group_deploys_to_each_of_its_servers(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        read = {"all": {"value": {"get_attr": ["group", "deploy_stdouts"]}},
                "one": {"value": {"get_attr": ["group", "answer", "s1"]}}}
        accepted = await it.api.stacks.create("s", it.request(group(2, "SoftwareDeploymentGroup"), outputs=read))
        inside = await waiting_inside(it, "group", 2)
        for number, name in enumerate(("s0", "s1")):
            await it.api.signals.send(inside, name, {"deploy_stdout": f"out {number}", "answer": number})
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert await outputs(it) == {"all": {"s0": "out 0", "s1": "out 1"}, "one": 1}

    lab(story)


def test_a_group_follows_its_servers(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        quiet = {"signal_transport": "NO_SIGNAL"}
        await it.create(group(3, "SoftwareDeployments", **quiet))
        await it.update(group(2, "SoftwareDeployments", **quiet))
        inside = (await it.physical())["group"]
        assert [one["resource_name"] for one in await it.api.resources.list(inside)] == ["s0", "s1"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_a_group_goes_in_batches(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = group(3, "StructuredDeploymentGroup", signal_transport="NO_SIGNAL", input_values={"a": 1})
        template["config"] = {"type": "OS::Heat::StructuredConfig", "properties": {"config": {"x": {"get_input": "a"}}}}
        template["group"]["update_policy"] = {
            "batch_create": {"max_batch_size": 2}, "rolling_update": {"max_batch_size": 1}}
        await it.create(template)
        inside = (await it.physical())["group"]
        before = [one["stack_status"] for one in [await it.api.stacks.show(inside)]]
        assert before == ["UPDATE_COMPLETE"], "two batches: a create, and an update"
        template["group"]["properties"]["input_values"] = {"a": 2}
        generation = (await it.api.stacks.show(inside))["generation"]
        await it.update(template)
        assert (await it.api.stacks.show(inside))["generation"] == generation + 3
        now = [await it.api.resources.metadata("s", f"server{number}") for number in range(3)]
        assert [one["deployments"][0]["config"] for one in now] == [{"x": 2}] * 3

    lab(story)
