"""One example for each built-in type: properties to try it with, and where its objects are."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from isotherm.resources.aws.stack import Stack
from isotherm.resources.heat.access_policy import AccessPolicy
from isotherm.resources.heat.delay import Delay
from isotherm.resources.heat.dummy import Dummy
from isotherm.resources.heat.groups.auto_scaling_group import AutoScalingGroup
from isotherm.resources.heat.groups.resource_chain import ResourceChain
from isotherm.resources.heat.groups.resource_group import ResourceGroup
from isotherm.resources.heat.groups.scaling_policy import ScalingPolicy
from isotherm.resources.heat.none import NoneResource
from isotherm.resources.heat.random_string import RandomString
from isotherm.resources.heat.remote_stack import RemoteStack
from isotherm.resources.heat.software import deployment_group as groups
from isotherm.resources.heat.software import software_config as configs
from isotherm.resources.heat.software import software_deployment as deployments
from isotherm.resources.heat.software.deployed_server import DeployedServer
from isotherm.resources.heat.stack_outputs import StackOutputs
from isotherm.resources.heat.test_resource import TestResource as StoredText
from isotherm.resources.heat.value import Value
from isotherm.resources.heat.wait_condition import (
    CloudFormationHandle,
    CloudFormationWaitCondition,
    UpdateWaitConditionHandle,
    WaitCondition,
    WaitConditionHandle,
)
from isotherm.resources.http.object import Object
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.resources.local.process import Process
from isotherm.resources.nested import nested_stack
from isotherm.testing import Example
from tests.testing import reality

SECRET = "hush-hush-4711"
SERVICE = reality.Service()

_OTHER = {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::None"}},
          "outputs": {"a": {"value": "one"}, "b": {"value": "two"}}}
_READ = {"stack": {"get_attr": ["other", "stack_name"]}}

# Types whose resources are rows: they have no objects outside of the engine.

ROWS = [
    Example(RandomString, {"length": 20}, replacing={"length": 30}),
    Example(Value, {"value": SECRET}, in_place={"value": "b"}, secret=SECRET),
    Example(NoneResource, {}),
    Example(StackOutputs, {**_READ, "outputs": ["a"]}, in_place={**_READ, "outputs": ["a", "b"]},
            beside={"other": {"type": "OS::Heat::Stack", "properties": {"template": json.dumps(_OTHER)}}}),
    Example(Delay, {"min_wait": 0.02, "actions": ["CREATE", "DELETE"]}, in_place={"min_wait": 0.01}),
    Example(AccessPolicy, {"AllowedResources": ["other"]}, replacing={"AllowedResources": []},
            beside={"other": {"type": "OS::Heat::None"}}),
    Example(DeployedServer, {"software_config_transport": "POLL_SERVER_HEAT"},
            in_place={"software_config_transport": "POLL_SERVER_HEAT", "name": "n"}),
    Example(WaitConditionHandle, {"signal_transport": "HEAT_SIGNAL"}, replacing={"signal_transport": "NO_SIGNAL"}),
    Example(UpdateWaitConditionHandle, {}),
    Example(CloudFormationHandle, {}),
    Example(CloudFormationWaitCondition, {"Handle": {"get_resource": "handle"}, "Timeout": 60},
            in_place={"Handle": {"get_resource": "handle"}, "Timeout": 60, "Count": 2},
            replacing={"Handle": {"get_resource": "handle"}, "Timeout": 61},
            beside={"handle": {"type": "AWS::CloudFormation::WaitConditionHandle"}},
            signals={"handle": [{"UniqueId": one, "Status": "SUCCESS", "Reason": "", "Data": ""} for one in ("1", "2")]}),
    Example(WaitCondition, {"handle": {"get_resource": "handle"}, "timeout": 60},
            in_place={"handle": {"get_resource": "handle"}, "timeout": 60, "count": 2},
            replacing={"handle": {"get_resource": "handle"}, "timeout": 61},
            beside={"handle": {"type": "OS::Heat::WaitConditionHandle"}},
            signals={"handle": {"status": "SUCCESS"}}),
]

# Types whose objects are in a simulated service, in an HTTP service, or on this machine.

_STAYS = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]


def _http(number: int, collection: str = "objects") -> dict[str, Any]:
    one = {"url": f"{SERVICE.url}/objects/{{id}}"}
    create = {"url": f"{SERVICE.url}/{collection}", "body": {"number": number, "key": "{token}"}}
    return {"object": {"number": number}, "create": create, "read": one, "update": {}, "auth": SECRET,
            "find": {"url": f"{SERVICE.url}/objects?key={{token}}"}}


def _process(**more: Any) -> dict[str, Any]:
    return {"command": _STAYS, "settle_secs": 0.02, "env": {"A": SECRET}, **more}


OBJECTS = [
    Example(Dummy, {"max_wait_secs": 0}, in_place={"max_wait_secs": 0, "update_in_place_prop": "x"},
            replacing={"max_wait_secs": 0, "name_len": 12}, objects=reality.simulated, vanish=reality.delete_simulated),
    Example(StoredText, {"value": "a"}, in_place={"value": "b"}, replacing={"value": "a", "update_replace_value": "c"},
            objects=reality.simulated, vanish=reality.delete_simulated, drift=reality.update_simulated),
    Example(File, {"path": "f", "content": "a"}, in_place={"path": "f", "content": "b"},
            replacing={"path": "g", "content": "a"}, objects=reality.paths,
            drift=lambda folder, _: Path(reality.paths(folder)[0]).write_text("other"),
            vanish=lambda folder, _: Path(reality.paths(folder)[0]).unlink()),
    Example(Directory, {"path": "d"}, in_place={"path": "d", "mode": "0700"}, replacing={"path": "e"},
            objects=reality.paths, drift=lambda folder, _: Path(reality.paths(folder)[0]).chmod(0o711),
            vanish=lambda folder, _: Path(reality.paths(folder)[0]).rmdir()),
    Example(Process, _process(), in_place=_process(command=[*_STAYS, "again"]), objects=reality.processes,
            vanish=reality.end_process),
    Example(Object, _http(1), in_place=_http(2), replacing=_http(1, "others"), secret=SECRET,
            objects=lambda folder: list(SERVICE.objects),
            drift=lambda folder, id_: SERVICE.objects[id_].update(number=3),
            vanish=lambda folder, id_: SERVICE.objects.pop(id_)),
]

# Types whose objects are software configs and deployments.

_CONFIGS = partial(reality.rows, table="software_configs")
_DEPLOYMENTS = partial(reality.rows, table="software_deployments")


def _config(type_: Any, properties: dict[str, Any], **more: Any) -> Example:
    return Example(type_, properties, objects=_CONFIGS, secret=SECRET, **more)


_SERVER = {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}}


def _deployment(type_: Any, config: str, **target: Any) -> Example:
    given = {"config": {"get_resource": "config"}, "signal_transport": "NO_SIGNAL", **target}
    content = SECRET if config == "OS::Heat::SoftwareConfig" else {"a": SECRET}
    return Example(
        type_, {**given, "input_values": {"a": SECRET}}, in_place={**given, "input_values": {"a": "b"}},
        objects=_DEPLOYMENTS, secret=SECRET,
        beside={"server": _SERVER, "config": {"type": config, "properties": {"config": content}}})


SOFTWARE = [
    _config(configs.SoftwareConfig, {"config": SECRET}, replacing={"config": "b"}),
    _config(configs.StructuredConfig, {"config": {"a": SECRET}}, replacing={"config": {"a": "b"}}),
    _config(configs.CloudConfig, {"cloud_config": {"a": SECRET}}, replacing={"cloud_config": {"a": "b"}}),
    _config(configs.MultipartMime, {"parts": [{"config": SECRET}]}, replacing={"parts": [{"config": "b"}]}),
    _config(configs.SoftwareComponent, {"configs": [{"actions": ["CREATE"], "config": SECRET, "tool": "script"}]},
            replacing={"configs": [{"actions": ["CREATE"], "config": "b", "tool": "script"}]}),
    _deployment(deployments.SoftwareDeployment, "OS::Heat::SoftwareConfig", server={"get_resource": "server"}),
    # With a server that answers.
    replace(
        _deployment(deployments.SoftwareDeployment, "OS::Heat::SoftwareConfig", server={"get_resource": "server"},
                    signal_transport="HEAT_SIGNAL", actions=["CREATE", "UPDATE", "DELETE"]),
        signals={"subject": {"deploy_status_code": 0}}),
    _deployment(deployments.StructuredDeployment, "OS::Heat::StructuredConfig", server={"get_resource": "server"}),
]

# Types whose objects are stacks.

_TYPE = StoredText.TYPE
_MEMBER = {"type": _TYPE, "properties": {"value": "a"}}
_OTHER = {"type": _TYPE, "properties": {"value": "b"}}
_TEMPLATE = {"heat_template_version": "2021-04-16", "parameters": {"value": {"type": "string"}},
             "resources": {"inner": {"type": _TYPE, "properties": {"value": {"get_param": "value"}}}}}

SERVICE.documents["/template"] = _TEMPLATE
_FETCHED = {"TemplateURL": f"{SERVICE.url}/template"}

_POLICY = {"auto_scaling_group_id": {"get_resource": "group"}, "adjustment_type": "change_in_capacity"}


class Template(nested_stack.template_type(json.dumps(_TEMPLATE))):  # type: ignore[misc]
    """A template that serves as a type, under a name by which the registry finds it."""

    TYPE = implementation = "Test::Template"


def _group(type_: Any, config: str) -> Example:
    return _deployment(type_, config, servers={"one": {"get_resource": "server"}})


STACKS = [
    Example(ResourceGroup, {"count": 1, "resource_def": _MEMBER}, in_place={"count": 1, "resource_def": _OTHER},
            replacing={"count": 1, "resource_def": _MEMBER, "index_var": "%i%"}, objects=reality.stacks_of_one),
    Example(ResourceChain, {"resources": [_TYPE]}, in_place={"resources": [_TYPE, "OS::Heat::None"]},
            replacing={"resources": [_TYPE], "resource_properties": {"value": "b"}}, objects=reality.stacks_of_one),
    Example(AutoScalingGroup, {"min_size": 1, "max_size": 2, "resource": _MEMBER},
            in_place={"min_size": 1, "max_size": 2, "resource": _OTHER}, objects=reality.stacks_of_one),
    Example(ScalingPolicy, {**_POLICY, "scaling_adjustment": 1}, in_place={**_POLICY, "scaling_adjustment": 2},
            beside={"group": {"type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 0, "max_size": 1, "resource": {"type": "OS::Heat::None"}}}}),
    Example(RemoteStack, {"template": json.dumps(_TEMPLATE), "parameters": {"value": "a"}},
            in_place={"template": json.dumps(_TEMPLATE), "parameters": {"value": "b"}}, objects=reality.stacks_of_one),
    Example(Stack, {**_FETCHED, "Parameters": {"value": "a"}}, in_place={**_FETCHED, "Parameters": {"value": "b"}},
            objects=reality.stacks_of_one),
    Example(Template, {"value": "a"}, in_place={"value": "b"}, objects=reality.stacks_of_one),
    _group(groups.SoftwareDeploymentGroup, "OS::Heat::SoftwareConfig"),
    _group(groups.SoftwareDeployments, "OS::Heat::SoftwareConfig"),
    _group(groups.StructuredDeploymentGroup, "OS::Heat::StructuredConfig"),
    _group(groups.StructuredDeployments, "OS::Heat::StructuredConfig"),
]

EXAMPLES = [*ROWS, *OBJECTS, *SOFTWARE, *STACKS]
