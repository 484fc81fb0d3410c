"""Limits hold under concurrent requests (case 64), and a refusal names its limit (case 6)."""

from __future__ import annotations

import asyncio
import collections
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.identity.requester import Requester
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.records import Event
from tests import databases
from tests.engine.conftest import Lab, Tell, resource

EMPTY = "heat_template_version: 2021-04-16\n"


def options(folder: Any, **values: Any) -> None:
    (folder / "isotherm.conf").write_text("[DEFAULT]\n" + "".join(f"{name} = {value}\n" for name, value in values.items()))


async def asked_at_once(*requests: Any) -> Any:
    """How the requests ended: how many were accepted, and the texts of those that were not."""
    answers = await asyncio.gather(*requests, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, errors.UserError)]
    assert all(error.kind == "RequestLimitExceeded" for error in refused), refused
    return len(answers) - len(refused), collections.Counter(str(error) for error in refused)


def test_stacks_of_a_project(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_stacks_per_tenant=7)

    async def story(it: Lab) -> None:
        accepted, refused = await asked_at_once(*(it.api.stacks.create(f"s{n}", Request(EMPTY)) for n in range(50)))
        assert accepted == len(await it.api.stacks.list()) == 7
        text = "Request limit exceeded: You have reached the maximum stacks per tenant, 7. Please delete some stacks."
        assert refused == {text: 43}
        # Another project has its own.
        await it.engine.orchestrator_for(Requester("other")).stacks.create("s", Request(EMPTY))
        # What is gone makes room, for one.
        name = (await it.api.stacks.list())[0]["stack_name"]
        await it.end(await it.api.stacks.delete(name))
        accepted, _ = await asked_at_once(*(it.api.stacks.create(f"t{n}", Request(EMPTY)) for n in range(10)))
        assert accepted == 1

    lab(story)


def test_adopted_stacks_count_too(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_stacks_per_tenant=1)

    async def story(it: Lab) -> None:
        await it.create({})
        with pytest.raises(errors.UserError, match="maximum stacks per tenant, 1"):
            await it.api.exports.adopt("t", {"template": EMPTY})

    lab(story)


_MANY = """
import asyncio, sys
from pathlib import Path
from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.orchestrator import Request
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.records import Event

async def main():
    engine = Embedded(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    empty = Request("heat_template_version: 2021-04-16")
    asked = [engine.orchestrator.stacks.create(f"{sys.argv[2]}{n}", empty) for n in range(25)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    print(sum(not isinstance(answer, Exception) for answer in answers),
          sum(getattr(answer, "kind", "") == "RequestLimitExceeded" for answer in answers), flush=True)
    engine.close()

asyncio.run(main())
"""


def test_stacks_of_a_project_asked_for_in_two_processes(tmp_path: Path) -> None:
    options(tmp_path, max_stacks_per_tenant=11)
    databases.tell(tmp_path)
    Embedded(tmp_path).close()
    both = [subprocess.Popen([sys.executable, "-c", _MANY, str(tmp_path), name], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True) for name in "ab"]
    try:
        for one in both:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in both:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        counts = [tuple(map(int, one.communicate(timeout=240)[0].split())) for one in both]
    finally:
        for one in both:
            one.kill()
            one.wait()
    assert sum(accepted for accepted, _ in counts) == 11, counts
    assert all(accepted + refused == 25 for accepted, refused in counts), counts


def group(count: Any, **definition: Any) -> Any:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": definition or resource()}}


def test_resources_of_a_tree(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_resources_per_stack=6)

    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match=r"Request limit exceeded: Maximum resources per stack exceeded\."):
            await it.create({"g": group(6)})
        assert await it.api.stacks.list() == []
        assert (await it.create({"g": group(5)}))["stack_status"] == "CREATE_COMPLETE"
        with pytest.raises(errors.UserError, match="Maximum resources"):
            await it.api.stacks.update("s", it.request({"g": group(5), "more": resource()}))

    lab(story)


def test_resources_of_a_tree_whose_size_is_known_late(lab: Tell, tmp_path: Path) -> None:
    """Two groups come into being at the same time: each alone would fit."""
    options(tmp_path, max_resources_per_stack=9)

    async def story(it: Lab) -> None:
        late = {"v": {"type": "OS::Heat::Value", "properties": {"value": 4}},
                "a": group({"get_attr": ["v", "value"]}), "b": group({"get_attr": ["v", "value"]})}
        answer = await it.create(late)
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "Maximum resources per stack exceeded." in answer["stack_status_reason"]
        assert len(it.objects()) <= 9 - 3

    lab(story)


def test_resources_that_scaling_would_make(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_resources_per_stack=5)

    async def story(it: Lab) -> None:
        scaled = {
            "g": {"type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 1, "max_size": 9, "desired_capacity": 2, "resource": resource()}},
            "p": {"type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": {"get_resource": "g"}, "adjustment_type": "change_in_capacity",
                "scaling_adjustment": 2}},
        }
        assert (await it.create(scaled))["stack_status"] == "CREATE_COMPLETE"
        with pytest.raises(errors.UserError, match="Maximum resources per stack exceeded"):
            await it.api.signals.send("s", "p")
        assert len(it.objects()) == 2

    lab(story)


def test_depth(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_nested_stack_depth=1)

    async def story(it: Lab) -> None:
        inner = group(1, **group(1))
        with pytest.raises(errors.UserError, match=r"Recursion depth exceeds 1\."):
            await it.create({"g": inner})
        assert (await it.create({"g": group(1)}))["stack_status"] == "CREATE_COMPLETE"

    lab(story)


def test_snapshots_of_a_stack(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_snapshots_per_stack=2)

    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        for _ in range(2):
            await it.end(await it.api.snapshots.take("s"))
        accepted, refused = await asked_at_once(*(it.api.snapshots.take("s") for _ in range(5)))
        assert accepted == 0
        assert set(refused) == {"Request limit exceeded: You have reached the maximum snapshots per stack, 2. "
                                "Please delete some snapshots."}

    lab(story)


def software(number: Any) -> Any:
    return {f"c{n}": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "x"}} for n in range(number)}


async def count(it: Lab, table: str) -> int:
    query = f"SELECT count(*) FROM {table}"
    return await it.engine.store.read(lambda connection: int(connection.exec_driver_sql(query).scalar_one()))


def test_software_configs_of_a_project(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_software_configs_per_tenant=3)

    async def story(it: Lab) -> None:
        answer = await it.create(software(8))
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "maximum software configs per tenant, 3" in answer["stack_status_reason"]
        assert await count(it, "software_configs") == 3

    lab(story)


def test_software_deployments_of_a_project(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_software_deployments_per_tenant=2)

    async def story(it: Lab) -> None:
        deployments = {f"d{n}": {"type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": {"get_resource": "c0"}, "server": "srv", "signal_transport": "NO_SIGNAL"}} for n in range(6)}
        answer = await it.create({**software(1), **deployments})
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "maximum software deployments per tenant, 2" in answer["stack_status_reason"]
        assert await count(it, "software_deployments") == 2

    lab(story)


def test_events_of_a_stack(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_events_per_stack=10)

    async def story(it: Lab) -> None:
        for number in range(4):
            ask = it.create if number == 0 else it.update
            await ask({f"r{n}": resource(str(number)) for n in range(8)})
        kept = await it.api.events.list("s", last=1000)
        assert len(kept) == 10
        assert kept[-1]["resource_status"] == "UPDATE_COMPLETE", "the newest are kept"

    lab(story)


def test_events_of_a_stack_that_no_step_writes(lab: Tell, tmp_path: Path) -> None:
    """An update that changes nothing and a signal write events too, without a step of a worker."""
    options(tmp_path, max_events_per_stack=10)

    async def story(it: Lab) -> None:
        template = {"r": resource(), "h": {"type": "OS::Heat::WaitConditionHandle"}}
        await it.create(template)
        for _ in range(8):
            await it.update(template)
        assert len(await it.api.events.list("s", last=1000)) == 10
        for number in range(12):
            await it.api.signals.send("s", "h", {"id": str(number), "status": "SUCCESS"})
        kept = await it.api.events.list("s", last=1000)
        assert [one["resource_name"] for one in kept] == ["h"] * 10

    lab(story)


def test_all_events_of_a_stack_are_kept_by_default(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": resource()})
        many = [Event(stack["id"], stack["id"], "r", "T", None, Action.SIGNAL, Status.COMPLETE, "")] * 10_001
        await it.engine.store.write(lambda connection: rows.insert_events(connection, many, 0.0))
        before = await count(it, "events")
        await it.update({"r": resource("2")})
        assert before > 10_001
        assert await count(it, "events") == before + 4, "two of the stack, and two of the resource"

    lab(story)


# Case 6.


@pytest.mark.parametrize(("option", "value", "request_", "text"), [
    ("max_template_size", len(EMPTY), Request(EMPTY + "#"),
     f"Template size ({len(EMPTY) + 1} bytes) exceeds maximum allowed size ({len(EMPTY)} bytes)."),
    ("max_template_size", 100, Request(EMPTY, {"a.txt": "ü" * 51}),
     "File a.txt size (102 bytes) exceeds maximum allowed size (100 bytes)."),
    ("max_template_size", 100, Request(EMPTY, environment={"parameters": {"a": "x" * 90}}), "Environment size ("),
    ("max_files_size", 100, Request(EMPTY, {f"{n}.txt": "x" * 51 for n in range(2)}),
     "Size of all files (102 bytes) exceeds maximum allowed size (100 bytes)."),
    ("max_files", 100, Request(EMPTY, {f"{n}.txt": "" for n in range(101)}),
     "Number of files (101) exceeds maximum allowed number (100)."),
])
def test_what_is_too_big_is_refused_by_the_name_of_its_limit(
    lab: Tell, tmp_path: Path, option: Any, value: Any, request_: Any, text: Any
) -> None:
    options(tmp_path, **{option: value})

    async def story(it: Lab) -> None:
        for ask in (it.api.stacks.create("s", request_), it.api.preview.changes("s", request_)):
            with pytest.raises(errors.UserError) as error:
                await ask
            assert error.value.kind == "RequestLimitExceeded"
            assert f"Request limit exceeded: {text}" in str(error.value)
            assert option in error.value.problems[0].hint
        assert await it.api.stacks.list() == []

    lab(story)


def test_what_is_just_not_too_big_is_accepted(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, max_template_size=len(EMPTY), max_files=1, max_files_size=len(EMPTY))

    async def story(it: Lab) -> None:
        answer = await it.end(await it.api.stacks.create("s", Request(EMPTY, {"a.txt": "x" * len(EMPTY)})))
        assert answer["stack_status"] == "CREATE_COMPLETE"

    lab(story)
