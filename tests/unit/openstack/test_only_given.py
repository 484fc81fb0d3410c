"""Properties that Neutron takes at creation only, or whose default it knows alone.

An update after a failure, when all is in doubt, does not send them.
"""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.resources import builtin, contract, properties
from isotherm.resources.openstack.driver import TableResource

ONLY_GIVEN: dict[str, dict[str, Any]] = {
    "OS::Neutron::Port": {"propagate_uplink_status": True, "port_security_enabled": False},
    "OS::Neutron::Net": {"port_security_enabled": False},
    "OS::Neutron::Router": {"availability_zone_hints": ["a"], "external_gateway_info": {"network": "a"}},
    "OS::Neutron::Subnet": {"gateway_ip": "10.0.0.1", "allocation_pools": [{}], "segment": "a"},
    "OS::Neutron::FloatingIP": {"dns_name": "a", "dns_domain": "a."},
    "OS::Neutron::ProviderNet": {"availability_zone_hints": ["a"], "physical_network": "a"},
}


def body(name: str, before: dict[str, Any]) -> dict[str, Any]:
    """Return what an update sends that wants none of the properties that can be left out."""
    type_ = builtin.registry().types[name]
    wanted = properties.compiled(type_.properties_schema).convert_what_fits({})
    made: Any = type_(contract.ResourceState(name="r", stack_name="s", stack_id="i", token="t", properties=wanted),
                      None)  # type: ignore[arg-type]  # the body needs nothing of the world
    assert isinstance(made, TableResource)
    in_place = [each for each, one in type_.properties_schema.items() if one.update_allowed]
    return made.update_body(before, dict.fromkeys(in_place))


@pytest.mark.parametrize("name", ONLY_GIVEN)
def test_what_was_never_given_is_not_taken_back(name: str) -> None:
    columns = builtin.registry().types[name].table.columns  # type: ignore[attr-defined]  # all have tables
    wires = {columns[each].wire or each for each in ONLY_GIVEN[name]}
    assert not wires & body(name, {}).keys()
    # The service refuses to take a value back, and says so.
    assert wires <= body(name, ONLY_GIVEN[name]).keys()


def test_what_the_service_manages_is_left_to_it() -> None:
    """Nova writes both when a server gets the port."""
    unused = {"device_id": "", "device_owner": ""}
    assert not unused.keys() & body("OS::Neutron::Port", unused).keys()
    assert unused.keys() <= body("OS::Neutron::Port", {"device_id": "a", "device_owner": "b"}).keys()
