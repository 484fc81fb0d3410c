"""Outputs of nested stacks that have an error: the outer stack shows the reason, through any number of stacks."""

from __future__ import annotations

import pytest

from isotherm.store import rows
from tests.engine.conftest import Lab, Tell

LEAF = """
heat_template_version: 2021-04-16
outputs:
  good: {value: 1}
  bad: {value: {get_param: foo}}
"""
MIDDLE = """
heat_template_version: 2021-04-16
resources:
  leaf: {type: leaf.yaml}
outputs:
  good: {value: {get_attr: [leaf, good]}}
  bad: {value: {get_attr: [leaf, bad]}}
"""


def test_the_reason_comes_up(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        outputs = {name: {"value": {"get_attr": ["a", name]}} for name in ("good", "bad")}
        stack = await it.create({"a": {"type": "middle.yaml"}}, outputs=outputs,
                                files={"leaf.yaml": LEAF, "middle.yaml": MIDDLE})
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        found = {one["output_key"]: one for one in await it.api.outputs.list("s")}
        assert found["good"]["output_value"] == 1
        assert "output_error" not in found["good"]
        assert found["bad"]["output_value"] is None
        assert found["bad"]["output_error"] == (
            "Error in a output bad: Error in leaf output bad: The Parameter (foo) was not provided.")

    lab(story)


def test_what_is_deleted_while_it_is_read_is_not_known(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks at the database an update may have taken it away."""

    async def story(it: Lab) -> None:
        outputs = {"bad": {"value": {"get_attr": ["a", "bad"]}}}
        await it.create({"a": {"type": "leaf.yaml"}}, outputs=outputs, files={"leaf.yaml": LEAF})
        monkeypatch.setattr(rows, "versions", lambda connection, ids: {})
        assert [(one["output_key"], one["output_value"]) for one in await it.api.outputs.list("s")] == [("bad", None)]

    lab(story)
