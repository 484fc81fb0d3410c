"""Lifecycle plug-ins: asked before each operation on a root stack, and called after its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HOOK = """
    import json
    from pathlib import Path

    class Record:
        def before(self, operation):
            self.write("before", operation)
            if operation.stack_name == "forbidden":
                raise ValueError("stacks of this name are not allowed here")
            if operation.stack_name == "broken":
                raise KeyError("colour")

        def after(self, operation):
            self.write("after", operation)
            if operation.action == "CHECK":
                raise RuntimeError("an error of a plug-in changes nothing")

        def write(self, when, operation):
            with (Path(__file__).parent / "record.txt").open("a") as record:
                record.write(json.dumps([when, operation.action, operation.stack_name, bool(operation.failure)]) + "\\n")

    STACK_LIFECYCLE = Record
"""
INNER = "heat_template_version: 2021-04-16\nresources: {v: {type: OS::Heat::Value, properties: {value: 1}}}\n"
OUTER = "heat_template_version: 2021-04-16\nresources: {inside: {type: inner.yaml}}\n"
FAILS = """
heat_template_version: 2021-04-16
resources:
  v: {type: OS::Heat::TestResource, properties: {value: a, fail: true}}
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Any:
    """Return and forget the calls of the plug-in."""

    def read() -> list[Any]:
        file = tmp_path / "plugins" / "record.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [tuple(json.loads(line)) for line in lines]

    return read


@pytest.mark.parametrize("convergence", [True, False], ids=["convergence", "legacy"])
def test_plug_ins_are_called_around_each_operation_of_a_root_stack(
    run: Any, recorded: Any, tmp_path: Path, convergence: bool
) -> None:
    with (tmp_path / "home" / "isotherm.conf").open("a") as options:
        options.write(f"convergence_engine = {convergence}\n")
    (tmp_path / "inner.yaml").write_text(INNER)
    (tmp_path / "outer.yaml").write_text(OUTER)
    (tmp_path / "fails.yaml").write_text(FAILS)

    def around(action: str, *, failed: bool = False) -> list[Any]:
        return [("before", action, "s", False), ("after", action, "s", failed)]

    assert run("deploy", "s", "-t", "outer.yaml", hook=HOOK)[0] == 0
    assert recorded() == around("CREATE")
    for command in ("check", "suspend", "resume"):
        assert run(command, "s")[0] == 0
        assert recorded() == around(command.upper())
    assert run("update", "s", "-t", "outer.yaml")[0] == 0
    assert recorded() == around("UPDATE")
    assert run("update", "s", "-t", "fails.yaml")[0] != 0
    assert recorded() == around("UPDATE", failed=True)
    assert run("delete", "s", "--yes")[0] == 0
    assert recorded() == around("DELETE")


def test_a_plug_in_refuses_a_request(run: Any, recorded: Any, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(INNER)
    code, answer = run("deploy", "forbidden", "-t", "t.yaml", hook=HOOK)
    assert code != 0
    assert "stacks of this name are not allowed here" in json.dumps(answer)
    assert recorded() == [("before", "CREATE", "forbidden", False)]
    code, answer = run("deploy", "broken", "-t", "t.yaml")
    assert code != 0
    assert "KeyError: 'colour'" in json.dumps(answer)
    assert run("list")[1] == []


def test_a_failed_operation_and_its_rollback_both_end(run: Any, recorded: Any, tmp_path: Path) -> None:
    """Nothing requested the rollback, so no plug-in is asked about it."""
    (tmp_path / "t.yaml").write_text(INNER)
    (tmp_path / "fails.yaml").write_text(FAILS)
    assert run("deploy", "s", "-t", "t.yaml", hook=HOOK)[0] == 0
    recorded()
    assert run("update", "s", "-t", "fails.yaml", "--rollback")[0] != 0
    assert recorded() == [("before", "UPDATE", "s", False), ("after", "UPDATE", "s", True),
                          ("after", "ROLLBACK", "s", False)]
