"""Every attribute of the types of a cloud is read on a real cloud, and compared with what openstacksdk's session shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
import yaml

from isotherm.resources import builtin
from tests import cloud_stacks, clouds, outsider
from tests.clouds import CloudProject
from tests.outsider import Outsider
from tests.property_changes import PATHS, SERVICES

Run = Callable[..., str]
Raw = Mapping[str, Any]
TYPES = builtin.registry().types
#: Types that the stacks here do not have, and the tests that read all their attributes.
ELSEWHERE = {"OS::Swift::Container": "test_swift.py", "OS::Nova::FloatingIP": "test_trunks_and_routes.py"}
STACKS = ("all", "small", "admin", "ec2")
CONSOLES = {"novnc", "xvpvnc", "spice-html5", "rdp-html5", "serial", "webmks"}


def first_address(raw: Raw) -> Any:
    [addresses] = raw["addresses"].values()
    return addresses[0]["addr"]


def without_token(tags: list[str]) -> list[str]:
    return [one for one in tags if not one.startswith("isotherm-")]


def own_metadata(raw: Raw) -> dict[str, str]:
    return {name: value for name, value in raw["metadata"].items() if name != "isotherm"}


def ids_of(objects: list[Raw]) -> list[Any]:
    return [one["id"] for one in objects]


def same_consoles(found: Any) -> bool:
    return bool(found.keys() == CONSOLES and all(isinstance(one, str) and one for one in found.values()))


#: The values of attributes that are not shown under their own names, by type and attribute, made of what the service shows.
MADE: dict[str, dict[str, Callable[[Raw], Any]]] = {
    "OS::Nova::Server": {
        "first_address": first_address, "tags": lambda raw: without_token(raw["tags"]),
        "instance_name": lambda raw: raw.get("OS-EXT-SRV-ATTR:instance_name")},
    "OS::Cinder::Volume": {
        "display_name": lambda raw: raw["name"], "attachments_list": lambda raw: raw["attachments"],
        "attachments": lambda raw: str(raw["attachments"]), "metadata": lambda raw: json.dumps(own_metadata(raw)),
        "metadata_values": own_metadata, "multiattach": lambda raw: raw["multiattach"],
        "display_description": lambda raw: raw["description"]},
    "OS::Nova::Flavor": {"is_public": lambda raw: raw["os-flavor-access:is_public"]},
    "AWS::EC2::Instance": {
        "AvailabilityZone": lambda raw: raw["OS-EXT-AZ:availability_zone"],
        **dict.fromkeys(("PrivateDnsName", "PrivateIp", "PublicDnsName", "PublicIp"), first_address)},
    "AWS::EC2::EIP": {"AllocationId": lambda raw: raw["id"]},
}
#: Attributes that further requests tell, with what has to be so of their values.
OTHERWISE: dict[str, dict[str, Callable[[Any], bool]]] = {
    "OS::Nova::Server": {
        "addresses": lambda found: all(one["port"] and one["subnets"] for many in found.values() for one in many),
        "networks": lambda found: all(found.values()), "console_urls": same_consoles,
        "os_collect_config": lambda found: found == {}},
    "OS::Nova::KeyPair": {
        "public_key": lambda found: found.startswith("ssh-"), "private_key": lambda found: "PRIVATE KEY" in found},
    # Only administrators see segments.
    "OS::Neutron::Net": {"segments": lambda found: found == []},
    "OS::Neutron::ProviderNet": {"segments": lambda found: len(found) == 1 and bool(found[0]["network_type"])},
    "OS::Neutron::Port": {
        "network": lambda found: found["status"] == "ACTIVE",
        "subnets": lambda found: all(one["cidr"] == "10.9.0.0/24" for one in found)},
}


def attributes_of(stack: str) -> list[tuple[str, str, str]]:
    """Return resource, type and attribute, for each attribute of the types of a stack."""
    return [(name, one["type"], attribute) for name, one in cloud_stacks.STACKS[stack].items()
            for attribute in TYPES[one["type"]].attributes_schema if attribute != "show"]


def template(stack: str) -> str:
    found = yaml.safe_load(cloud_stacks.template(stack))
    found["outputs"] = {f"{name}.{attribute}": {"value": {"get_attr": [name, attribute]}}
                        for name, _, attribute in attributes_of(stack)}
    return yaml.safe_dump(found)


def shown(other: Outsider, type_: str, name: str) -> Raw:
    """Return an object as its service shows it."""
    path = PATHS[type_].replace("{id}", f"{{{name}}}")
    answer: dict[str, Any] = other.send("GET", SERVICES[path.split("/")[1]], path)
    found: Raw = next(iter(answer.values()))
    return found


def differs(type_: str, attribute: str, value: Any, raw: Callable[[], Raw]) -> str:
    """Return how an attribute differs from what the service shows; empty if it does not."""
    check = OTHERWISE.get(type_, {}).get(attribute)
    if check is not None:
        return "" if check(value) else f"{value!r} cannot be"
    found = raw()
    made = MADE.get(type_, {}).get(attribute)
    wanted = made(found) if made else found[attribute]
    if type_ == "OS::Cinder::Volume" and made is None and wanted is not None:
        wanted = str(wanted)
    return "" if value == wanted else f"{value!r}, and the service shows {wanted!r}"


@pytest.mark.long
@pytest.mark.parametrize("stack", STACKS)
def test_every_attribute_is_what_the_service_shows(stack: str, run: Run, cloud_project: CloudProject) -> None:
    if stack == "admin":
        clouds.promote(cloud_project)
    name = cloud_project.name
    run("deploy", name, template=template(stack))
    # As with Heat, an output shows an attribute as it was when its resource was complete; an observation reads it again.
    run("converge", name)
    values = {one["output_key"]: one["output_value"] for one in json.loads(run("outputs", name, "--json"))}
    other = Outsider(cloud_project, outsider.ids(run, name))
    if stack == "ec2":
        # The id of an address is the reference of its resource; the allocation is that of the service.
        other.ids["address"] = values["address.AllocationId"]
    found = {f"{resource}.{attribute}": differs(type_, attribute, values[f"{resource}.{attribute}"],
                                                partial(shown, other, type_, resource))
             for resource, type_, attribute in attributes_of(stack)}
    assert "\n".join(f"{key}: {difference}" for key, difference in found.items() if difference) == ""
    run("delete", name, "--yes")
    assert cloud_stacks.objects(cloud_project) == {}


def test_no_type_is_forgotten() -> None:
    with_attributes = {name for name in cloud_stacks.table_types() if {*TYPES[name].attributes_schema} - {"show"}}
    here = {type_ for stack in STACKS for _, type_, _ in attributes_of(stack)}
    assert with_attributes - here == ELSEWHERE.keys()
