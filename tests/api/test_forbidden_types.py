"""Resource types that the policy forbids are refused wherever a template hides them. Abuse case 31."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

FORBIDDEN = "OS::Heat::RandomString"
STRING = {"type": FORBIDDEN}
INSIDE = f"""
heat_template_version: 2021-04-16
resources:
  hidden: {{type: {FORBIDDEN}}}
"""
DEEPER = """
heat_template_version: 2021-04-16
resources:
  inside: {type: inside.yaml}
"""
FILES = {"inside.yaml": INSIDE, "deeper.yaml": DEEPER}


def alias(name: str) -> dict[str, Any]:
    return {"environment": {"resource_registry": {name: FORBIDDEN}}}


HIDEOUTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "directly": ({"r": STRING}, {}),
    "inside": ({"r": {"type": "inside.yaml"}}, {"files": FILES}),
    "deep inside": ({"r": {"type": "deeper.yaml"}}, {"files": FILES}),
    "by another name": ({"r": {"type": "My::Thing"}}, alias("My::Thing")),
    "by the name of another": ({"r": {"type": "OS::Heat::Value"}}, alias("OS::Heat::Value")),
    "for one resource": ({"r": {"type": "OS::Heat::TestResource"}}, {"environment": {"resource_registry": {
        "resources": {"r": {"OS::Heat::TestResource": FORBIDDEN}}}}}),
    "in a group": ({"r": {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": STRING}}}, {}),
    "in a chain": ({"r": {"type": "OS::Heat::ResourceChain", "properties": {"resources": [FORBIDDEN]}}}, {}),
    "in a group that scales": ({"r": {"type": "OS::Heat::AutoScalingGroup", "properties": {
        "max_size": 1, "min_size": 1, "resource": STRING}}}, {}),
    "in a stack of its own": ({"r": {"type": "OS::Heat::Stack", "properties": {"template": INSIDE}}}, {}),
    "behind a condition": ({"r": {**STRING, "condition": {"equals": ["a", "a"]}}}, {}),
    "as somebody else's": ({"r": {**STRING, "external_id": "x"}}, {}),
}


@pytest.fixture
def strict(api: Api) -> Api:
    api.rules.forbidden.add(f"resource_types:{FORBIDDEN}")
    return api


@pytest.mark.parametrize(("resources", "more"), HIDEOUTS.values(), ids=HIDEOUTS)
class TestHidden:
    def test_it_is_not_created(self, strict: Api, resources: dict[str, Any], more: dict[str, Any]) -> None:
        body = {"stack_name": "s", "template": template(resources), **more}
        for path in ("/stacks", "/stacks/preview"):
            status, kind, text = fault(strict.post(path, body))
            assert (status, kind) == (403, "Forbidden")
            assert FORBIDDEN in (text or "")
        assert strict.get("/stacks").json() == {"stacks": []}

    def test_it_does_not_come_with_an_update(self, strict: Api, resources: dict[str, Any], more: dict[str, Any]) -> None:
        path = strict.create("s", {"other": resource()})
        body = {"template": template(resources), **more}
        for method in ("PUT", "PATCH"):
            for suffix in ("", "/preview"):
                assert fault(strict.ask(method, path + suffix, body))[:2] == (403, "Forbidden")
        assert strict.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"

    def test_it_may_be_used_by_others(self, api: Api, resources: dict[str, Any], more: dict[str, Any]) -> None:
        if "external_id" in str(resources):
            resources = {"r": STRING}
        path = api.create("s", resources, **more)
        assert api.end(path)["stack_status"] == "CREATE_COMPLETE"


def test_it_does_not_come_back_with_a_snapshot(api: Api) -> None:
    path = api.create("s", {"r": STRING})
    made = api.post(f"{path}/snapshots", {"name": "before"}).json()
    api.end(path)
    api.put(path, {"template": template({"other": resource()})})
    api.end(path)
    api.rules.forbidden.add(f"resource_types:{FORBIDDEN}")
    assert fault(api.post(f"{path}/snapshots/{made['id']}/restore"))[:2] == (403, "Forbidden")


def test_it_is_not_adopted(api: Api) -> None:
    path = api.create("s", {"r": STRING})
    exported = api.delete(f"{path}/abandon").text
    api.rules.forbidden.add(f"resource_types:{FORBIDDEN}")
    body = {"stack_name": "again", "adopt_stack_data": exported, "template": None}
    assert fault(api.post("/stacks", body))[:2] == (403, "Forbidden")


def test_validate_does_not_ask(strict: Api) -> None:
    """As in Heat, validate does not check the policy of types."""
    assert strict.post("/validate", {"template": template({"r": STRING})}).status_code == 200
