"""Types of Heat that a caller cannot use: policy decides first, then the service catalog, and only then all the rest.

That holds for every type that Heat has, also for those that Isotherm has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from isotherm.resources.catalog import heat_types
from tests.api.conftest import Api, fault, template
from tools import instance
from tools.identity import seed
from tools.keystone import Keystone

NAMES = sorted({*heat_types.TABLE, "OS::Quantum::Net"})
NEEDING = {name: needed for name in NAMES if (needed := heat_types.TABLE.get(heat_types.meaning(name)))}
SERVER = "OS::Nova::Server"
INSIDE = f"""
heat_template_version: 2021-04-16
resources:
  inside: {{type: {SERVER}}}
"""
HIDEOUTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "inside": ({"r": {"type": "inside.yaml"}}, {"files": {"inside.yaml": INSIDE}}),
    "by another name": ({"r": {"type": "My::Thing"}}, {"environment": {"resource_registry": {"My::Thing": SERVER}}}),
    "in a group": ({"r": {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": SERVER}}}}, {}),
    "in a chain": ({"r": {"type": "OS::Heat::ResourceChain", "properties": {"resources": [SERVER]}}}, {}),
    "behind a condition": ({"r": {"type": SERVER, "condition": {"equals": ["a", "a"]}}}, {}),
}


def wrong(name: str) -> dict[str, Any]:
    """Return a request with a resource of that type and every other mistake possible."""
    resources = {"r": {"type": name, "properties": {"no_such_property": {"get_param": "nowhere"}}},
                 "other": {"type": "No::Such::Type", "depends_on": "nothing"}}
    return {"stack_name": "s", "parameters": {"unknown": 1}, "template": template(
        resources, parameters={"missing": {"type": "number"}}, outputs={"o": {"value": {"get_attr": ["none", "x"]}}})}


@pytest.mark.parametrize("name", NAMES)
def test_a_type_that_policy_denies_is_told_before_all_else(shared: Api, name: str) -> None:
    shared.rules.forbidden.add(f"resource_types:{name}")
    try:
        with shared.somebody("p", services=frozenset()):
            for path in ("/stacks", "/stacks/preview"):
                status, kind, text = fault(shared.post(path, wrong(name)))
                assert (status, kind) == (403, "Forbidden")
                assert name in (text or "")
            assert fault(shared.get(f"/resource_types/{name}"))[:2] == (403, "Forbidden")
    finally:
        shared.rules.forbidden.clear()


@pytest.mark.parametrize("name", sorted(NEEDING))
def test_a_type_without_its_service_is_told_before_all_else(shared: Api, name: str) -> None:
    service = NEEDING[name]
    expected = (400, "ResourceTypeUnavailable", f"HEAT-E99001 Service {service.name} is not available for resource type "
                f"{name}, reason: {service.name} {service.type} endpoint is not in service catalog.")
    with shared.somebody("p", services=heat_types.SERVICE_TYPES - {service.type}):
        for path in ("/stacks", "/stacks/preview"):
            assert fault(shared.post(path, wrong(name))) == expected
        assert fault(shared.post("/validate", {"template": template({"r": {"type": name}})})) == expected
        assert fault(shared.get(f"/resource_types/{name}")) == expected
        assert fault(shared.get(f"/resource_types/{name}/template")) == expected
        assert name not in shared.get("/resource_types").json()["resource_types"]


@pytest.mark.parametrize("services", [None, heat_types.SERVICE_TYPES], ids=["no catalog", "whole catalog"])
@pytest.mark.parametrize("name", NAMES)
def test_a_type_that_only_heat_has_is_told_as_such(shared: Api, name: str, services: frozenset[str] | None) -> None:
    if name in shared.engine.types.types:
        return
    with shared.somebody("p", services=services):
        for answer in (shared.post("/stacks", wrong(name)), shared.get(f"/resource_types/{name}")):
            status, kind, text = fault(answer)
            assert (status, kind) == (400, "ResourceTypeUnavailable")
            assert name in str(text)
            assert "Heat knows this type" in str(text)


@pytest.mark.parametrize(("resources", "more"), HIDEOUTS.values(), ids=HIDEOUTS)
def test_wherever_it_hides(api: Api, resources: dict[str, Any], more: dict[str, Any]) -> None:
    path = api.create("before")
    with api.somebody("default", services=frozenset()):
        body = {"template": template(resources), **more}
        for method, place in (("POST", "/stacks"), ("POST", "/stacks/preview"), ("PUT", path), ("PUT", f"{path}/preview")):
            status, kind, text = fault(api.ask(method, place, {"stack_name": "s", **body}))
            assert (status, kind) == (400, "ResourceTypeUnavailable")
            assert SERVER in str(text)
    assert [one["stack_name"] for one in api.get("/stacks").json()["stacks"]] == ["before"]


def test_what_is_not_used_is_not_asked_for(api: Api) -> None:
    """A resource that a condition excludes, and a type that the environment maps to another, are not checked."""
    left_out = {"r": {"type": SERVER, "condition": {"equals": ["a", "b"]}}}
    assert api.end(api.create("one", left_out))["stack_status"] == "CREATE_COMPLETE"
    instead: dict[str, Any] = {"environment": {"resource_registry": {SERVER: "OS::Heat::None"}}}
    assert api.end(api.create("two", {"r": {"type": SERVER}}, **instead))["stack_status"] == "CREATE_COMPLETE"


def test_policy_comes_before_the_catalog(api: Api) -> None:
    api.rules.forbidden.add("resource_types:OS::Nova::Flavor")
    body = {"stack_name": "s", "template": template({"a": {"type": SERVER}, "b": {"type": "OS::Nova::Flavor"}})}
    with api.somebody("p", services=frozenset()):
        assert fault(api.post("/stacks", body))[:2] == (403, "Forbidden")


def test_an_older_name_is_denied_with_the_newer_one(api: Api) -> None:
    api.rules.forbidden.add("resource_types:OS::Neutron::ProviderNet")
    assert fault(api.post("/stacks", wrong("OS::Quantum::ProviderNet")))[:2] == (403, "Forbidden")


def test_validate_ignores_it_where_it_is_asked_to(api: Api) -> None:
    absent = "OS::Zun::Container"
    body = {"template": template({"r": {"type": absent}, "s": {"type": "OS::Heat::Value"}}, description="d")}
    for nested in ("false", "true"):
        assert fault(api.post("/validate", body, show_nested=nested))[:2] == (400, "ResourceTypeUnavailable")
        answer = api.post("/validate", body, show_nested=nested, ignore_errors="99001")
        assert (answer.status_code, answer.json()["Description"]) == (200, "d")


# With Keystone, whose catalog has identity and orchestration only.


@pytest.fixture(scope="module")
def service(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[instance.Isotherm]:
    with instance.isotherm(tmp_path_factory.mktemp("home"), instance.with_keystone(keystone.options())) as it:
        keystone.point(it.url)
        yield it


@pytest.mark.parametrize(("who", "name", "expected", "said"), [
    ("demo", SERVER, (400, "ResourceTypeUnavailable"), "nova compute endpoint is not in service catalog"),
    ("demo", "OS::Nova::Flavor", (403, "Forbidden"), "OS::Nova::Flavor"),
    ("demo", "OS::Keystone::User", (403, "Forbidden"), "OS::Keystone::User"),
    ("admin", "OS::Nova::Flavor", (400, "ResourceTypeUnavailable"), "nova compute endpoint is not in service catalog"),
    ("admin", "OS::Heat::SwiftSignal", (400, "ResourceTypeUnavailable"), "swift object-store endpoint is not in"),
])
def test_with_keystone(keystone: Keystone, service: instance.Isotherm, who: str, name: str, expected: tuple[int, str],
                       said: str) -> None:
    project = keystone.project(seed.PEOPLE[who].project)
    for method, path, body in (("POST", "/stacks", wrong(name)), ("GET", f"/resource_types/{name}", None)):
        answer = httpx2.request(method, f"{service.url}/v1/{project}{path}", json=body, trust_env=False,
                                headers={"X-Auth-Token": keystone.token(who)})
        assert fault(answer)[:2] == expected, answer.text
        assert said in answer.text
