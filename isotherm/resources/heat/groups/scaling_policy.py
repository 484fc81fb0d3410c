"""OS::Heat::ScalingPolicy: a signal to it scales a group. The engine does that: see `engine.operations.scaling`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from isotherm.resources import contract, signal_access
from isotherm.resources.schema import CACHE_NONE, INTEGER, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

GROUP, ADJUSTMENT, KIND, COOLDOWN, MIN_STEP = (
    "auto_scaling_group_id", "scaling_adjustment", "adjustment_type", "cooldown", "min_adjustment_step")
CHANGE, EXACT, PERCENT = "change_in_capacity", "exact_capacity", "percent_change_in_capacity"


class ScalingPolicy(contract.RowOnly):
    """Scales a group when it is signalled."""

    TYPE = "OS::Heat::ScalingPolicy"
    DESCRIPTION = "Makes a scaling group larger or smaller when it is signalled."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        GROUP: Schema(STRING, "The group to scale: its reference.", required=True),
        ADJUSTMENT: Schema(NUMBER, "By how much, or to what size.", required=True, update_allowed=True),
        KIND: Schema(STRING, "What the adjustment means.", required=True, update_allowed=True,
                     constraints=(constraints.AllowedValues(allowed=(CHANGE, EXACT, PERCENT)),)),
        COOLDOWN: Schema(NUMBER, "How long nothing is adjusted after an adjustment, in seconds.", update_allowed=True),
        MIN_STEP: Schema(INTEGER, "By how many members at least, if the adjustment is a percentage.", update_allowed=True,
                         constraints=(constraints.Range(minimum=0),)),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "alarm_url": AttributeSchema("The URL to signal to without a token; none while no API is served.", STRING,
                                     CACHE_NONE),
        "signal_url": AttributeSchema("The URL to signal to with a token; none while no API is served.", STRING,
                                      support=Support(version="5.0.0")),
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        if properties[MIN_STEP] is not None and properties[KIND] != PERCENT:
            yield f"{MIN_STEP} property should only be specified for {KIND} with value {PERCENT}."

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "it takes signals, at URLs that name its stack"

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        signal_access.admit(self)
        return None

    async def attribute(self, name: str) -> object:
        if name == "alarm_url":
            return signal_access.signed_url(self)
        return self.context.signal_urls.signal_url(self.stack_name, self.stack_id, self.name)


def size_after(current: int, policy: Mapping[str, Any]) -> int:
    """Return the size that a policy asks for, regardless of the group's limits."""
    amount = policy[ADJUSTMENT]
    if policy[KIND] == EXACT:
        return int(amount)
    if policy[KIND] == CHANGE:
        return int(current + amount)
    change = current * amount / 100.0
    # A part of a member is a whole one; beyond that, parts do not count.
    whole = math.copysign(1, change) if 0 < abs(change) < 1 else math.trunc(change)
    least = policy[MIN_STEP] or 0
    if abs(whole) < least:
        whole = least if whole > 0 else -least
    return int(current + whole)
