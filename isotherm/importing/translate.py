"""Translates what Heat keeps of a resource into our form, by type. A type that is not listed here cannot be imported.

Some objects exist in Heat's database only: the text of a TestResource, a software config, the signals of a handle. They are
imported with the resource. Other objects are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from isotherm.importing import heat_rows
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.context.signals import HandledSignal
from isotherm.resources.heat import delay, none, random_string, test_resource, value, wait_condition
from isotherm.resources.heat.groups import auto_scaling_group, resource_chain, resource_group, scaling_policy
from isotherm.resources.heat.software import software_config
from isotherm.resources.nested import nested_stack


class Translated(msgspec.Struct):
    """The imported part of a resource besides its row."""

    data: dict[str, Any] = {}
    # Properties of the object that the import creates in our `reality`; None if it has none there.
    heat_object: dict[str, Any] | None = None
    config: software.Config | None = None
    signals: list[HandledSignal] = []
    # Whether Heat's metadata belong to the resource; some types keep other values there.
    metadata: bool = True
    # Whether the resource has a signal URL.
    admits: bool = False


Data = Mapping[str, str]
Translate = Callable[[heat_rows.HeatResource, Data, heat_rows.Heat], Translated]


def _nothing(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated()


def _test_resource(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated(heat_object={test_resource.VALUE: data.get("value")})


def _random_string(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated({"value": data["value"]} if "value" in data else {})


def _scaling_group(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    """Leave out the metadata, which only hold the time of the next scaling."""
    return Translated(metadata=False)


def _scaling_policy(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated(metadata=False, admits=True)


def _group(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    removed = sorted(filter(None, data.get("name_blacklist", "").split(",")))
    return Translated({"removed": removed} if "name_blacklist" in data else {})


def _config(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
    found = None if row.physical_id is None else heat.config(row.physical_id)
    if found is None:
        return Translated()
    kept = found.document
    return Translated(config=software.Config(
        found.id, found.name, found.group, kept.get("config"), kept.get("inputs") or [], kept.get("outputs") or [],
        kept.get("options")))


def _handle(type_: type[contract.Resource]) -> Translate:
    def translate(row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat) -> Translated:
        received = row.metadata if isinstance(row.metadata, Mapping) else {}
        named = {"id": "UniqueId", "status": "Status", "reason": "Reason", "data": "Data"}
        fields = (lambda one: {named[key]: value for key, value in one.items()}) if _is_old(type_) else dict
        signals = [type_.handle_signal(fields({"id": key, **_lower(one)}), number)
                   for number, (key, one) in enumerate(received.items())]
        return Translated(signals=signals, metadata=False, admits=True)

    return translate


def _is_old(type_: type[contract.Resource]) -> bool:
    return issubclass(type_, wait_condition.CloudFormationHandle)


def _lower(signal: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower(): value for key, value in signal.items()}


_BY_TYPE: Mapping[type[contract.Resource], Translate] = {
    value.Value: _nothing,
    none.NoneResource: _nothing,
    delay.Delay: _nothing,
    test_resource.TestResource: _test_resource,
    random_string.RandomString: _random_string,
    resource_group.ResourceGroup: _group,
    resource_chain.ResourceChain: _nothing,
    auto_scaling_group.AutoScalingGroup: _scaling_group,
    scaling_policy.ScalingPolicy: _scaling_policy,
    wait_condition.WaitCondition: _nothing,
    wait_condition.WaitConditionHandle: _handle(wait_condition.WaitConditionHandle),
    wait_condition.UpdateWaitConditionHandle: _handle(wait_condition.UpdateWaitConditionHandle),
    wait_condition.CloudFormationWaitCondition: _nothing,
    wait_condition.CloudFormationHandle: _handle(wait_condition.CloudFormationHandle),
    software_config.SoftwareConfig: _config,
    software_config.StructuredConfig: _config,
    software_config.CloudConfig: _config,
    software_config.SoftwareComponent: _config,
}


def understands(type_: type[contract.Resource]) -> bool:
    return type_ in _BY_TYPE or issubclass(type_, nested_stack.TemplateResource)


def translated(
    type_: type[contract.Resource], row: heat_rows.HeatResource, data: Data, heat: heat_rows.Heat
) -> Translated:
    """Translate a resource of a type that is understood."""
    return _BY_TYPE.get(type_, _nothing)(row, data, heat)
