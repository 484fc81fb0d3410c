"""`openstack orchestration ...` and `openstack software ...`: what there is beside stacks."""

from __future__ import annotations

import json

import pytest
import yaml
from openstack.connection import Connection

from tests.clients.command import OpenStack, Refused, resource, template
from tests.clients.exercise import exercises

# What openstacksdk says of its own future.
pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings._RemovedInSDKWarning")


@exercises("orchestration resource type list", "orchestration resource type show", "orchestration template version list",
           "orchestration template function list", "orchestration build info", "orchestration service list")
def test_what_the_service_has(openstack: OpenStack) -> None:
    types = [one["Resource Type"] for one in openstack.ask("orchestration resource type list")]
    assert "OS::Heat::TestResource" in types
    found = openstack.ask("orchestration resource type list", "--filter", "name=.*RandomString", "--long")
    assert [one["Resource Type"] for one in found] == ["OS::Heat::RandomString"]
    assert found[0]["Description"]
    shown = openstack.ask("orchestration resource type show", "--long", "OS::Heat::RandomString")
    assert shown["properties"]["length"]["type"] == "integer"
    assert (shown["resource_type"], shown["description"]) == ("OS::Heat::RandomString", found[0]["Description"])
    made = yaml.safe_load(openstack("orchestration resource type show", "--template-type", "hot", "OS::Heat::RandomString"))
    assert made["resources"]["RandomString"]["type"] == "OS::Heat::RandomString"
    with pytest.raises(Refused, match="Resource type not found: OS::Nothing"):
        openstack("orchestration resource type show", "OS::Nothing")

    versions = {one["Version"]: one for one in openstack.ask("orchestration template version list")}
    assert versions["heat_template_version.2021-04-16"]["Aliases"] == ["heat_template_version.wallaby"]
    functions = openstack.ask("orchestration template function list", "heat_template_version.2021-04-16")
    assert {"Functions": "get_file", "Description": "A function for including a file inline."} in functions
    more = openstack.ask("orchestration template function list", "--with_conditions", "heat_template_version.2021-04-16")
    assert {one["Functions"] for one in more} > {one["Functions"] for one in functions}

    assert set(openstack.ask("orchestration build info")) == {"api", "engine"}
    (worker,) = openstack.ask("orchestration service list")
    assert (worker["Binary"], worker["Status"]) == ("heat-engine", "up")


@exercises("orchestration template validate")
def test_validation(openstack: OpenStack) -> None:
    openstack.write("inside.yaml", template({"leaf": resource()}, parameters={"deep": {"type": "number", "default": 1}}))
    openstack.write("good.yaml", template({"top": {"type": "inside.yaml"}}, description="Good", parameters={
        "word": {"type": "string", "constraints": [{"length": {"max": 5}}]}}))
    told = openstack.ask("orchestration template validate", "-t", "good.yaml", "--show-nested", "--parameter", "word=hello")
    assert told["Description"] == "Good"
    assert told["Parameters"]["word"]["MaxLength"] == 5
    assert told["NestedParameters"]["top"]["Parameters"]["deep"]["Default"] == 1
    openstack.write("bad.yaml", template({"a": {"type": "OS::Nothing"}}))
    with pytest.raises(Refused, match=r"ERROR: The Resource Type \(OS::Nothing\) could not be found\."):
        openstack("orchestration template validate", "-t", "bad.yaml")


@exercises("software config create", "software config show", "software config list", "software config delete",
           "software deployment create", "software deployment show", "software deployment list",
           "software deployment metadata show", "software deployment output show", "software deployment delete")
def test_software(openstack: OpenStack, sdk: Connection) -> None:
    openstack.write("script.sh", "echo hello\n")
    openstack.write("definition.yaml", {"inputs": [{"name": "who"}], "outputs": [{"name": "result"}]})
    config = openstack.ask("software config create", "--config-file", "script.sh", "--definition-file", "definition.yaml",
                           "--group", "script", "greet")
    assert (config["name"], config["group"], config["config"]) == ("greet", "script", "echo hello\n")
    shown = openstack.ask("software config show", config["id"])
    assert (shown["inputs"][0]["name"], shown["outputs"][0]["name"]) == ("who", "result")
    assert openstack("software config show", "--config-only", config["id"]).startswith("echo hello")
    assert config["id"] in [one["id"] for one in openstack.ask("software config list", "--limit", 5)]

    made = openstack.ask("software deployment create", "--config", config["id"], "--server", "s1", "--action", "CREATE",
                         "--input-value", "who=you", "--signal-transport", "NO_SIGNAL", "d1")
    assert (made["server_id"], made["action"], made["status"]) == ("s1", "CREATE", "IN_PROGRESS")
    (row,) = openstack.ask("software deployment list", "--server", "s1", "--long")
    assert (row["id"], row["config_id"]) == (made["id"], made["config_id"])
    shown = openstack.ask("software deployment show", "--long", made["id"])
    assert (shown["status"], shown["output_values"] or {}) == ("IN_PROGRESS", {})
    (applied,) = json.loads(openstack("software deployment metadata show", "s1"))
    inputs = {one["name"]: one.get("value") for one in applied["inputs"]}
    assert (applied["name"], applied["config"], inputs["who"]) == ("d1", "echo hello\n", "you")
    assert inputs["deploy_server_id"] == "s1"

    # The signal of a server that is done. No command sends it.
    sdk.orchestration.update_software_deployment(made["id"], status="COMPLETE", output_values={"result": "hello you"})
    assert "result: hello you" in openstack("software deployment output show", "--all", made["id"])
    assert "hello you" in openstack("software deployment output show", made["id"], "result")

    openstack("software deployment delete", made["id"])
    with pytest.raises(Refused, match=f"Software Deployment not found: {made['id']}"):
        openstack("software deployment show", made["id"])
    with pytest.raises(Refused, match=f"Configuration not found: {made['config_id']}"):
        openstack("software config show", made["config_id"])
    openstack("software config delete", config["id"])
    with pytest.raises(Refused, match="Unable to delete 1 of the 1 software configs"):
        openstack("software config delete", config["id"])
