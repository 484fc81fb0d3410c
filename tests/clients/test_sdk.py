"""Every call of openstacksdk's orchestration proxy, and of the layer above it, against `isotherm up`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from openstack import exceptions
from openstack.connection import Connection

from tests.clients.command import resource, template, until
from tests.clients.exercise import exercises
from tests.clients.sdk import Watched

# What openstacksdk says of its own future.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings._RemovedInSDKWarning")
OUTPUTS = {"told": {"value": {"get_attr": ["a", "output"]}}}


def write(file: Path, content: Any) -> str:
    file.write_text(yaml.safe_dump(content))
    return str(file)


def create(sdk: Watched, name: str, resources: dict[str, Any], **more: Any) -> Any:
    made = sdk.proxy.create_stack(name=name, template=template(resources, outputs=OUTPUTS), **more)
    return sdk.proxy.wait_for_status(sdk.proxy.get_stack(made.id), "CREATE_COMPLETE", ["CREATE_FAILED"], interval=0.05,
                                     wait=60)


@exercises("proxy.create_stack", "proxy.wait_for_status", "proxy.get_stack", "proxy.find_stack", "proxy.stacks",
           "proxy.update_stack", "proxy.delete_stack", "proxy.wait_for_delete")
def test_a_stack_from_beginning_to_end(watched: Watched) -> None:
    proxy = watched.proxy
    would = proxy.create_stack(preview=True, name="sdk", template=template({"a": resource("one")}, description="Mine"))
    assert (would.name, would.description) == ("sdk", "Mine")
    assert proxy.find_stack("sdk") is None, "that was a preview"

    stack = create(watched, "sdk", {"a": resource("one")}, timeout_mins=3, is_rollback_disabled=False)
    assert (stack.name, stack.status) == ("sdk", "CREATE_COMPLETE")
    assert (stack.timeout_mins, stack.is_rollback_disabled) == (3, False)
    assert [one["output_value"] for one in stack.outputs] == ["one"]
    assert proxy.find_stack("sdk", ignore_missing=False).id == stack.id == proxy.get_stack("sdk").id
    assert proxy.find_stack(stack.id, resolve_outputs=False).outputs is None
    assert [one.id for one in proxy.stacks(name="sdk")] == [stack.id]
    assert "sdk" in [one.name for one in proxy.stacks(limit=1)], "it turns the pages by itself"

    proxy.update_stack(stack.id, template=template({"a": resource("two")}, outputs=OUTPUTS))
    stack = proxy.wait_for_status(proxy.get_stack(stack.id), "UPDATE_COMPLETE", interval=0.05, wait=60)
    assert [one["output_value"] for one in stack.outputs] == ["two"]
    proxy.update_stack(stack, template=template({"a": resource("three")}, outputs=OUTPUTS))
    until(lambda: [one["output_value"] for one in proxy.get_stack("sdk").outputs] == ["three"])

    proxy.delete_stack(stack)
    proxy.wait_for_delete(stack, interval=0.05, wait=60)
    assert proxy.find_stack("sdk") is None
    with pytest.raises(exceptions.NotFoundException):
        proxy.get_stack(stack.id)
    with pytest.raises(exceptions.NotFoundException):
        proxy.delete_stack("nobody", ignore_missing=False)


@exercises("proxy.check_stack", "proxy.suspend_stack", "proxy.resume_stack", "proxy.export_stack", "proxy.abandon_stack")
def test_actions(watched: Watched) -> None:
    proxy = watched.proxy
    stack = create(watched, "sdk-acts", {"a": resource()})
    for act, state in ((proxy.suspend_stack, "SUSPEND_COMPLETE"), (proxy.resume_stack, "RESUME_COMPLETE"),
                       (proxy.check_stack, "CHECK_COMPLETE")):
        act(stack.id)
        stack = proxy.wait_for_status(stack, state, interval=0.05, wait=60)
    told = proxy.export_stack("sdk-acts")
    assert (told["id"], list(told["resources"])) == (stack.id, ["a"])
    assert proxy.abandon_stack(stack)["id"] == stack.id
    until(lambda: proxy.find_stack("sdk-acts") is None)


@exercises("proxy.get_stack_template", "proxy.get_stack_environment", "proxy.get_stack_files", "proxy.resources",
           "proxy.stack_events", "proxy.read_env_and_templates", "proxy.get_template_contents")
def test_what_is_known_of_a_stack(watched: Watched, tmp_path: Path) -> None:
    proxy = watched.proxy
    (tmp_path / "note.txt").write_text("from a file")
    main = write(tmp_path / "main.yaml", template(
        {"a": resource({"get_file": "note.txt"}), "b": resource({"get_param": "p"})}, outputs=OUTPUTS,
        parameters={"p": {"type": "string"}}))
    environment = write(tmp_path / "env.yaml", {"parameters": {"p": "from the environment"}})
    files, parsed = proxy.get_template_contents(template_file=main)
    assert (list(files.values()), set(parsed["resources"])) == (["from a file"], {"a", "b"})

    about = proxy.read_env_and_templates(template_file=main, environment_files=[environment])
    stack = proxy.create_stack(name="sdk-known", **about)
    stack = proxy.wait_for_status(proxy.get_stack(stack.id), "CREATE_COMPLETE", ["CREATE_FAILED"], interval=0.05, wait=60)
    assert [one["output_value"] for one in stack.outputs] == ["from a file"]
    assert set(proxy.get_stack_template("sdk-known").resources) == {"a", "b"}
    assert proxy.get_stack_environment(stack).parameters == {"p": "from the environment"}
    assert "from a file" in proxy.get_stack_files("sdk-known").values()
    found = {one.name: (one.status, one.resource_type) for one in proxy.resources("sdk-known")}
    assert found == dict.fromkeys("ab", ("CREATE_COMPLETE", "OS::Heat::TestResource"))
    assert [one.name for one in proxy.resources(stack, name="a")] == ["a"]
    events = list(proxy.stack_events("sdk-known", sort_dir="asc"))
    assert (events[0].resource_name, events[0].resource_status) == ("sdk-known", "CREATE_IN_PROGRESS")
    assert [one.resource_status for one in proxy.stack_events(stack, "a", sort_dir="asc")] == [
        "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    with pytest.raises(exceptions.NotFoundException):
        proxy.resources("nobody")


@exercises("proxy.create_software_config", "proxy.software_configs", "proxy.get_software_config",
           "proxy.delete_software_config", "proxy.create_software_deployment", "proxy.software_deployments",
           "proxy.get_software_deployment", "proxy.update_software_deployment", "proxy.delete_software_deployment")
def test_software(watched: Watched) -> None:
    proxy = watched.proxy
    config = proxy.create_software_config(name="c", group="script", config="echo", outputs=[{"name": "result"}])
    assert proxy.get_software_config(config.id).config == "echo"
    assert config.id in [one.id for one in proxy.software_configs()]
    made = proxy.create_software_deployment(config_id=config.id, server_id="sdk-server", action="CREATE",
                                            status="IN_PROGRESS", input_values={"a": "b"})
    assert [one.id for one in proxy.software_deployments(server_id="sdk-server")] == [made.id]
    proxy.update_software_deployment(made.id, status="COMPLETE", output_values={"result": "1"})
    shown = proxy.get_software_deployment(made.id)
    assert (shown.status, shown.input_values, shown.output_values) == ("COMPLETE", {"a": "b"}, {"result": "1"})
    proxy.delete_software_deployment(made)
    with pytest.raises(exceptions.NotFoundException):
        proxy.get_software_deployment(made.id)
    proxy.delete_software_config(config, ignore_missing=False)
    with pytest.raises(exceptions.NotFoundException):
        proxy.delete_software_config(config.id, ignore_missing=False)


@exercises("proxy.validate_template")
def test_validation(watched: Watched) -> None:
    told = watched.proxy.validate_template(template({}, description="Good", parameters={"p": {"type": "number"}}),
                                           environment={"parameters": {"p": 3}})
    assert (told.description, told.parameters["p"]["Type"]) == ("Good", "Number")
    with pytest.raises(exceptions.BadRequestException, match=r"The Resource Type \(OS::Nothing\) could not be found"):
        watched.proxy.validate_template(template({"a": {"type": "OS::Nothing"}}))


@exercises("cloud.create_stack", "cloud.get_stack", "cloud.list_stacks", "cloud.search_stacks", "cloud.update_stack",
           "cloud.delete_stack", "cloud.get_template_contents")
def test_the_layer_above(watched: Watched, tmp_path: Path) -> None:
    cloud = watched.cloud
    main = write(tmp_path / "main.yaml", template(
        {"a": resource({"get_param": "p"})}, outputs=OUTPUTS, parameters={"p": {"type": "string"}}))
    assert set(cloud.get_template_contents(template_file=main)[1]["resources"]) == {"a"}
    made = cloud.create_stack("sdk-above", template_file=main, wait=True, p="one")
    assert (made.status, made.outputs[0]["output_value"], made.is_rollback_disabled) == ("CREATE_COMPLETE", "one", False)
    assert cloud.get_stack("sdk-above").id == made.id == cloud.get_stack(made.id).id
    assert cloud.get_stack("sdk-above", filters={"status": "CREATE_FAILED"}) is None
    assert [one.id for one in cloud.search_stacks("sdk-above")] == [made.id]
    assert made.id in [one.id for one in cloud.list_stacks()]

    changed = cloud.update_stack("sdk-above", template_file=main, wait=True, p="two")
    assert (changed.status, changed.outputs[0]["output_value"]) == ("UPDATE_COMPLETE", "two")
    assert cloud.delete_stack("sdk-above", wait=True) is True
    assert cloud.get_stack("sdk-above") is None
    assert cloud.delete_stack("sdk-above") is False


def test_tags_are_a_list_to_the_sdk(watched: Watched) -> None:
    stack = create(watched, "sdk-tagged", {"a": resource()}, tags=["blue", "green"])
    assert stack.tags == ["blue", "green"]


def test_an_error_is_told_in_the_words_of_the_service(watched: Watched) -> None:
    with pytest.raises(exceptions.BadRequestException) as told:
        watched.proxy.create_stack(name="sdk-wrong", template=template({"a": resource(nonsense=1)}))
    assert "Unknown Property nonsense" in json.dumps(told.value.details)
    create(watched, "sdk-taken", {"a": resource()})
    with pytest.raises(exceptions.ConflictException):
        watched.proxy.create_stack(name="sdk-taken", template=template({"a": resource()}))


def test_a_reply_on_a_kept_connection_is_sent_at_once(sdk: Connection) -> None:
    def ask() -> float:
        begin = time.monotonic()
        sdk.orchestration.get("/build_info")
        return time.monotonic() - begin

    ask()
    assert min(ask() for _ in range(20)) < 0.03, "two halves of a reply that wait for one another take 0.04 s"
