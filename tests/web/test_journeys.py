"""Journeys of users: watch a stack, find out why it waits or failed, change it, repair it, delete it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests import patience
from tests.web.conftest import Open, PageService, dummies


def at(path: str, rest: str = "") -> str:
    return f"/ui{path}{rest}"


# The editor behind its element, as CodeMirror keeps it: a browser cannot be told to paste without a clipboard.
VIEW = "(element.cmTile ?? element.cmView).view"


def set_text(page: Page, text: str) -> None:
    editor = page.get_by_role("textbox", name="Template")
    editor.evaluate(
        "(element, text) => { const view = (element.cmTile ?? element.cmView).view;"
        " view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}}); }",
        text,
    )


def apply_template(page: Page, *replacements: tuple[str, str]) -> None:
    """Change the text of the editor as a user would paste it, and go to the plan."""
    editor = page.get_by_role("textbox", name="Template")
    expect(editor).to_be_visible()
    text = editor.evaluate(f"element => {VIEW}.state.doc.toString()")
    for old, new in replacements:
        assert old in text, text
        text = text.replace(old, new)
    set_text(page, text)
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()


def test_a_stack_is_created_from_a_sample_and_seen_to_converge_without_a_reload(
    own_service: PageService, visit: Open
) -> None:
    page = visit(own_service)
    page.get_by_role("link", name="Start with a sample").click()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Seconds for each part").fill("1")
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_role("button", name="Create 7 resources").click()
    page.evaluate("window.unchanged = true")
    expect(page.get_by_role("heading", name="first")).to_be_visible()
    expect(page.locator(".stack-head")).to_contain_text("7 of 7 done")
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    expect(page.get_by_role("treeitem", name=re.compile("load_balancer, Dummy, done"))).to_be_attached()
    assert page.evaluate("window.unchanged") is True


def test_the_reason_of_a_waiting_resource_is_two_clicks_from_the_list(service: PageService, visit: Open) -> None:
    service.create(
        "waits",
        dummies("a")
        | {
            "b": {
                "type": "OS::Heat::WaitCondition",
                "depends_on": "a",
                "properties": {"handle": {"get_resource": "h"}, "timeout": 3600},
            },
            "h": {"type": "OS::Heat::WaitConditionHandle"},
        }
        | dummies("c<b", "d<c"),
        wait=False,
    )
    page = visit(service)
    page.get_by_role("link", name="waits", exact=True).click()
    page.get_by_role("treeitem", name=re.compile("^d, ")).focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("complementary", name="Resource d")
    expect(drawer.locator(".chain li")).to_have_count(3)
    expect(drawer.locator(".chain")).to_contain_text(re.compile(r"d\s.*c\s.*b\s", re.DOTALL))
    expect(drawer.locator(".chain li").last).to_contain_text("waits for the cloud")


def test_the_first_failure_is_on_top_with_its_place_in_the_template(service: PageService, visit: Open) -> None:
    path = service.create("fails", dummies("a") | dummies("bad<a", fail_prop="yes") | dummies("x<bad", "y<bad"))
    page = visit(service, at(path))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("bad failed first")
    expect(alert).to_contain_text("2 left out because of it")
    alert.get_by_role("link", name="See it in the template").click()
    expect(page.get_by_role("textbox", name="Template")).to_be_visible()
    drawer = page.get_by_role("complementary", name="Resource bad")
    expect(drawer).to_contain_text("Dummy resource failed bad")
    expect(drawer).not_to_contain_text("resources.bad")


def test_the_line_of_the_first_failure_is_that_of_the_text_that_was_sent(service: PageService, visit: Open) -> None:
    text = """heat_template_version: 2021-04-16
resources:
  good:
    type: OS::Heat::RandomString

  bad:
    type: OS::Heat::Dummy
    properties: {max_wait_secs: 0, fail_prop: "yes"}
"""
    path = service.create("lined", {}, template=text)
    page = visit(service, at(path))
    expect(page.get_by_role("alert")).to_contain_text("See it in the template, line 6 of what was sent")


def test_an_update_is_planned_and_applied(service: PageService, visit: Open) -> None:
    path = service.create("changes", dummies("one", "two<one"))
    page = visit(service, at(path, "/update"))
    apply_template(page, ("two:", "three:"))
    plan = page.get_by_role("region", name="What it would do")
    expect(plan.locator(".plan-item").filter(has_text="two")).to_contain_text("delete")
    expect(plan.locator(".plan-item").filter(has_text="three")).to_contain_text("create")
    assert [one["resource_name"] for one in service.api.get(f"{path}/resources").json()["resources"]].count("three") == 0
    page.get_by_role("button", name="Apply: 1 delete, 1 other").click()
    expect(page.locator(".stack-head")).to_contain_text("generation 2")
    expect(page.locator(".stack-head")).to_contain_text("Update complete")
    expect(page.get_by_role("treeitem", name=re.compile("^three, "))).to_be_attached()
    expect(page.get_by_role("treeitem", name=re.compile("^two, "))).to_have_count(0)


def test_a_plan_that_was_overtaken_is_not_applied(service: PageService, visit: Open) -> None:
    path = service.create("raced", dummies("one"))
    page = visit(service, at(path, "/update"))
    apply_template(page, ("one:", "mine:"))
    template = {"heat_template_version": "2021-04-16", "resources": dummies("one", "theirs")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    service.ended(path)
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.locator(".notice.bad")).to_contain_text("Nothing was applied")
    expect(page.get_by_role("button", name="Apply: 2 delete, 1 other")).to_be_visible()
    assert {one["resource_name"] for one in service.api.get(f"{path}/resources").json()["resources"]} == {
        "one",
        "theirs",
    }


def test_a_sample_that_is_chosen_before_the_editor_is_loaded_is_not_lost(service: PageService, visit: Open) -> None:
    page = visit(service, "/ui/")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/assets/editor-*.js", hold)
    with page.expect_request("**/assets/editor-*.js"):
        page.goto(f"{service.root}/ui/create")
    page.get_by_role("button", name="group").click()
    assert held
    expect(page.get_by_role("textbox", name="Template")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(page.get_by_role("textbox", name="Template")).to_contain_text("ResourceGroup")


def test_problems_of_a_template_are_told_where_they_are(service: PageService, visit: Open) -> None:
    page = visit(service, "/ui/create")
    page.get_by_role("button", name="group").click()
    editor = page.get_by_role("textbox", name="Template")
    expect(editor).to_contain_text("ResourceGroup")
    set_text(
        page,
        "heat_template_version: 2021-04-16\nresources:\n  a:\n    type: OS::Heat::Dummy\n    properties:\n      nmae: x\n"
        "  b:\n    type: OS::Heat::Nothing\n",
    )
    problems = page.get_by_role("list", name="Problems")
    expect(problems.locator("li")).to_have_count(2)
    expect(problems).to_contain_text("6:")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    expect(page.locator(".foot")).to_contain_text("2 problems in the template")


def test_an_update_that_fails_is_rolled_back(service: PageService, visit: Open) -> None:
    path = service.create("returns", dummies("one"))
    page = visit(service, at(path))
    template = {"heat_template_version": "2021-04-16", "resources": dummies("one") | dummies("two", fail_prop="yes")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    expect(page.locator(".stack-head")).to_contain_text("Update failed")
    page.get_by_role("alert").get_by_role("button", name="Roll back to generation 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back to generation 1").click()
    expect(page.locator(".stack-head")).to_contain_text("Rollback complete")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    assert [one["resource_name"] for one in service.api.get(f"{path}/resources").json()["resources"]] == ["one"]


def test_a_hook_is_told_and_cleared(service: PageService, visit: Open) -> None:
    hooks = {"resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}}
    path = service.create("pauses", dummies("a", "b<a"), wait=False, environment=hooks)
    page = visit(service)
    row = page.get_by_role("row").filter(has_text="pauses")
    expect(row).to_contain_text("Waits at a hook")
    row.get_by_role("link").click()
    expect(page.locator(".stack-head")).to_contain_text("a waits at its pre-create hook")
    expect(page.locator(".stack-head .legend")).to_contain_text("1 waits for you")
    expect(page.get_by_role("treeitem", name="a, Dummy, waits for you")).to_be_attached()
    expect(page.locator(".stack-head")).not_to_contain_text("for the cloud")
    page.goto(f"{service.root}{at(path, '?r=b')}")
    drawer = page.get_by_role("complementary", name="Resource b")
    expect(drawer.locator(".callout")).to_contain_text("waits for a, which waits for you to clear its hook pre-create")
    expect(drawer.locator(".chain li").last).to_contain_text("waits for you (pre-create)")
    page.goto(f"{service.root}{at(path, '?r=a')}")
    drawer = page.get_by_role("complementary", name="Resource a")
    expect(drawer).to_contain_text("Waits for you")
    drawer.get_by_role("button", name="Clear pre-create").click()
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    expect(drawer).to_contain_text("Attempts 1")


def test_a_resource_is_signalled_and_marked_unhealthy_from_its_drawer(service: PageService, visit: Open) -> None:
    waiting = {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "h"}, "timeout": 3600}}
    resources = {"h": {"type": "OS::Heat::WaitConditionHandle"}, "w": waiting}
    path = service.create("signalled", resources, wait=False)
    page = visit(service, at(path, "?r=h"))
    drawer = page.get_by_role("complementary", name="Resource h")
    drawer.get_by_role("button", name="More").click()
    drawer.get_by_role("menuitem", name="Signal…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Content, as JSON; may be empty").fill('{"status": ')
    expect(dialog.get_by_role("button", name="Send")).to_be_disabled()
    dialog.get_by_label("Content, as JSON; may be empty").fill('{"status": "SUCCESS"}')
    dialog.get_by_role("button", name="Send").click()
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    drawer.get_by_role("button", name="More").click()
    drawer.get_by_role("menuitem", name="Mark unhealthy…").click()
    dialog.get_by_label("Reason").fill("It answers no more.")
    dialog.get_by_role("button", name="Mark it unhealthy").click()
    expect(drawer.locator(".callout")).to_contain_text("Unhealthy")
    expect(drawer.locator(".callout")).to_contain_text("It answers no more.")
    page.goto(f"{service.root}{at(path, '/resources')}")
    row = page.get_by_role("table", name="Resources").get_by_role("row").filter(has_text="It answers no more.")
    expect(row).to_contain_text("unhealthy")
    page.goto(f"{service.root}{at(path, '/update?step=plan')}")
    plan = page.get_by_role("region", name="What it would do")
    expect(plan.locator(".plan-item").filter(has_text="OS::Heat::WaitConditionHandle")).to_contain_text("replace")


def test_the_critical_path_is_ringed_and_a_past_operation_is_shown(service: PageService, visit: Open) -> None:
    path = service.create("ringed", dummies("slow", wait_s=0.2) | dummies("quick", "end<slow"))
    page = visit(service, at(path, "/timeline"))
    rows = page.get_by_role("tabpanel").locator(".gantt-row")
    expect(page.get_by_role("tabpanel").locator(".gantt-row.critical")).to_contain_text(["slow", "end"])
    expect(rows.filter(has_text="quick")).not_to_contain_text("on the critical path")
    template = {"heat_template_version": "2021-04-16", "resources": dummies("quick", "later")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    expect(rows.filter(has_text="later")).to_have_count(1)
    page.get_by_role("navigation", name="Operations").get_by_role("button", name=re.compile("^Create ")).click()
    expect(rows).to_have_count(3)
    assert "op=" in page.url
    page.reload()
    expect(rows).to_have_count(3)


def test_parameters_are_described(service: PageService, visit: Open) -> None:
    template = {
        "heat_template_version": "2021-04-16",
        "parameters": {
            "size": {"type": "number", "default": 3, "description": "How many there are."},
            "plain": {"type": "string", "default": "x"},
        },
        "resources": dummies("a"),
    }
    page = visit(service, at(service.create("described", {}, template=template), "/parameters"))
    expect(page.get_by_role("term").filter(has_text="size")).to_contain_text("How many there are.")
    expect(page.get_by_role("term").filter(has_text="plain")).to_have_text("plain")


def test_the_drawer_shows_what_was_applied(service: PageService, visit: Open) -> None:
    path = service.create("shown", dummies("a", update_in_place_prop="by hand"))
    page = visit(service, at(path, "?r=a"))
    row = page.get_by_role("complementary").get_by_role("row").filter(has_text="update_in_place_prop")
    expect(row.get_by_role("cell").last).to_have_text("by hand")


def test_drift_is_seen_and_repaired(service: PageService, visit: Open) -> None:
    path = service.create(
        "drifts", {"motd": {"type": "Isotherm::Local::File", "properties": {"path": "motd", "content": "welcome"}}}
    )
    page = visit(service, at(path, "/drift"))
    expect(page.get_by_role("tabpanel")).to_contain_text("No drift")
    file = service.home.folder / "local" / "motd"
    file.write_text("go away")
    page.get_by_role("button", name="Look now").click()
    row = page.get_by_role("tabpanel").get_by_role("row").filter(has_text="content")
    expect(row.get_by_role("cell")).to_contain_text(["content", "welcome", "welcome", "go away"])
    expect(page.get_by_role("tab", name="Drift")).to_contain_text("1")
    expect(page.locator(".drift-head")).to_contain_text("since ")
    page.goto(f"{service.root}{at(path, '/drift?r=motd')}")
    drawer = page.get_by_role("complementary", name="Resource motd")
    expect(drawer.locator(".callout")).to_contain_text("Drifted")
    expect(drawer.get_by_role("row").filter(has_text="path")).to_contain_text("motd")
    page.get_by_role("button", name="Repair 1 resource…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("list", name="What it would do")).to_contain_text(
        re.compile(r"motd\s.*content\s+go away\s.*welcome", re.DOTALL)
    )
    dialog.get_by_role("button", name="Repair 1 resource").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("No drift")
    patience.until(lambda: file.read_text() == "welcome")


def test_an_update_repairs_what_has_drifted_when_asked(service: PageService, visit: Open) -> None:
    properties = {"path": "kept", "content": "welcome"}
    path = service.create("repairs", {"kept": {"type": "Isotherm::Local::File", "properties": properties}})
    file = service.home.folder / "local" / "kept"
    file.write_text("go away")
    assert service.api.post(f"{path}/observe", json={}).status_code == 202
    patience.until(lambda: service.api.get(f"{path}/summary").json()["summary"]["drift"]["drifted"] == 1)
    page = visit(service, at(path, "/update"))
    apply_template(page, ("resources:", "description: New words.\nresources:"))
    plan = page.get_by_role("region", name="What it would do")
    expect(plan).to_contain_text("1 resource has drifted and is not part of this plan.")
    expect(page.get_by_role("button", name="Apply: no change")).to_be_visible()
    plan.get_by_role("button", name="Repair it too").click()
    expect(plan).to_contain_text("is repaired as well")
    expect(plan.get_by_role("button", name="Leave it as it is")).to_be_visible()
    page.get_by_role("button", name="Apply: 1 repair").click()
    expect(page.locator(".stack-head")).to_contain_text("Update complete")
    patience.until(lambda: file.read_text() == "welcome")


def test_a_stack_is_deleted_only_with_its_name(service: PageService, visit: Open) -> None:
    path = service.create("goes", dummies("a"))
    page = visit(service, at(path))
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Delete this stack")
    expect(button).to_be_disabled()
    dialog.get_by_label("Type goes to go on").fill("goe")
    expect(button).to_be_disabled()
    dialog.get_by_label("Type goes to go on").fill("goes")
    button.click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".stack-head")).to_contain_text("Delete complete")
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("table", name="Events")).to_contain_text("Delete complete")


def test_a_nested_stack_is_opened_and_left_again(service: PageService, visit: Open) -> None:
    path = service.create(
        "outer",
        {
            "members": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {
                    "count": 3,
                    "resource_def": {"type": "OS::Heat::Dummy", "properties": {"max_wait_secs": 0}},
                },
            }
        },
    )
    page = visit(service, at(path))
    expect(page.locator(".stack-head")).to_contain_text("in 2 stacks")
    page.get_by_role("treeitem", name=re.compile("^members, nested stack")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="members")).to_be_visible()
    expect(page.get_by_role("treeitem")).to_have_count(3)
    page.get_by_role("navigation", name="Where this stack is").get_by_role("link", name="outer").click()
    expect(page.get_by_role("heading", level=1, name="outer")).to_be_visible()


@pytest.mark.parametrize(
    "tab", ["resources", "timeline", "history", "events", "drift", "outputs", "parameters", "template", "snapshots"]
)
def test_every_tab_opens_from_its_address_and_from_the_tabs(service: PageService, visit: Open, tab: str) -> None:
    path = service.create(f"tab-{tab}", dummies("a", "b<a"))
    page = visit(service, at(path, f"/{tab}"))
    expect(page.get_by_role("tab", selected=True)).to_have_text(re.compile(tab, re.IGNORECASE))
    page.get_by_role("tab", name="Graph").click()
    expect(page.get_by_role("treeitem")).to_have_count(2)
    page.go_back()
    expect(page.get_by_role("tab", selected=True)).to_have_text(re.compile(tab, re.IGNORECASE))


def test_a_snapshot_is_restored_after_its_plan_was_seen(service: PageService, visit: Open) -> None:
    path = service.create("restored", dummies("a"))
    assert service.api.post(f"{path}/snapshots", json={"name": "before"}).status_code == 200
    service.ended(path)

    def update(*names: str) -> None:
        template = {"heat_template_version": "2021-04-16", "resources": dummies(*names)}
        assert service.api.put(path, json={"template": template}).status_code == 202
        service.ended(path)

    update("a", "b")
    page = visit(service, at(path, "/snapshots"))
    page.get_by_role("row").filter(has_text="before").get_by_role("button", name="Restore…").click()
    dialog = page.get_by_role("dialog")
    plan = dialog.get_by_role("region", name="What it would do")
    expect(plan.locator(".plan-item")).to_have_count(1)
    expect(plan.locator(".plan-item")).to_contain_text(re.compile(r"b\s.*delete", re.DOTALL))
    # Another operation comes first: nothing is restored, and the plan is made again.
    update("a", "b", "c")
    dialog.get_by_role("button", name="Restore it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is at generation 4")
    expect(plan.locator(".plan-item")).to_have_count(2)
    dialog.get_by_role("button", name="Restore it").click()
    expect(page.locator(".stack-head")).to_contain_text("Restore complete")
    assert [one["resource_name"] for one in service.api.get(f"{path}/resources").json()["resources"]] == ["a"]


def test_snapshots_are_taken_and_deleted(service: PageService, visit: Open) -> None:
    path = service.create("kept", dummies("a"))
    page = visit(service, at(path, "/snapshots"))
    page.get_by_role("button", name="Take a snapshot…").click()
    page.get_by_role("dialog").get_by_label("Name").fill("before")
    page.get_by_role("dialog").get_by_role("button", name="Take it").click()
    row = page.get_by_role("row").filter(has_text="before")
    expect(row).to_contain_text("Snapshot complete")
    row.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("No snapshot")


def test_filters_and_search_are_in_the_address(own_service: PageService, visit: Open) -> None:
    own_service.create("good", dummies("a"))
    own_service.create("bad", dummies("a", fail_prop="yes"))
    page = visit(own_service)
    expect(page.get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("row").nth(1)).to_contain_text("bad")
    page.get_by_role("button", name=re.compile("failed")).click()
    expect(page.get_by_role("row")).to_have_count(2)
    assert "show=failed" in page.url
    page.reload()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Show all stacks").click()
    page.get_by_label("Search by name, tag or owner").fill("goo")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("row").nth(1)).to_contain_text("good")
