"""Lists of resource types, template versions and functions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Api, fault


def types(api: Any, **query: Any) -> Any:
    answer = api.get("/resource_types", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["resource_types"]


def test_the_list(shared: Api) -> None:
    found = types(shared)
    assert found == sorted(found)
    assert {"OS::Heat::TestResource", "OS::Heat::ResourceGroup", "OS::Heat::None"} <= set(found)
    described = types(shared, with_description="true")
    assert [one["resource_type"] for one in described] == found
    assert all(one["description"] for one in described)


@pytest.mark.parametrize(("query", "expected"), [
    ({"name": "OS::Heat::Random.*"}, ["OS::Heat::RandomString"]),
    ({"name": "OS::Heat::RandomS"}, ["OS::Heat::RandomString"]),
    ({"name": "Heat::RandomString"}, []),
    ({"name": "(("}, []),
    ({"name": ")|("}, []),
    ({"version": "99999"}, []),
    ({"support_status": "UNKNOWN"}, []),
])
def test_filters(shared: Api, query: Any, expected: Any) -> None:
    assert types(shared, **query) == expected


def test_a_pattern_that_would_take_for_ever(shared: Api) -> None:
    assert types(shared, name="(([A-Za-z:]+)+)+!") == []


def test_a_status_that_there_is_not(shared: Api) -> None:
    assert fault(shared.get("/resource_types", support_status="GOOD"))[:2] == (400, "Invalid")
    assert fault(shared.get("/resource_types", with_description="1"))[0] == 400
    assert "OS::Heat::RandomString" in types(shared, support_status="SUPPORTED")


def test_a_type(shared: Api) -> None:
    found = shared.get("/resource_types/OS::Heat::TestResource").json()
    assert set(found) == {"resource_type", "properties", "attributes", "support_status"}
    assert found["properties"]["wait_secs"] == {**found["properties"]["wait_secs"], "default": 0, "required": False,
                                                "type": "number", "update_allowed": True, "immutable": False}
    assert "show" in found["attributes"]
    assert set(found["support_status"]) == {"status", "message", "version", "previous_status"}
    assert shared.get("/resource_types/OS::Heat::TestResource", with_description="true").json()["description"]
    assert fault(shared.get("/resource_types/No::Such::Type")) == (
        404, "EntityNotFound", "The Resource Type (No::Such::Type) could not be found.")


def test_a_template_to_start_from(shared: Api) -> None:
    path = "/resource_types/OS::Heat::RandomString/template"
    assert shared.get(path).json()["HeatTemplateFormatVersion"] == "2012-12-12"
    assert shared.get(path, template_type="HOT").json()["heat_template_version"] == "2016-10-14"
    assert fault(shared.get(path, template_type="x")) == (400, "HTTPBadRequest", "Template type is not supported: x")
    assert fault(shared.get("/resource_types/No::Such::Type/template"))[0] == 404
    # Heat has no answer for a property of any type.
    assert shared.get("/resource_types/OS::Heat::Value/template").status_code == 200


def test_versions_of_the_language(shared: Api) -> None:
    found = shared.get("/template_versions").json()["template_versions"]
    assert len(found) == 13
    assert {"version": "heat_template_version.2016-10-14", "type": "hot",
            "aliases": ["heat_template_version.newton"]} in found
    assert sum(len(one["aliases"]) for one in found) == 6


def functions(api: Any, version: Any, **query: Any) -> Any:
    answer = api.get(f"/template_versions/{version}/functions", **query)
    assert answer.status_code == 200, answer.text
    return {one["functions"]: one["description"] for one in answer.json()["template_functions"]}


def test_functions(shared: Api) -> None:
    found = functions(shared, "heat_template_version.2016-10-14")
    assert found["get_file"] == "A function for including a file inline."
    assert functions(shared, "heat_template_version.newton") == found
    assert "equals" not in found
    assert "equals" in functions(shared, "heat_template_version.2016-10-14", with_condition_func="true")
    assert functions(shared, "heat_template_version.2016-10-14") == found  # one call leaves nothing behind for the next
    assert fault(shared.get("/template_versions/heat_template_version.2012-12-12/functions")) == (
        404, "NotFound", "Template with version heat_template_version.2012-12-12 not found")


def test_a_type_that_the_policy_restricts(shared: Api) -> None:
    shared.rules.forbidden.add("resource_types:OS::Heat::TestResource")
    try:
        assert "OS::Heat::TestResource" not in types(shared)
        status, _, message = fault(shared.get("/resource_types/OS::Heat::TestResource"))
        assert (status, "OS::Heat::TestResource" in message) == (403, True)
    finally:
        shared.rules.forbidden.clear()
