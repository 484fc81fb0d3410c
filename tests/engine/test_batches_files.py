"""Updates of groups in batches: members that are not reached yet keep the templates that they were made with."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.engine.queries.stacks import StackQuery
from tests.engine.conftest import Lab, Tell
from tests.engine.test_groups import complete, inside

GROUPS = ["OS::Heat::ResourceGroup", "OS::Heat::AutoScalingGroup"]


def leaf(text: str, fail: str = "false") -> str:
    """A template whose object says by which text it was made; what it includes says so too."""
    return f"""
heat_template_version: 2021-04-16
parameters: {{value: {{type: string}}}}
resources:
  inner: {{type: OS::Heat::TestResource, properties: {{value: {text}, fail: {fail}}}}}
  deep: {{type: deep.yaml}}
"""


def deep(text: str) -> str:
    return ("heat_template_version: 2021-04-16\n"
            f"resources: {{r: {{type: OS::Heat::TestResource, properties: {{value: deep-{text}}}}}}}")


def files(text: str, name: str = "leaf.yaml", **more: str) -> dict[str, str]:
    return {name: leaf(text, **more), "deep.yaml": deep(text)}


def group(kind: str, value: str, *, count: int = 3, of: str = "leaf.yaml", pause: float = 1000) -> dict[str, Any]:
    one = {"type": of, "properties": {"value": value}}
    policy = {"max_batch_size": 1, "pause_time": pause}
    if kind == GROUPS[0]:
        return {"type": kind, "properties": {"count": count, "resource_def": one},
                "update_policy": {"rolling_update": policy}}
    return {"type": kind, "properties": {"min_size": 1, "max_size": 9, "desired_capacity": count, "resource": one,
                                         "rolling_updates": policy}}


async def begin(it: Lab, kind: str, value: str, **options: Any) -> Any:
    own = {key: options.pop(key) for key in ("of", "pause") if key in options}
    return await it.api.stacks.update("s", it.request({"g": group(kind, value, **own)}, timeout_s=40000.0, **options))


def made(it: Lab, **counts: int) -> bool:
    """Whether so many members are made by each text, together with what they include."""
    return it.values() == sorted(text for one, count in counts.items() for text in [one, f"deep-{one}"] * count)


async def pauses(it: Lab, **counts: int) -> None:
    """Wait until the group pauses with so many members of each; nothing else is reached on the way."""

    async def rests() -> bool:
        return made(it, **counts) and (await it.api.stacks.show(await inside(it)))["status"] == "COMPLETE"

    await it.until(rests)


@pytest.mark.parametrize("kind", GROUPS)
def test_members_that_are_not_reached_keep_their_files(lab: Tell, kind: Any) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(kind, "1")}, files=files("one"), timeout_s=40000.0))
        await begin(it, kind, "2", files=files("two"))
        await pauses(it, one=2, two=1)
        # A check of the members that were not reached leaves them what they are.
        for member in await it.api.resources.list(await inside(it)):
            await it.end(await it.api.stacks.check(member["physical_resource_id"]))
        assert made(it, one=2, two=1)

    lab(story)


@pytest.mark.parametrize("kind", GROUPS)
def test_changed_twice_before_a_member_is_reached(lab: Tell, kind: Any) -> Any:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(kind, "1")}, files=files("one"), timeout_s=40000.0))
        await begin(it, kind, "2", files=files("two"))
        await pauses(it, one=2, two=1)
        # The definition of two members is that of the third version again, but what it names is not.
        third = await begin(it, kind, "1", files=files("three"))
        await it.until(lambda: _any(it, "three"))
        assert it.values().count("three") == 1, "one at a time"
        assert {"one", "two"} & set(it.values())
        await complete(it, await it.end(await begin(it, kind, "4", files=files("four"), pause=0)))
        assert made(it, four=3)
        assert third.generation == 3
        await it.delete()
        assert it.objects() == {}
        assert await it.api.stacks.page(StackQuery(nested=True)) == []

    async def _any(it: Lab, text: str) -> bool:
        return text in it.values()

    lab(story)


@pytest.mark.parametrize("kind", GROUPS)
def test_the_template_of_those_that_are_not_reached_is_not_handed_over_any_more(lab: Tell, kind: Any) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(kind, "1", of="old.yaml")}, files=files("one", "old.yaml")))
        stack = await it.end(await begin(it, kind, "1", of="new.yaml", files=files("two", "new.yaml"), pause=0))
        await complete(it, stack)
        assert made(it, two=3)

    lab(story)


@pytest.mark.parametrize("kind", GROUPS)
def test_a_rollback_leaves_those_alone_that_were_not_reached(lab: Tell, kind: Any) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(kind, "1")}, files=files("one")))
        before = set(it.objects())
        bad = files("two", fail="true")
        stack = await it.end(await begin(it, kind, "2", files=bad, pause=0, disable_rollback=False))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE", stack["stack_status_reason"]
        assert made(it, one=3)
        assert len(before & set(it.objects())) >= 4, "two members are what they were"

    lab(story)
