"""Every command that heatclient adds to `openstack`, against `isotherm up`.

Here: the life of stacks. What is inside of stacks, and what is beside them: test_openstack_inside.py and
test_openstack_beside.py. That no command is left out: test_complete.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.command import OpenStack, Refused, resource, template, until
from tests.clients.exercise import exercises

Create = Callable[..., str]


def site(openstack: OpenStack) -> tuple[Any, ...]:
    """Write a template with a parameter, a nested stack, a file and an output, and an environment."""
    openstack.write("note.txt", "read from a file")
    openstack.write("inside.yaml", template({"leaf": resource({"get_param": "word"})},
                                            parameters={"word": {"type": "string"}}))
    main = openstack.write("site.yaml", template(
        {"top": {"type": "inside.yaml", "properties": {"word": {"get_param": "word"}}},
         "plain": resource({"get_file": "note.txt"})},
        description="A site", parameters={"word": {"type": "string"}, "other": {"type": "string", "default": "one"}},
        outputs={"note": {"description": "What it says", "value": {"get_attr": ["plain", "output"]}},
                 "other": {"value": {"get_param": "other"}}}))
    environment = openstack.write("site.env", {"parameters": {"other": "two"}})
    return ("-t", main, "-e", environment, "--parameter", "word=hello")


@pytest.mark.ledger("S2.2")
@exercises("stack create", "stack show", "stack list", "stack template show", "stack environment show", "stack file list",
           "stack output list", "stack output show", "stack update", "stack delete")
def test_a_stack_from_beginning_to_end(openstack: OpenStack) -> None:
    about = site(openstack)
    made = openstack.ask("stack create", *about, "--tags", "site-blue,site-green", "--timeout", 5, "--wait", "site")
    assert {key: made[key] for key in ("stack_name", "description", "stack_status", "stack_status_reason")} == {
        "stack_name": "site", "description": "A site", "stack_status": "CREATE_COMPLETE",
        "stack_status_reason": "Stack CREATE completed successfully"}

    shown = openstack.ask("stack show", "site")
    assert shown == openstack.ask("stack show", made["id"]) == openstack.ask("stack show", f"site/{made['id']}")
    assert (shown["parameters"]["word"], shown["parameters"]["other"]) == ("hello", "two")
    assert (shown["tags"], shown["timeout_mins"], shown["disable_rollback"]) == (["site-blue", "site-green"], 5, True)
    assert "outputs" not in openstack.ask("stack show", "--no-resolve-outputs", "site")

    assert [one["ID"] for one in openstack.ask("stack list", "--tags", "site-blue")] == [made["id"]]
    assert openstack.ask("stack list", "--tags", "site-blue", "--tag-mode", "not-any", "--property", "name=site") == []
    nested = openstack.ask("stack list", "--nested", "--property", f"owner_id={made['id']}")
    assert [one["Parent"] for one in nested] == [made["id"]]

    assert openstack.ask("stack template show", "site")["resources"]["top"]["type"].endswith("/inside.yaml")
    environment = openstack.ask("stack environment show", "site")
    assert environment["parameters"] == {"word": "hello", "other": "two"}
    files = openstack.ask("stack file list", "site")["files"]
    assert {name.rpartition("/")[2] for name in files} == {"note.txt", "inside.yaml", "site.env"}
    assert "read from a file" in files.values()

    assert openstack.ask("stack output list", "site") == [
        {"output_key": "note", "description": "What it says"},
        {"output_key": "other", "description": "No description given"}]
    assert openstack.ask("stack output show", "site", "note") == {
        "output_key": "note", "description": "What it says", "output_value": "read from a file"}
    everything = openstack.ask("stack output show", "--all", "site")
    assert {name: one["output_value"] for name, one in everything.items()} == {"note": "read from a file", "other": "two"}
    with pytest.raises(Refused, match="Stack site or output nothing not found"):
        openstack("stack output show", "site", "nothing")

    changed = openstack.ask("stack update", "--existing", "--parameter", "other=three", "--wait", "site")
    assert (changed["id"], changed["stack_status"]) == (made["id"], "UPDATE_COMPLETE")
    shown = openstack.ask("stack show", "site")
    assert (shown["parameters"]["word"], shown["parameters"]["other"]) == ("hello", "three")
    assert shown["tags"] == ["site-blue", "site-green"], "what is not said stays"

    openstack("stack delete", "--yes", "--wait", "site")
    with pytest.raises(Refused, match="Stack not found: site"):
        openstack("stack show", "site")
    assert openstack.ask("stack show", made["id"])["stack_status"] == "DELETE_COMPLETE"
    gone = openstack.ask("stack list", "--deleted", "--property", f"id={made['id']}")
    assert [one["Stack Status"] for one in gone] == ["DELETE_COMPLETE"]
    with pytest.raises(Refused, match="Unable to delete 1 of the 1 stacks"):
        openstack("stack delete", "--yes", "site")


def test_what_is_refused_is_told_as_heat_tells_it(openstack: OpenStack, create: Create) -> None:
    create("taken", {"a": resource()})
    with pytest.raises(Refused, match=r"ERROR: The Stack \(taken\) already exists\."):
        openstack("stack create", "-t", "taken.yaml", "taken")
    openstack.write("wrong.yaml", template({"a": resource(nonsense=1)}))
    with pytest.raises(Refused, match=r"ERROR: Property error: : resources\.a\.properties: : Unknown Property nonsense"):
        openstack("stack create", "-t", "wrong.yaml", "wrong")
    with pytest.raises(Refused, match="ERROR: You are not authorized to use stacks:global_index"):
        openstack("stack list", "--all-projects")


@exercises("stack create", "stack update")
def test_what_would_be_done(openstack: OpenStack, create: Create) -> None:
    file = openstack.write("a.yaml", template({"a": resource("one"), "b": resource()}))
    would = openstack.ask("stack create", "--dry-run", "-t", file, "not-made")
    assert sorted(one["resource_name"] for one in would["resources"]) == ["a", "b"]
    with pytest.raises(Refused, match="Stack not found"):
        openstack("stack show", "not-made")

    create("tried", {"a": resource("one"), "b": resource()})
    file = openstack.write("b.yaml", template({"a": resource("two"), "c": resource()}))
    would = openstack.ask("stack update", "--dry-run", "-t", file, "tried")
    assert {kind: [one["resource_name"] for one in found] for kind, found in would.items()} == {
        "added": ["c"], "deleted": ["b"], "replaced": [], "unchanged": [], "updated": ["a"]}
    would = openstack.ask("stack update", "--dry-run", "--existing", "--show-nested", "tried")
    assert sorted(one["resource_name"] for one in would["unchanged"]) == ["a", "b"]
    assert openstack.ask("stack show", "tried")["stack_status"] == "CREATE_COMPLETE", "nothing has happened"


@exercises("stack update")
def test_updates(openstack: OpenStack, create: Create) -> None:
    id_ = create("changes", {"a": resource({"get_param": "p"})}, "--parameter", "p=one",
                 parameters={"p": {"type": "string", "default": "nothing"}})

    def value() -> Any:
        return openstack.ask("stack resource show", "changes", "a")["attributes"]["output"]

    done = openstack.ask("stack update", "--converge", "--wait", "-t", "changes.yaml", "--parameter", "p=two", "changes")
    assert (done["id"], done["stack_status"], value()) == (id_, "UPDATE_COMPLETE", "two")
    openstack("stack update", "--existing", "--clear-parameter", "p", "--rollback", "enabled", "--wait", "changes")
    assert value() == "nothing"
    assert openstack.ask("stack show", "changes")["disable_rollback"] is False
    openstack.write("fails.yaml", template({"a": resource("three", fail=True)}))
    openstack("stack update", "-t", "fails.yaml", "--rollback", "disabled", "changes")
    openstack.until("UPDATE_FAILED", "changes")
    with pytest.raises(Refused, match="Stack changes UPDATE_FAILED"):
        openstack("stack update", "-t", "fails.yaml", "--wait", "changes")


@exercises("stack suspend", "stack resume", "stack check")
def test_rest_and_check(openstack: OpenStack, create: Create) -> None:
    create("rests", {"a": resource()})
    for command in ("suspend", "resume", "check"):
        (row,) = openstack.ask(f"stack {command}", "--wait", "rests")
        assert (row["Stack Name"], row["Stack Status"]) == ("rests", f"{command.upper()}_COMPLETE")
    with pytest.raises(Refused, match="Stack not found: nobody"):
        openstack("stack suspend", "nobody")


@exercises("stack cancel")
def test_an_update_is_called_off(openstack: OpenStack, create: Create) -> None:
    create("calls-off", {"a": resource("one"), "b": resource("one")})
    # Long enough for a client to come in time; a rollback waits for what is under way.
    openstack.write("slow.yaml", template({
        "a": resource("two"), "b": {**resource("two", wait_secs=10), "depends_on": "a"},
        "c": {**resource(), "depends_on": "b"}}))
    openstack("stack update", "-t", "slow.yaml", "calls-off")
    (row,) = openstack.ask("stack cancel", "--wait", "calls-off")
    assert row["Stack Status"] == "ROLLBACK_COMPLETE"
    assert openstack.ask("stack resource show", "calls-off", "a")["attributes"]["output"] == "one"

    openstack("stack update", "-t", "slow.yaml", "calls-off")
    openstack("stack cancel", "--no-rollback", "calls-off")
    openstack.until("UPDATE_FAILED", "calls-off")
    with pytest.raises(Refused, match="not in cancelable state"):
        openstack("stack cancel", "calls-off")


@exercises("stack export", "stack abandon", "stack adopt")
def test_a_stack_is_let_go_and_taken_in_again(openstack: OpenStack, create: Create) -> None:
    id_ = create("moves", {"a": resource("kept")})
    physical = openstack.ask("stack resource show", "moves", "a")["physical_resource_id"]
    told = openstack.ask("stack export", "moves")
    assert (told["id"], told["resources"]["a"]["resource_id"]) == (id_, physical)
    openstack("stack export", "--output-file", "exported.json", "moves")
    assert json.loads((openstack.folder / "exported.json").read_text()) == told

    openstack("stack abandon", "--output-file", "papers.json", "moves")
    with pytest.raises(Refused, match="Stack not found"):
        openstack("stack show", "moves")
    taken = openstack.ask("stack adopt", "--adopt-file", "papers.json", "--wait", "moved")
    assert taken["stack_status"] == "ADOPT_COMPLETE"
    assert openstack.ask("stack resource show", "moved", "a")["physical_resource_id"] == physical
    assert openstack.ask("stack abandon", "moved")["name"] == "moved"


@exercises("stack snapshot create", "stack snapshot list", "stack snapshot show", "stack snapshot restore",
           "stack snapshot delete")
def test_snapshots(openstack: OpenStack, create: Create) -> None:
    create("kept", {"a": resource("one")})
    taken = openstack.ask("stack snapshot create", "--name", "first", "kept")
    openstack.until("SNAPSHOT_COMPLETE", "kept")
    (row,) = openstack.ask("stack snapshot list", "kept")
    assert (row["id"], row["name"], row["status"]) == (taken["ID"], "first", "COMPLETE")
    shown = openstack.ask("stack snapshot show", "kept", taken["ID"])["snapshot"]
    assert shown["data"]["resources"]["a"]["status"] == "COMPLETE"

    openstack.write("two.yaml", template({"a": resource("two")}))
    openstack("stack update", "-t", "two.yaml", "--wait", "kept")
    openstack("stack snapshot restore", "kept", taken["ID"])
    openstack.until("RESTORE_COMPLETE", "kept")
    assert openstack.ask("stack resource show", "kept", "a")["attributes"]["output"] == "one"
    openstack("stack snapshot delete", "--yes", "kept", taken["ID"])
    until(lambda: openstack.ask("stack snapshot list", "kept") == [])
    with pytest.raises(Refused, match="not found for stack"):
        openstack("stack snapshot show", "kept", taken["ID"])
