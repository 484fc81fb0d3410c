"""The types whose resources cannot move to another stack, because they or their objects are bound to one."""

from __future__ import annotations

import pytest

from isotherm.resources import builtin, contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.openstack.nova import server_names

TYPES = builtin.registry().types
# Besides all types whose objects are stacks, and those that take signals.
BOUND = {
    "AWS::CloudFormation::WaitCondition", "Isotherm::Stack::Outputs", "OS::Heat::DeployedServer", "OS::Heat::ScalingPolicy",
    "OS::Heat::SwiftSignal", "OS::Heat::SwiftSignalHandle", "OS::Heat::WaitCondition",
}


def takes_signals(one: type[contract.Resource]) -> bool:
    return any("handle_signal" in vars(base) for base in one.__mro__ if base is not contract.Resource)


def test_these_types_are_bound_to_their_stack() -> None:
    types = {name: one for name, one in TYPES.items() if name == one.TYPE}
    expected = {name for name, one in types.items() if nested_stack.is_stack(one) or takes_signals(one)}
    assert {name for name, one in types.items() if one.bound_to_stack({})} == expected | BOUND


@pytest.mark.parametrize(("form", "is_bound"), [(server_names.RAW, False), (server_names.SOFTWARE_CONFIG, True)])
def test_a_server_is_bound_by_its_agent(form: str, is_bound: bool) -> None:
    assert bool(TYPES["OS::Nova::Server"].bound_to_stack({server_names.FORMAT: form})) is is_bound
