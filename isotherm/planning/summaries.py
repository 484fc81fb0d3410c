"""Summaries of inputs: the parameters and outputs of a stack, without the rest of its template.

Live views read them again and again. A summary is small whatever the size of the template, so that many can be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isotherm.planning import desired, masking
from isotherm.resources.heat.groups.auto_scaling_group import AutoScalingGroup
from isotherm.secrets import MASK
from isotherm.template.model import model
from isotherm.template.model.definitions import Output
from isotherm.template.parameters import parameters


@dataclass(frozen=True, slots=True)
class StackSummary:
    """The parameters and outputs of one operation's input."""

    values: parameters.Values
    # As text, with hidden values masked.
    parameters: Mapping[str, str]
    outputs: Mapping[str, Output]
    # Resources that change without an operation on this stack.
    groups: frozenset[str]


def of(input_: desired.StackInput, bound: model.Bound) -> StackSummary:
    secrets = masking.redactor(input_)
    shown = {name: MASK if secrets.has_secret(bound.values[name]) else bound.values.text(name) for name in bound.values}
    groups = frozenset(name for name, one in bound.definitions.items() if one.type == AutoScalingGroup.TYPE)
    return StackSummary(bound.values, shown, bound.outputs, groups)
