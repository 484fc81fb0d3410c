"""Values of any kind from other resources while a stack is created: each reader works, or fails with a reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Accepted
from isotherm.resources import builtin
from tests.any_values import Anything
from tests.engine.conftest import Lab, Tell

KINDS = ["OS::Heat::Value", "OS::Heat::TestResource", "OS::Heat::RandomString", "OS::Heat::ResourceGroup",
         "OS::Heat::ResourceChain", "OS::Heat::AutoScalingGroup", "OS::Heat::Stack", "OS::Heat::SoftwareConfig",
         "OS::Heat::MultipartMime", "OS::Heat::None"]
FROM_ANOTHER: list[Any] = [{"get_attr": ["v", "value", *path]} for path in ([], ["a"], [0], ["a", "b"])]
LIKELY = [*FROM_ANOTHER, {"get_param": ["j", FROM_ANOTHER[0]]}, {"get_param": "j"}, {"list_join": [",", FROM_ANOTHER[0]]},
          {"str_split": [",", FROM_ANOTHER[0]]}, {"map_merge": FROM_ANOTHER[:2]}, {"list_concat": FROM_ANOTHER[:2]},
          {"digest": ["md5", FROM_ANOTHER[0]]}, {"yaql": {"expression": "$.data.len()", "data": FROM_ANOTHER[0]}}]
PARAMETERS = {"j": {"type": "json", "default": {"a": [1, {"b": 2}]}}}
# What a mistake of ours looks like. Of the last one Heat says the same.
OURS = re.compile(r"\b(Bug|(Attribute|Type|Key|Index|Name|Assertion|Runtime|Recursion|Unicode\w*)Error)\b"
                  r"|has no attribute '(?!split')")


def _resources(some: Anything) -> dict[str, Any]:
    kind = some.one_of(KINDS)
    names = [name for name in builtin.registry().types[kind].properties_schema if "wait" not in name]
    made = {"type": kind, "properties": some.one_of(LIKELY) if some.chance(0.1) else {
        name: some.one_of(LIKELY) for name in names if some.chance(0.4)}}
    made |= {word: some.one_of(LIKELY) for word in ("metadata", "update_policy", "external_id") if some.chance(0.1)}
    return {"v": {"type": "OS::Heat::Value", "properties": {"value": some.plain()}}, "r": made}


@pytest.mark.parametrize("seed", range(2))
def test_any_value_is_used_or_refused(lab: Tell, caplog: pytest.LogCaptureFixture, seed: Any) -> None:
    async def story(it: Lab) -> None:
        some = Anything(seed, LIKELY)

        def asked() -> Any:
            outputs = {"o": {"value": some.one_of(LIKELY)}, "all": {"value": {"get_attr": ["r"]}}}
            return it.request(_resources(some), parameters=PARAMETERS, outputs=outputs)

        accepted: list[Accepted] = []
        while len(accepted) < 30:
            try:
                accepted.append(await it.api.stacks.create(f"s{len(accepted)}", asked()))
            except errors.UserError as error:
                assert not OURS.search(str(error))
        for name in [(await it.end(one))["stack_name"] for one in accepted]:
            try:
                await it.api.stacks.update(name, asked())
            except errors.UserError as error:
                assert not OURS.search(str(error))
        told = []
        for one in accepted:
            stack = await it.end(one)
            rows = await it.api.resources.list(stack["stack_name"])
            told += [stack["stack_status_reason"], *(row["resource_status_reason"] for row in rows)]
            told += [output.get("output_error") or "" for output in await it.api.outputs.list(stack["stack_name"])]
        assert [text for text in told if OURS.search(text)] == []
        assert any(told), "nothing went wrong: this was not hard enough"
        for one in [await it.api.stacks.delete(one.stack_id) for one in accepted]:
            assert (await it.end(one))["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}
        assert [one for one in caplog.records if one.levelname == "ERROR"] == [], "nor was anybody else disturbed"

    lab(story)
