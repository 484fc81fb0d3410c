"""The types that need no cloud, driven as the engine drives them, against a reality of their own."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract, heat, registry
from isotherm.resources.catalog.type_table import TypeTable
from isotherm.resources.heat import delay, dummy, none, random_string, test_resource, value
from isotherm.resources.reality.journal import MemoryReality


@dataclass
class Clock:
    time: float = 1000.0

    def now(self) -> float:
        return self.time


class Stage:
    """One resource on a stage: the world, and what the engine would remember of it."""

    def __init__(self, kind: type[contract.Resource], seed: int = 1, **properties: Any) -> None:
        self.kind, self.clock, self.reality = kind, Clock(), MemoryReality()
        self.context = contract.Context(clock=self.clock, random=random.Random(seed), reality=self.reality)
        self.properties = registry.typed_properties(kind, properties)
        self.physical_id: str | None = None
        self.data: dict[str, Any] = {}

    def resource(self) -> contract.Resource:
        state = contract.ResourceState(name="r", stack_name="s", stack_id="id", token="token-1", properties=self.properties,
                                       physical_id=self.physical_id, data=self.data)
        return self.kind(state, self.context)

    def run(self, action: str, *arguments: Any) -> float:
        """The whole operation; how long it took. Between any two calls the object is thrown away."""
        began = self.clock.now()
        one = self.resource()
        progress = asyncio.run(getattr(one, f"handle_{action}")(*arguments))
        self.physical_id = one.physical_id
        while True:
            one = self.resource()
            try:
                answer = asyncio.run(getattr(one, f"check_{action}_complete")(progress))
            finally:
                self.physical_id = one.physical_id
            if answer is True:
                return self.clock.now() - began
            assert isinstance(answer, contract.Wait)
            assert answer.reason and answer.seconds is not None
            self.clock.time += answer.seconds

    def update(self, **properties: Any) -> float:
        before, self.properties = self.properties, registry.typed_properties(self.kind, properties)
        changed = {name: after for name, after in self.properties.items() if before[name] != after}
        return self.run("update", before, changed)

    def replaced_by(self, **properties: Any) -> str | None:
        after = registry.typed_properties(self.kind, properties)
        changed = {name: one for name, one in after.items() if self.properties[name] != one}
        return self.resource().needs_replace(self.properties, after, changed)

    def attribute(self, name: str) -> object:
        return asyncio.run(self.resource().attribute(name))


@pytest.mark.ledger("S2.1")
def test_dummy_waits_one_to_five_seconds_and_is_a_random_string() -> None:
    stage = Stage(dummy.Dummy, name_len=12)
    assert 1 <= stage.run("create") <= 5
    assert stage.physical_id is not None
    assert len(stage.physical_id) == 12
    assert list(stage.reality.objects) == [stage.physical_id]
    assert 1 <= stage.update(name_len=12, update_in_place_prop="x") <= 5
    assert 1 <= stage.run("delete") <= 5
    assert not stage.reality.objects


@pytest.mark.ledger("S2.1")
@pytest.mark.parametrize(("longest", "least", "most"), [(0, 0, 0), (0.5, 0.5, 0.5), (1, 1, 1), (30, 1, 30)])
def test_dummy_waits_as_long_as_it_is_told(longest: float, least: float, most: float) -> None:
    assert least <= Stage(dummy.Dummy, max_wait_secs=longest).run("create") <= most


@pytest.mark.ledger("S2.1")
def test_dummy_replaces_unless_the_property_for_updates_changes() -> None:
    stage = Stage(dummy.Dummy)
    assert stage.replaced_by(name_len=5) == "name_len"
    assert stage.replaced_by(fail_prop="yes") == "fail_prop"
    assert stage.replaced_by(update_in_place_prop="x") is None
    assert stage.replaced_by(update_in_place_prop="x", fail_prop="yes") is None


@pytest.mark.ledger("S2.1")
def test_dummy_fails_when_told() -> None:
    with pytest.raises(ValueError, match="failed r"):
        Stage(dummy.Dummy, fail_prop="yes").run("create")
    stage = Stage(dummy.Dummy)
    stage.run("create")
    with pytest.raises(ValueError, match="failed r"):
        stage.update(fail_prop="yes", update_in_place_prop="x")


def test_dummies_with_short_names_do_not_collide() -> None:
    stage = Stage(dummy.Dummy, name_len=1)
    for taken in "abcdefghijklmnopqrstuvwxyz01234":
        asyncio.run(stage.reality.create("T", f"other-{taken}", {}, taken))
    stage.run("create")
    assert stage.physical_id in set("56789")


@pytest.mark.parametrize("kind", [dummy.Dummy, test_resource.TestResource])
def test_what_was_made_is_found_again_by_its_token(kind: type[contract.Resource]) -> None:
    stage = Stage(kind)
    asyncio.run(stage.resource().handle_create())
    assert asyncio.run(stage.resource().find_by_token()) == contract.Found(next(iter(stage.reality.objects)))
    with pytest.raises(errors.Permanent):
        asyncio.run(stage.resource().handle_create())
    stage.physical_id = next(iter(stage.reality.objects))
    assert asyncio.run(stage.resource().check_create_complete(None)) is True


@pytest.mark.parametrize("kind", [dummy.Dummy, test_resource.TestResource])
def test_check_sees_what_is_gone(kind: type[contract.Resource]) -> None:
    stage = Stage(kind)
    stage.run("create")
    stage.run("check")
    stage.reality.objects.clear()
    with pytest.raises(errors.Permanent):
        stage.run("check")
    stage.run("delete")  # a delete of what is gone is a success


def test_test_resource_stores_a_value() -> None:
    stage = Stage(test_resource.TestResource, value="one")
    assert stage.run("create") == 0
    assert asyncio.run(stage.resource().reference()) == stage.physical_id == stage.resource().physical_name
    assert stage.attribute("output") == "one"
    stage.update(value="two")
    assert stage.attribute("output") == "two"
    stage.run("delete")
    assert not stage.reality.objects


def test_test_resource_waits_per_action_and_only_for_a_new_value() -> None:
    waits: dict[str, Any] = {"wait_secs": 2, "action_wait_secs": {"create": 5, "update": 7}}
    stage = Stage(test_resource.TestResource, **waits)
    assert stage.run("create") == 5
    assert stage.update(**waits, value="x") == 7
    assert stage.update(**waits, value="x", entity_name="e") == 0
    assert stage.run("delete") == 2


def test_test_resource_that_fails_leaves_nothing_behind() -> None:
    stage = Stage(test_resource.TestResource, fail=True, wait_secs=3)
    with pytest.raises(ValueError, match=r"^Test Resource failed r$"):
        stage.run("create")
    assert stage.physical_id is None
    assert not stage.reality.objects


def test_test_resource_forever() -> None:
    stage = Stage(test_resource.TestResource, wait_secs=-1)
    progress = asyncio.run(stage.resource().handle_create())
    stage.clock.time += 10**9
    assert isinstance(asyncio.run(stage.resource().check_create_complete(progress)), contract.Wait)


def test_test_resource_replacement_when_told() -> None:
    stage = Stage(test_resource.TestResource)
    assert stage.replaced_by(value="x", update_replace=True) == "value"
    assert stage.replaced_by(value="x") is None
    assert stage.replaced_by(update_replace=True) is None


def test_random_string_fulfils_its_minimums() -> None:
    stage = Stage(random_string.RandomString, length=12, character_sequences=[{"sequence": "#!", "min": 4}],
                  character_classes=[{"class": "digits", "min": 3}, {"class": "uppercase", "min": 2}])
    stage.run("create")
    drawn = stage.attribute("value")
    assert isinstance(drawn, str)
    assert len(drawn) == 12
    assert sum(char in "#!" for char in drawn) >= 4
    assert sum(char.isdigit() for char in drawn) >= 3
    assert sum(char.isupper() for char in drawn) >= 2
    assert asyncio.run(stage.resource().reference()) == drawn


@pytest.mark.ledger("S0.4")
def test_random_string_is_the_same_for_the_next_worker() -> None:
    stage = Stage(random_string.RandomString)
    progress: Any = asyncio.run(stage.resource().handle_create())
    assert stage.data == {}
    for _ in range(2):
        assert asyncio.run(stage.resource().check_create_complete(progress)) is True
    assert stage.attribute("value") == progress["value"]  # its progress is a map
    assert len(progress["value"]) == 32


def test_random_string_in_the_old_spelling() -> None:
    stage = Stage(random_string.RandomString, sequence="octdigits", length=50)
    stage.run("create")
    assert set(str(stage.attribute("value"))) <= set("01234567")


@pytest.mark.parametrize(("kind", "given", "expected"), [
    ("string", 5, "5"), ("number", "5", 5), ("json", {"a": 1}, {"a": 1}), ("comma_delimited_list", [1], [1]),
    ("boolean", "true", True), (None, 5, 5), ("number", None, 0)])
def test_value_has_the_type_it_is_told(kind: str | None, given: object, expected: object) -> None:
    more: dict[str, Any] = {"type": kind} if kind else {}
    stage = Stage(value.Value, value=given, **more)
    stage.run("create")
    assert stage.attribute("value") == expected


def test_none_takes_anything_and_gives_nothing() -> None:
    stage = Stage(none.NoneResource, whatever=[1])
    stage.run("create")
    assert stage.properties == {}
    assert stage.attribute("whatever") is None
    stage.run("delete")


def test_delay() -> None:
    stage = Stage(delay.Delay, min_wait=2, max_jitter=3, jitter_multiplier=2)
    assert 2 <= stage.run("create") <= 8
    assert stage.run("delete") == 0
    assert Stage(delay.Delay, min_wait=2, actions=["DELETE"]).run("create") == 0


def test_every_type_is_described() -> None:
    types = registry.Registry(TypeTable(addresses=heat.TYPES))
    assert "OS::Heat::Dummy" in types.list()
    assert types.list(name="Random") == types.list(name="*::Random*") == ["OS::Heat::RandomString"]
    for name in types.list():
        shown = types.show(name)
        assert shown["description"]
        assert all(one["description"] for one in shown["properties"].values())
        assert "show" in shown["attributes"]
        assert types.template(name, "hot")["resources"]
        assert types.template(name, "cfn")["Resources"]
    assert "sequence" not in types.show("OS::Heat::RandomString")["properties"]
    with pytest.raises(errors.NotFound, match=r"The Resource Type \(Foo\) could not be found\."):
        types.show("Foo")


def test_the_template_of_a_type() -> None:
    hot = registry.Registry(TypeTable(addresses=heat.TYPES)).template("OS::Heat::TestResource", "hot")
    assert hot["parameters"]["wait_secs"]["default"] == 0
    assert hot["resources"] == {"TestResource": {"type": "OS::Heat::TestResource", "properties": {
        name: {"get_param": name} for name in test_resource.TestResource.properties_schema}}}
    assert hot["outputs"]["output"]["value"] == {"get_attr": ["TestResource", "output"]}
    cfn = registry.Registry(TypeTable(addresses=heat.TYPES)).template("OS::Heat::RandomString", "cfn")
    assert cfn["Parameters"]["length"] == {
        "Type": "Number", "Description": "How many characters the string has.", "Default": 32, "MinValue": 1,
        "MaxValue": 512}
    assert cfn["Resources"]["RandomString"]["Properties"]["character_classes"] == {
        "Fn::Split": [",", {"Ref": "character_classes"}]}
