"""Every property that can change in place is changed on a real cloud, and looked at with openstacksdk; then objects are
replaced, and deleted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isotherm.cli import codes
from isotherm.resources import builtin
from tests import cloud_stacks, clouds, outsider, patience, property_changes
from tests.clouds import CloudProject
from tests.outsider import Outsider
from tests.property_changes import PATHS, SERVICES, Step

WITHIN_S = 60.0
Run = Callable[..., str]
_AGENTS, _SECRETS = "the cloud has no agents: test_agents.py", "needs a secret store"
#: Properties that no step changes, by type and name, each with its reason.
LEFT_OUT: dict[str, dict[str, str]] = {
    "OS::Neutron::Net": {"dhcp_agent_ids": _AGENTS},
    "OS::Neutron::Router": {"l3_agent_id": _AGENTS, "l3_agent_ids": _AGENTS},
    "OS::Nova::Server": {
        "software_config_transport": "needs the service: test_user_data.py",
        "deployment_swift_data": "belongs to POLL_TEMP_URL, which is refused"},
    "OS::Octavia::Listener": {"default_tls_container_ref": _SECRETS, "sni_container_refs": _SECRETS},
}
#: Types whose properties all change in place, or not at all.
NEVER_REPLACED = {"OS::Neutron::SecurityGroup", "OS::Cinder::VolumeType", "OS::Cinder::VolumeAttachment",
                  "OS::Neutron::FloatingIPAssociation", "OS::Nova::FloatingIPAssociation", "AWS::EC2::EIPAssociation",
                  "OS::Neutron::Trunk"}


@pytest.fixture
def given(cloud_project: CloudProject, around: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield ids and names that the tables use, in a project whose user is an administrator."""
    clouds.promote(cloud_project)
    sdk: Any = cloud_project.sdk
    admin: Any = cloud_project.admin
    number = int(cloud_project.id[:6], 16) % 1000
    source = sdk.block_storage.create_volume(size=1, image_id=sdk.image.find_image("cirros").id)
    sdk.block_storage.wait_for_status(source, "available", wait=240)
    backup = sdk.block_storage.create_backup(volume_id=source.id)
    sdk.block_storage.wait_for_status(backup, "available", wait=240)
    sdk.block_storage.delete_volume(source)
    try:
        yield {
            **around, "project": cloud_project.id, "demo": admin.identity.find_project("demo").id,
            "public": sdk.network.find_network("public").id, "backup": backup.id, "stack": cloud_project.name,
            "type_name": admin.block_storage.get_type(around["type"]).name,
            "vlan": str(1000 + number), "other_vlan": str(2000 + number), "last_vlan": str(3000 + number)}
    finally:
        sdk.block_storage.delete_backup(backup)
        sdk.block_storage.wait_for_delete(backup)


class Seen:
    """The objects of a stack, as the services show them."""

    def __init__(self, run: Run, project: CloudProject, given: dict[str, str]) -> None:
        self._run, self._project = run, project
        self._given = given
        self.ids = outsider.ids(run, project.name)
        self._outsider = Outsider(project, {**given, **self.ids})

    def _document(self, path: str) -> Any:
        service = SERVICES.get(path.split("/")[1].split("?")[0], "object-store")
        if service == "object-store":
            reply = self._project.sdk.object_store.head(self._outsider.filled(path))
            return {name.lower(): value for name, value in reply.headers.items()}
        return self._outsider.send("GET", service, path)

    def object(self, name: str, template: dict[str, Any]) -> Any:
        path = PATHS[template["resources"][name]["type"]].replace("{id}", f"{{{name}}}")
        found = self._document(path)
        return found if path.count("/") == 1 else next(iter(found.values()))

    def settle(self, step: Step, template: dict[str, Any]) -> None:
        """Wait until the services show what the step wants. Nova detaches an interface a moment after it has said so."""
        with contextlib.suppress(AssertionError):
            patience.until(lambda: not self.differences(step, template), WITHIN_S)
        assert "\n".join(self.differences(step, template)) == ""

    def differences(self, step: Step, template: dict[str, Any]) -> list[str]:
        """Return what the services show otherwise than the step wants."""
        pairs = [(name, self.object(name, template), values) for name, values in step.shown.items()]
        pairs += [(path, self._document(path), values) for path, values in step.at.items()]
        return [f"{place}: {path} is {found}, wanted {wanted}" for place, document, values in pairs
                for path, each in values.items()
                if not property_changes.agrees(wanted := json.loads(self._outsider.filled(json.dumps(each))),
                                               found := property_changes.look(document, path))]


def filled(given: dict[str, str], template: dict[str, Any]) -> str:
    text = json.dumps(template)
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@pytest.mark.long
@pytest.mark.parametrize("name", property_changes.names())
def test_every_property_changes_in_place(name: str, run: Run, cloud_project: CloudProject, given: dict[str, str]) -> None:
    story, stack = property_changes.story(name), cloud_project.name
    first, *templates, replacing = story.templates()
    run("deploy", stack, template=filled(given, first))
    assert outsider.seen(run, stack) == {}
    made = outsider.ids(run, stack)
    for step, template in zip(story.steps, templates, strict=True):
        run("update", stack, template=filled(given, template))
        now = Seen(run, cloud_project, given)
        replaced = {each for each, id_ in made.items() if now.ids[each] != id_} - {*step.moves}
        assert replaced == set(), "replaced by other objects"
        now.settle(step, template)
        assert outsider.seen(run, stack) == {}
        made = now.ids
    for said, template in story.refusals():
        run("update", stack, template=filled(given, template), code=codes.FAILED)
        assert said in run("events", stack, "--last", "20")
        run("update", stack, template=filled(given, templates[-1]))
        assert outsider.ids(run, stack) == made
    run("update", stack, template=filled(given, replacing))
    last = outsider.ids(run, stack)
    assert {each for each in story.replace if last[each] == made[each]} == set(), "not replaced"
    assert outsider.seen(run, stack) == {}
    run("delete", stack, "--yes")
    assert cloud_stacks.objects(cloud_project) == {}


def test_no_property_is_forgotten() -> None:
    changed: dict[str, set[str]] = {}
    for name in property_changes.names():
        for type_, properties in property_changes.story(name).changed().items():
            changed.setdefault(type_, set()).update(properties)
    types = builtin.registry().types
    in_place = {name: {each for each, schema in types[name].properties_schema.items() if schema.update_allowed}
                for name in cloud_stacks.table_types()}
    left = {name: sorted(names ^ (changed.get(name, set()) | LEFT_OUT.get(name, {}).keys()))
            for name, names in in_place.items()}
    assert {name: names for name, names in left.items() if names} == {}, "not changed by a step, or not changed in place"


def test_no_type_is_never_replaced() -> None:
    types = builtin.registry().types
    can = {name for name in cloud_stacks.table_types()
           if any(not (one.update_allowed or one.immutable) for one in types[name].properties_schema.values())}
    replaced = {type_ for name in property_changes.names() for type_ in property_changes.story(name).types_replaced()}
    assert replaced == can
    assert cloud_stacks.table_types() - can == NEVER_REPLACED
