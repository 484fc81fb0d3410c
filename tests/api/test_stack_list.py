"""Lists of stacks: filters, order, pages, tags, and the stacks that a requester may see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Api, fault, serving, template

KEYS = {"id", "links", "stack_name", "description", "stack_status", "stack_status_reason", "creation_time", "updated_time",
        "deletion_time", "stack_owner", "parent", "stack_user_project_id", "tags", "project",
        # Not in Heat's lists.
        "generation", "operation_id", "disable_rollback", "timeout_s", "protected", "template_description"}
INNER = "heat_template_version: 2021-04-16\nresources: {r: {type: OS::Heat::None}}\n"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Five stacks: alpha (t1,t2), beta (t1), gamma (t2,secret), delta (deleted, t1), epsilon (with one inside)."""
    with serving(tmp_path_factory.mktemp("many"), hidden_stack_tags=("secret",)) as api:
        ids = {}
        options: dict[str, dict[str, Any]] = {
            "alpha": {"tags": "t1,t2", "timeout_mins": 7}, "beta": {"tags": "t1", "disable_rollback": False},
            "gamma": {"tags": "t2,secret"}, "delta": {"tags": "t1"}}
        for name, more in options.items():
            ids[name] = api.create(name, **more).rpartition("/")[2]
        path = api.create("epsilon", {"child": {"type": "inner.yaml"}}, files={"inner.yaml": INNER})
        ids["epsilon"] = path.rpartition("/")[2]
        api.delete(f"/stacks/delta/{ids['delta']}")
        api.end(f"/stacks/delta/{ids['delta']}")
        assert api.patch(f"/stacks/alpha/{ids['alpha']}", {}).status_code == 202
        api.end(f"/stacks/alpha/{ids['alpha']}")
        with api.somebody("other"):
            api.create("foreign")
        api.ids = ids  # type: ignore[attr-defined]  # read by the tests of this module
        yield api


def names(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return [one["stack_name"] for one in answer.json()["stacks"]]


def own(answer: Any) -> Any:
    return [name for name in names(answer) if name != "foreign"]


def test_the_fields_of_an_item(many: Any) -> None:
    item = next(one for one in many.get("/stacks").json()["stacks"] if one["stack_name"] == "beta")
    assert set(item) == KEYS
    assert (item["description"], item["tags"], item["parent"]) == ("", ["t1"], None)
    assert item["stack_status"] == "CREATE_COMPLETE"
    assert item["links"] == [{"rel": "self", "href": f"http://isotherm.test/v1/default/stacks/beta/{item['id']}"}]
    assert item["updated_time"] is None
    plain = next(one for one in many.get("/stacks").json()["stacks"] if one["stack_name"] == "epsilon")
    assert plain["tags"] is None


def test_the_newest_come_first_and_hidden_deleted_and_inner_ones_not_at_all(many: Any) -> None:
    assert own(many.get("/stacks")) == ["epsilon", "beta", "alpha"]


@pytest.mark.parametrize(("query", "expected"), [
    ({"show_hidden": "true"}, ["epsilon", "gamma", "beta", "alpha"]),
    ({"show_deleted": "True"}, ["epsilon", "delta", "beta", "alpha"]),
    ({"sort_keys": "stack_name"}, ["alpha", "beta", "epsilon"]),
    ({"sort_keys": "stack_name", "sort_dir": "desc"}, ["epsilon", "beta", "alpha"]),
    ({"sort_dir": "asc"}, ["alpha", "beta", "epsilon"]),
    ({"sort_keys": "creation_time"}, ["alpha", "beta", "epsilon"]),
    ({"sort_keys": "updated_time", "sort_dir": "desc", "name": ["alpha", "beta"]}, ["alpha", "beta"]),
    ({"sort_keys": "nonsense"}, ["epsilon", "beta", "alpha"]),
    ({"name": "beta"}, ["beta"]),
    ({"stack_name": ["beta", "alpha"]}, ["beta", "alpha"]),
    ({"name": "beta", "stack_name": "alpha"}, ["beta", "alpha"]),
    ({"id": "nowhere"}, []),
    ({"status": "COMPLETE", "name": "beta"}, ["beta"]),
    ({"status": "UPDATE_COMPLETE"}, ["alpha"]),
    ({"stack_status": "CREATE_COMPLETE"}, ["epsilon", "beta"]),
    ({"status": ["UPDATE_COMPLETE", "CREATE_FAILED"]}, ["alpha"]),
    ({"status": "nonsense"}, []),
    ({"action": "UPDATE"}, ["alpha"]),
    ({"stack_action": "NONSENSE"}, []),
    ({"username": "isotherm"}, ["epsilon", "beta", "alpha"]),
    ({"stack_owner": "nobody"}, []),
    ({"tenant": "default"}, ["epsilon", "beta", "alpha"]),
    ({"tenant": "elsewhere"}, []),
    ({"timeout_mins": "7"}, ["alpha"]),
    ({"disable_rollback": "false"}, ["beta"]),
    ({"stack_user_project_id": "x"}, []),
    ({"tags": "t1"}, ["beta", "alpha"]),
    ({"tags": "t1,t2"}, ["alpha"]),
    ({"tags": "t1", "name": "beta"}, ["beta"]),
    ({"tags_any": "t1,t2"}, ["beta", "alpha"]),
    ({"not_tags": "t1,t2"}, ["epsilon", "beta"]),
    ({"not_tags_any": "t1,t2"}, ["epsilon"]),
    ({"tags": "T1"}, []),
    ({"whatever": "is ignored"}, ["epsilon", "beta", "alpha"]),
])
def test_filters_and_order(many: Any, query: Any, expected: Any) -> None:
    assert own(many.get("/stacks", **query)) == expected


def test_stacks_inside_others(many: Any) -> None:
    found = many.get("/stacks", show_nested="true").json()["stacks"]
    inner = [one for one in found if one["parent"] == many.ids["epsilon"]]
    assert len(inner) == 1
    assert inner[0]["stack_name"].startswith("epsilon-child-")
    assert names(many.get("/stacks", show_nested="true", owner_id=many.ids["epsilon"])) == [inner[0]["stack_name"]]
    assert names(many.get("/stacks", show_nested="true", parent="nobody")) == []


def test_pages_by_marker(many: Any) -> None:
    first = many.get("/stacks", limit=1, tenant="default", sort_keys="stack_name").json()
    assert [one["stack_name"] for one in first["stacks"]] == ["alpha"]
    assert [one["rel"] for one in first["links"]] == ["next"]
    href = first["links"][0]["href"]
    assert f"marker={many.ids['alpha']}" in href
    assert "sort_keys=stack_name" in href
    seen, pages = ["alpha"], 0
    while href:
        page = many.ask("GET", href).json()
        seen += [one["stack_name"] for one in page["stacks"]]
        href, pages = (page.get("links") or [{}])[0].get("href"), pages + 1
    assert seen == ["alpha", "beta", "epsilon"]
    assert pages == 3  # the last full page has a next one, which is empty


def test_a_page_of_none_and_a_marker_that_is_not_there(many: Any) -> None:
    assert many.get("/stacks", limit=0).json() == {"stacks": []}
    assert own(many.get("/stacks", marker="nowhere")) == ["epsilon", "beta", "alpha"]
    assert "links" not in many.get("/stacks").json()


def test_the_count_is_of_all_pages(many: Any) -> None:
    told = many.get("/stacks", with_count="true", limit=1, tenant="default").json()
    assert (len(told["stacks"]), told["count"]) == (1, 3)
    assert "count" not in many.get("/stacks", with_count="false").json()


@pytest.mark.parametrize(("query", "message"), [
    ({"limit": "x"}, "Only integer is acceptable by 'limit'."),
    ({"limit": "-1"}, "Value '-1' is invalid for 'limit' which only accepts non-negative integer."),
    ({"show_deleted": "1"}, 'Unrecognized value "1" for "show_deleted", acceptable values are: true, false.'),
    ({"show_nested": "yes"}, 'Unrecognized value "yes" for "show_nested", acceptable values are: true, false.'),
    ({"with_count": "x"}, 'Unrecognized value "x" for "with_count", acceptable values are: true, false.'),
    ({"global_tenant": "x"}, 'Unrecognized value "x" for "global_tenant", acceptable values are: true, false.'),
    ({"tags": "x" * 81}, f'Invalid tag, "{"x" * 81}" is longer than 80 characters'),
])
def test_what_is_refused(many: Any, query: Any, message: Any) -> None:
    assert fault(many.get("/stacks", **query)) == (400, "HTTPBadRequest", message)


def test_a_direction_that_there_is_not(many: Any) -> None:
    assert fault(many.get("/stacks", sort_dir="up"))[:2] == (400, "ValueError")


def test_an_admin_sees_all_projects_and_others_their_own(many: Any) -> None:
    assert "foreign" in names(many.get("/stacks"))
    with many.somebody("other"):
        found = many.get("/stacks").json()["stacks"]
        assert [one["stack_name"] for one in found] == ["foreign"]
        assert "project" not in found[0]
        assert names(many.get("/stacks", tenant="default")) == []


def test_the_view_of_all_projects_has_a_rule_of_its_own(many: Any) -> None:
    many.rules.forbidden.add("stacks:global_index")
    try:
        assert fault(many.get("/stacks", global_tenant="true")) == (
            403, "Forbidden", "You are not authorized to use stacks:global_index.")
    finally:
        many.rules.forbidden.clear()
    with many.somebody("other"):
        assert "alpha" in names(many.get("/stacks", global_tenant="true"))


def test_detail_is_the_same_list_without_a_query(many: Any) -> None:
    found = many.get("/stacks/detail", name="beta").json()
    assert set(found) == {"stacks"}
    assert [one["stack_name"] for one in found["stacks"] if one["stack_name"] != "foreign"] == ["epsilon", "beta", "alpha"]
    assert "parameters" not in found["stacks"][0]


def test_tags_that_an_update_takes_away_are_not_found_any_more(api: Api) -> None:
    path = api.create("s", tags="one,two")
    assert names(api.get("/stacks", tags="one")) == ["s"]
    assert api.put(path, {"template": template({}), "tags": "two"}).status_code == 202
    api.end(path)
    assert names(api.get("/stacks", tags="one")) == []
    assert names(api.get("/stacks", tags="two")) == ["s"]
