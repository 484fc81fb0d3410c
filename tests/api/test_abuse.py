"""Cases 25 to 38 of the abuse cases: objects of one project are out of reach for others.

Routes are those of the table, so that none is forgotten. The policy is the real one, with the defaults.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm.api import routes
from isotherm.api.policy.enforcer import Enforcer
from tests import databases
from tests.api import things
from tests.api.conftest import ROOT, Api, fault, resource, serving, template
from tests.api.test_policy import BROKEN, EXPECTED, write

EVERY = pytest.mark.parametrize("route", routes.TABLE, ids=things.label)
NOWHERE = dict.fromkeys(("stack_name", "stack_id", "resource_name", "snapshot_id", "output_key", "config_id", "event_id",
                         "server_id", "deployment_id", "type_name", "version", "operation_id"), "none")
OWN_IDS = frozenset({"stack_id", "config_id", "deployment_id", "stack_name", "arn:arn"})
# A body for each route that looks at it first.
RIGHT: dict[str, dict[str, Any]] = {"stacks:lookup": {"check": None}, "resource:mark_unhealthy": {"mark_unhealthy": True},
                                    "resource:signal": {}, "drift:repair": {}}
INSIDE = json.dumps(template({"i": resource()}))


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("strict"), Enforcer()) as it:
        yield it


@pytest.fixture(scope="module")
def victim(strict: Api) -> dict[str, str]:
    """Create one object of each kind in a project."""
    with strict.somebody("a"):
        return things.made(strict, "a-stack")


@pytest.fixture(scope="module")
def stranger(strict: Api, victim: dict[str, str]) -> dict[str, str]:
    with strict.somebody("b"):
        return things.made(strict, "b-stack")


def alive(api: Api, victim: dict[str, str]) -> None:
    """Assert that the objects of the victim still exist."""
    with api.somebody("a"):
        stack = f"/stacks/{victim['stack_name']}/{victim['stack_id']}"
        assert api.get(stack).json()["stack"]["stack_status"] == "SNAPSHOT_COMPLETE"
        for path in (f"{stack}/snapshots/{victim['snapshot_id']}", f"/software_configs/{victim['config_id']}",
                     f"/software_deployments/{victim['deployment_id']}", f"{stack}/resources/r"):
            assert api.get(path).status_code == 200


@EVERY
def test_case_25_no_route_leads_into_another_project(strict: Api, victim: dict[str, str], route: routes.Route) -> None:
    for roles in (("member", "reader"), ("admin", "member", "reader"), ("heat_stack_user",), ()):
        with strict.somebody("b", roles=roles):
            answer = strict.ask(route.method, f"{ROOT}/v1/a{things.place(route, victim)}", {})
            assert fault(answer) == (403, "HTTPForbidden", "Access was denied to this resource.")
    alive(strict, victim)


@EVERY
def test_case_26_what_is_anothers_is_not_found_in_ones_own(
    strict: Api, victim: dict[str, str], stranger: dict[str, str], route: routes.Route
) -> None:
    """Objects of another project are not found by name, id or ARN, nor by a name of one with an id of the other."""
    if not OWN_IDS & set(things.names(route)):
        return
    mixed = [victim, {**victim, "stack_name": "b-stack"}, {**victim, "stack_id": stranger["stack_id"]}]
    if route.path == "/stacks/{stack_name}" or "{stack_id}" not in route.path:
        mixed = [victim, {**victim, "stack_name": victim["stack_id"]}]
    with strict.somebody("b"):
        for known in mixed:
            for project in ("a", "b"):  # of the ARN
                place = things.place(route, {**known, "project": project})
                answer = strict.ask(route.method, place, RIGHT.get(route.rule, {"template": template({})}))
                assert answer.status_code in (403, 404), (place, answer.text)
                for name in ("stack_id", "snapshot_id", "config_id"):
                    assert victim[name] in place or victim[name] not in answer.text
    alive(strict, victim)


def test_case_26_lists_tell_ones_own_only(strict: Api, victim: dict[str, str], stranger: dict[str, str]) -> None:
    with strict.somebody("b"):
        for route in routes.TABLE:
            if route.method == "GET" and not OWN_IDS & set(things.names(route)) and not things.is_endless(route):
                text = strict.ask("GET", things.place(route, victim)).text
                assert not [name for name in ("stack_id", "config_id", "deployment_id") if victim[name] in text], route
        for snapshot in (f"/snapshots/{victim['snapshot_id']}", f"/snapshots/{victim['snapshot_id']}/restore"):
            for method in ("GET", "DELETE", "POST"):
                answer = strict.ask(method, f"/stacks/b-stack/{stranger['stack_id']}{snapshot}")
                assert answer.status_code in (404, 405)
    alive(strict, victim)


PEOPLE = {"member": ("member", "reader"), "reader": ("reader",), "machine": ("heat_stack_user",), "nobody": ()}


@EVERY
def test_case_27_every_route_for_every_role(strict: Api, route: routes.Route) -> None:
    """A role that a rule excludes gets 403 even for unknown objects; another role never gets 403."""
    for who, roles in PEOPLE.items():
        with strict.somebody("b", roles=roles):
            answer = strict.ask(route.method, things.place(route, {**NOWHERE, "project": "b"}), {},
                                headers={"Last-Event-ID": "x"})
        if who in EXPECTED[route.rule]:
            assert answer.status_code != 403, (who, answer.text)
        else:
            assert fault(answer) == (403, "Forbidden", f"You are not authorized to use {route.rule}."), who


@pytest.mark.parametrize("action", ["suspend", "resume", "check", "cancel_update", "cancel_without_rollback", "roll_back"])
def test_case_27_every_action_for_every_role(strict: Api, action: str) -> None:
    for who, roles in PEOPLE.items():
        with strict.somebody("b", roles=roles):
            answer = strict.post("/stacks/none/none/actions", {action: None})
        assert answer.status_code == (404 if who in EXPECTED[f"actions:{action}"] else 403), who


def test_case_27_there_is_no_second_api(strict: Api) -> None:
    """CloudFormation's is not served: nothing can be open there."""
    for path in ("/?Action=ListStacks", "/v1/?Action=ListStacks", "/v1/a?Action=DescribeStacks"):
        assert strict.ask("GET", ROOT + path, headers={"X-Auth-Token": "wrong"}).status_code in (300, 401, 404)


def rows(api: Api) -> dict[str, list[Any]]:
    """Return the content of the database, without the signatures that every write changes."""
    return {name: found for name, found in databases.rows(api.engine.path).items() if name != "signatures"}


def test_case_28_a_reader_changes_nothing(strict: Api, stranger: dict[str, str]) -> None:
    """By Heat's defaults readers may check and signal too."""
    stack = f"/stacks/b-stack/{stranger['stack_id']}"
    whole = {"template": template({"r": resource("other")}), "stack_name": "new"}
    before = rows(strict)
    with strict.somebody("b", roles=("reader",)):
        for method, path, body in (
            ("PATCH", stack, {}), ("PATCH", stack, {"parameters": {}}), ("PATCH", stack, whole), ("PUT", stack, whole),
            ("PUT", f"{stack}/preview", whole), ("PATCH", f"{stack}/preview", {}), ("POST", "/validate", whole),
            ("POST", "/stacks", whole), ("POST", f"{stack}/snapshots", {}), ("GET", f"{stack}/export", None),
        ):
            assert strict.ask(method, path, body).status_code == 403, (method, path)
        assert strict.post("/stacks/preview", whole).status_code == 200
        for route in routes.TABLE:
            if route.method == "GET" and not things.is_endless(route):
                assert strict.ask("GET", things.place(route, stranger)).status_code < 500
    with strict.somebody("b"):
        for method, path in (("PUT", f"{stack}/preview"), ("PATCH", f"{stack}/preview"), ("POST", "/validate")):
            assert strict.ask(method, path, whole).status_code == 200, (method, path)
    assert rows(strict) == before


def test_case_32_flags_of_administrators(strict: Api, victim: dict[str, str], stranger: dict[str, str]) -> None:
    with strict.somebody("a"):
        gone = strict.create("a-gone")
        strict.delete(gone)
        strict.end(gone)
    gone_id = gone.rpartition("/")[2]
    with strict.somebody("b"):
        # Other cases make stacks in this project too.
        own = len(strict.get("/stacks").json()["stacks"])
        for path in ("/stacks", "/software_configs"):
            assert fault(strict.get(path, global_tenant="true"))[:2] == (403, "Forbidden")
        for query in ({"show_deleted": "true"}, {"show_hidden": "true"}, {"show_nested": "true"}, {"tenant": "a"},
                      {"show_deleted": "true", "id": victim["stack_id"]}, {"owner_id": victim["stack_id"]},
                      {"marker": victim["stack_id"]}, {"username": "somebody"}, {"with_count": "true"}):
            listed = strict.get("/stacks", **query).json()
            # By id: another case makes, and deletes, a stack of the victim's name in this project.
            assert not {victim["stack_id"], gone_id} & {one["id"] for one in listed["stacks"]}
            assert listed.get("count", own) == own
        assert strict.get(f"/stacks/a-gone/{gone_id}").status_code == 404


def export_document(type_: str, id_: str) -> str:
    entry = {"resource_id": id_, "type": type_}
    return json.dumps({"template": template({"n": {"type": type_}}), "resources": {"n": entry}})


def test_case_33_what_is_anothers_is_not_adopted(strict: Api) -> None:
    """Adopting the id of another project's nested stack fails, and reveals nothing about that stack."""
    with strict.somebody("a"):
        path = strict.create("outer-33", {"n": {"type": "inside.yaml"}}, files={"inside.yaml": INSIDE})
        inner = strict.get(f"{path}/resources/n").json()["resource"]["physical_resource_id"]
        ids = [path.rpartition("/")[2], inner]
        before = [strict.get("/stacks", id=id_, show_nested="true").json()["stacks"] for id_ in ids]
        assert [len(one) for one in before] == [1, 1]
    with strict.somebody("b"):
        for id_ in ids:
            answer = strict.post("/stacks", {"stack_name": "thief", "adopt_stack_data": export_document("inside.yaml", id_),
                                             "files": {"inside.yaml": INSIDE}})
            assert fault(answer)[:2] == (400, "StackValidationFailed")
            assert "outer-33" not in answer.text
        assert "thief" not in [one["stack_name"] for one in strict.get("/stacks").json()["stacks"]]
    with strict.somebody("a"):
        assert [strict.get("/stacks", id=id_, show_nested="true").json()["stacks"] for id_ in ids] == before


def test_case_34_what_a_stack_owns_is_not_adopted(strict: Api, victim: dict[str, str]) -> None:
    with strict.somebody("a"):
        owned = strict.get(f"/stacks/a-stack/{victim['stack_id']}/resources/r").json()["resource"]["physical_resource_id"]
    body = {"stack_name": "t", "adopt_stack_data": export_document("OS::Heat::TestResource", owned)}
    for project in ("a", "b"):
        with strict.somebody(project):
            answer = strict.post("/stacks", body)
            assert fault(answer)[:2] == (409, "Conflict")
            assert ("of stack a-stack" in answer.text) == (project == "a")
            assert "t" not in [one["stack_name"] for one in strict.get("/stacks").json()["stacks"]]
    alive(strict, victim)


def test_case_35_nothing_refers_to_what_is_anothers(strict: Api, victim: dict[str, str]) -> None:
    """Neither by the id of a stack, nor of a group, nor of a config."""
    group = {"group": {"type": "OS::Heat::AutoScalingGroup", "properties": {
        "min_size": 1, "max_size": 3, "desired_capacity": 1, "resource": resource()}}}
    with strict.somebody("a"):
        scaled = strict.create("a-group", group)
        group_id = strict.get(f"{scaled}/resources/group").json()["resource"]["physical_resource_id"]
    with strict.somebody("b"):
        path = strict.create("b-outside", {"s": {"type": "OS::Heat::Stack", "external_id": victim["stack_id"],
                                                 "properties": {"template": INSIDE}}})
        assert strict.get(path).json()["stack"]["stack_status"].endswith("FAILED")
        # Its reason quotes the id that it was given: no list of another case is to show it.
        strict.delete(path)
        strict.end(path)
        policy = {"policy": {"type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": group_id, "scaling_adjustment": 1, "adjustment_type": "change_in_capacity"}}}
        answer = strict.post("/stacks", {"stack_name": "b-policy", "template": template(policy)})
        if answer.status_code == 201:
            policy_path = f"/stacks/b-policy/{answer.json()['stack']['id']}"
            strict.end(policy_path)
            strict.post(f"{policy_path}/resources/policy/signal", {})
        answer = strict.post("/software_deployments", {"config_id": victim["config_id"], "server_id": "server"})
        assert fault(answer)[0] in (400, 404)
        assert strict.get("/software_deployments/metadata/server").json() != {}
        assert victim["deployment_id"] not in strict.get("/software_deployments", server_id="server").text
    with strict.somebody("a"):
        assert strict.end(scaled)["stack_status"] == "CREATE_COMPLETE"
        assert len(strict.get(f"{scaled}/resources", nested_depth=2).json()["resources"]) == 2
    alive(strict, victim)


def test_case_37_a_policy_that_is_being_rewritten_admits_no_caller(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"stacks:index": "!"\n')
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            text: Any
            for text in ('"stacks:index": "!"\n', *BROKEN.values()):
                write(file, text)

    (tmp_path / "home").mkdir()
    with serving(tmp_path / "home", Enforcer(file)) as api:
        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            assert {api.get("/stacks").status_code for _ in range(200)} == {403}
        finally:
            stop.set()
            writer.join()


def test_case_38_the_same_names_are_not_the_same_things(strict: Api, victim: dict[str, str]) -> None:
    """Deleting a stack of the same name, whose tags and texts name the other stack, leaves the other stack."""
    with strict.somebody("a"):
        own = strict.get(f"/stacks/a-stack/{victim['stack_id']}/resources/r").json()["resource"]["physical_resource_id"]
    with strict.somebody("b"):
        path = strict.create("a-stack", {"r": resource(own)}, tags=f"{victim['stack_id']},{own}")
        assert strict.get(f"{path}/resources/r").json()["resource"]["physical_resource_id"] != own
        strict.delete(path)
        assert strict.end(path)["stack_status"] == "DELETE_COMPLETE"
    alive(strict, victim)
    with strict.somebody("a"):
        again = strict.create("a-again", {"r": resource()})
        assert strict.post(f"{again}/actions", {"check": None}).status_code == 200
        assert strict.end(again)["stack_status"] == "CHECK_COMPLETE"
