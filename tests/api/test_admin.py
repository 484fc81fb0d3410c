"""An admin acts on what belongs to another project, by its id, from the admin's own project or from the owner's.

That other users cannot: cases 25 and 26 of `test_abuse`. The routes are those of the table, the policy is the real one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from isotherm.api import routes
from isotherm.api.policy.enforcer import Enforcer
from tests.api import things
from tests.api.conftest import ROOT, Api, fault, resource, serving, template
from tests.api.test_monitoring import listening
from tests.api.test_policy import write
from tools import instance
from tools.identity import seed
from tools.keystone import Keystone

ROLES = ("admin", "member", "reader")
# By an id alone: a config, a deployment, a stack.
OWNED = frozenset({"stack_id", "config_id", "deployment_id"})
READS = [route for route in routes.TABLE if route.method == "GET" and OWNED & set(things.names(route))
         and not things.is_endless(route)]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("strict"), Enforcer()) as it:
        yield it


@pytest.fixture(scope="module")
def owned(strict: Api) -> dict[str, str]:
    with strict.somebody("owner"):
        return things.made(strict)


def stack_of(api: Api, name: str, project: str = "owner") -> str:
    """Create a stack in a project; return its path."""
    with api.somebody(project):
        return api.create(name, {"r": resource()})


def timeless(value: Any) -> Any:
    """Return an answer without the moment at which it was given."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name not in ("now", "counted")}
    return [timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("route", READS, ids=things.label)
def test_an_admin_reads_what_the_owner_reads(strict: Api, owned: dict[str, str], route: routes.Route) -> None:
    """Links are those that the owner gets."""
    place = things.place(route, owned)
    with strict.somebody("owner"):
        expected = strict.get(place)
    assert expected.status_code == 200, expected.text
    with strict.somebody("ops", admin=True, roles=ROLES):
        for project in ("ops", "owner", "third"):
            found = strict.ask("GET", f"{ROOT}/v1/{project}{place}")
            assert (found.status_code, timeless(found.json())) == (200, timeless(expected.json())), project


@pytest.mark.parametrize("called", ["{stack_id}", things.ARN])
@pytest.mark.parametrize("rest", ["", "/resources", "/template"])
def test_an_admin_is_sent_on_to_the_owners_address(strict: Api, owned: dict[str, str], called: str, rest: str) -> None:
    with strict.somebody("ops", admin=True, roles=ROLES):
        answer = strict.get(f"/stacks/{called.format(**owned)}{rest}")
        assert answer.status_code == 302, answer.text
        assert answer.headers["location"] == (
            f"{ROOT}/v1/owner/stacks/{owned['stack_name']}/{owned['stack_id']}{rest}")
        assert strict.get(answer.headers["location"]).status_code == 200


def test_a_name_is_one_of_the_project_in_the_path(strict: Api, owned: dict[str, str]) -> None:
    """As in Heat, a name is looked up in the project of the path only."""
    with strict.somebody("ops", admin=True, roles=ROLES):
        assert strict.get(f"/stacks/{owned['stack_name']}").status_code == 404
        assert strict.delete(f"/stacks/{owned['stack_name']}").status_code == 404
        assert strict.ask("GET", f"{ROOT}/v1/owner/stacks/{owned['stack_name']}").status_code == 302
        assert strict.get(f"/stacks/other/{owned['stack_id']}").status_code == 404


def test_an_id_counts_before_a_name_that_looks_like_it(strict: Api) -> None:
    """A stack named like the id of another project's stack does not redirect an admin."""
    tries = (stack_of(strict, f"target-{number}") for number in itertools.count())
    theirs = next(path for path in tries if path.rpartition("/")[2][0].isalpha())  # a name begins with a letter
    id_ = theirs.rpartition("/")[2]
    stack_of(strict, id_, "ops")
    with strict.somebody("ops", admin=True, roles=ROLES):
        assert strict.get(f"/stacks/{id_}").headers["location"] == f"{ROOT}/v1/owner{theirs}"
        assert strict.get(theirs).json()["stack"]["stack_name"] != id_


def test_an_admin_changes_and_deletes(strict: Api) -> None:
    path = stack_of(strict, "changed")
    with strict.somebody("ops", admin=True, roles=ROLES):
        for action in ("check", "suspend", "resume"):
            assert strict.post(f"{path}/actions", {action: None}).status_code == 200
            assert strict.end(path)["stack_status"] == f"{action.upper()}_COMPLETE"
        body = {"template": template({"r": resource("new")})}
        assert strict.ask("PUT", f"{path}/preview", body).status_code == 200
        assert strict.put(path, body).status_code == 202
        assert strict.end(path)["stack_status"] == "UPDATE_COMPLETE"
        assert strict.patch(f"{path}/resources/r", {"mark_unhealthy": True}).status_code == 200
        assert strict.patch(path, body).status_code == 202
        assert strict.end(path)["stack_status"] == "UPDATE_COMPLETE"
        snapshot = strict.post(f"{path}/snapshots", {"name": "n"}).json()["id"]
        strict.end(path)
        assert strict.post(f"{path}/snapshots/{snapshot}/restore").status_code == 202
        assert strict.end(path)["stack_status"] == "RESTORE_COMPLETE"
    with strict.somebody("owner"):
        assert strict.get(path).json()["stack"]["stack_owner"] == "somebody"
    with strict.somebody("ops", admin=True, roles=ROLES):
        assert strict.delete(path).status_code == 204
        assert strict.end(path)["stack_status"] == "DELETE_COMPLETE"


def test_an_admin_changes_and_deletes_deployments(strict: Api) -> None:
    with strict.somebody("owner"):
        config = strict.post("/software_configs", {"name": "c"}).json()["software_config"]["id"]
        made = strict.post("/software_deployments", {"config_id": config, "server_id": "s"}).json()
        deployment = f"/software_deployments/{made['software_deployment']['id']}"
    with strict.somebody("ops", admin=True, roles=ROLES):
        listed = strict.get("/software_configs").json()["software_configs"]
        assert (config, "owner") in {(one["id"], one["project"]) for one in listed}
        assert strict.put(deployment, {"status": "FAILED"}).json()["software_deployment"]["status"] == "FAILED"
        assert strict.delete(deployment).status_code == 204
        assert strict.delete(f"/software_configs/{config}").status_code == 204


def test_the_policy_says_what_an_admin_may(tmp_path: Path) -> None:
    """Policy rules also bind an admin; the role alone does not make an admin of all projects."""
    write(tmp_path / "policy.yaml", '"stacks:delete": "!"\n')
    with serving(tmp_path, Enforcer(tmp_path / "policy.yaml")) as api:
        path = stack_of(api, "s")
        with api.somebody("ops", admin=True, roles=ROLES):
            assert api.get(path).status_code == 200
            assert fault(api.delete(path)) == (403, "Forbidden", "You are not authorized to use stacks:delete.")
        with api.somebody("ops", roles=ROLES):
            assert fault(api.get(path))[:2] == (404, "EntityNotFound")
            assert fault(api.ask("GET", f"{ROOT}/v1/owner{path}"))[:2] == (403, "HTTPForbidden")


def test_the_log_has_the_caller_and_the_owner(strict: Api) -> None:
    path = stack_of(strict, "logged")
    with listening() as said, strict.somebody("ops", admin=True, roles=ROLES):
        strict.delete(path)
        strict.get("/stacks")
        one, two = (line for line in said() if line["message"] == "request")
    assert (one["project"], one["user"], one["owner"], one["method"]) == ("ops", "u1", "owner", "DELETE")
    assert "owner" not in two


# With Keystone.


@pytest.fixture(scope="module")
def service(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[instance.Isotherm]:
    with instance.isotherm(tmp_path_factory.mktemp("home"), instance.with_keystone(keystone.options())) as it:
        keystone.point(it.url)
        yield it


def test_the_work_is_done_with_what_the_owner_has_lent(keystone: Keystone, service: instance.Isotherm) -> None:
    def ask(method: str, path: str, who: str, **body: Any) -> httpx2.Response:
        project = keystone.project(seed.PEOPLE[who].project)
        return httpx2.request(method, f"{service.url}/v1/{project}{path}", trust_env=False, json=body or None,
                              headers={"X-Auth-Token": keystone.token(who), "Accept": "application/json"})

    def lenders() -> list[str]:
        return [one["trustor_user_id"] for one in keystone.admin().call("GET", "/OS-TRUST/trusts")["trusts"]]

    before = lenders()
    made = ask("POST", "/stacks", "demo", stack_name="theirs", template=template({"r": resource()}))
    id_ = made.json()["stack"]["id"]
    path = f"/stacks/theirs/{id_}"
    for who in ("other", "admin"):
        found = ask("GET", f"/stacks/{id_}", who)
        assert found.status_code == (302 if who == "admin" else 404)
    assert ask("PUT", path, "other", template=template({})).status_code == 404
    assert ask("PUT", path, "admin", template=template({"r": resource("new")})).status_code == 202
    assert sorted(lenders()) == sorted([*before, keystone.user("demo")])
    assert ask("DELETE", path, "admin").status_code == 204
