"""By type: what Heat keeps of a resource, in our words. A type that is not named here is not understood, and stays there.

Some objects exist nowhere but in Heat's own database: the text of a TestResource, a software config, the signals that a
handle has received. They come over together with the resource. Whatever exists elsewhere is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from isotherm.importing import heat_rows
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.context.signals import Taken
from isotherm.resources.heat import delay, none, random_string, test_resource, value, wait_condition
from isotherm.resources.heat.groups import auto_scaling_group, resource_chain, resource_group, scaling_policy
from isotherm.resources.heat.software import software_config
from isotherm.resources.nested import nested_stack


class Translated(msgspec.Struct):
    """What comes over besides the row."""

    data: dict[str, Any] = {}
    # What is in the world's `reality` from now on, by its properties; nothing, if it has no object there.
    thing: dict[str, Any] | None = None
    config: software.Config | None = None
    signals: list[Taken] = []
    # Whether Heat's metadata are those of the resource; some types keep other things there.
    metadata: bool = True
    # Whether it may be signalled at an address of its own.
    admits: bool = False


Data = Mapping[str, str]
Translate = Callable[[heat_rows.Resource, Data, heat_rows.Heat], Translated]


def _nothing(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated()


def _test_resource(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated(thing={test_resource.VALUE: data.get("value")})


def _random_string(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated({"value": data["value"]} if "value" in data else {})


def _scaling_group(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    """When it may be scaled again is in its metadata, and soon past."""
    return Translated(metadata=False)


def _scaling_policy(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    return Translated(metadata=False, admits=True)


def _group(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    removed = sorted(filter(None, data.get("name_blacklist", "").split(",")))
    return Translated({"removed": removed} if "name_blacklist" in data else {})


def _config(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
    found = None if row.physical_id is None else heat.config(row.physical_id)
    if found is None:
        return Translated()
    kept = found.document
    return Translated(config=software.Config(
        found.id, found.name, found.group, kept.get("config"), kept.get("inputs") or [], kept.get("outputs") or [],
        kept.get("options")))


def _handle(type_: type[contract.Resource]) -> Translate:
    def translate(row: heat_rows.Resource, data: Data, heat: heat_rows.Heat) -> Translated:
        received = row.metadata if isinstance(row.metadata, Mapping) else {}
        named = {"id": "UniqueId", "status": "Status", "reason": "Reason", "data": "Data"}
        fields = (lambda one: {named[key]: value for key, value in one.items()}) if _is_old(type_) else dict
        signals = [type_.handle_signal(fields({"id": key, **_lower(one)}), number)
                   for number, (key, one) in enumerate(received.items())]
        return Translated(signals=signals, metadata=False, admits=True)

    return translate


def _is_old(type_: type[contract.Resource]) -> bool:
    return type_ is wait_condition.UpdateWaitConditionHandle


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
    software_config.SoftwareConfig: _config,
    software_config.StructuredConfig: _config,
    software_config.CloudConfig: _config,
    software_config.SoftwareComponent: _config,
}


def understands(type_: type[contract.Resource]) -> bool:
    return type_ in _BY_TYPE or issubclass(type_, nested_stack.TemplateResource)


def translated(
    type_: type[contract.Resource], row: heat_rows.Resource, data: Data, heat: heat_rows.Heat
) -> Translated:
    """Of a type that is understood."""
    return _BY_TYPE.get(type_, _nothing)(row, data, heat)
