"""Protection, history, limited updates and retries: the ways to keep what is worth keeping, and to go back and on."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests import patience
from tests.web.conftest import Open, PageService, dummies
from tests.web.test_journeys import apply_template, at, set_text


def template(*edges: str, **properties: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": dummies(*edges, **properties)}


def update(service: PageService, path: str, body: dict[str, Any]) -> None:
    assert service.api.put(path, json=body).status_code == 202
    service.ended(path)


def choose(page: Page, item: str) -> Locator:
    """Choose from the menu of the stack; return the dialog."""
    page.locator("#menu-more").click()
    page.get_by_role("menuitem", name=item).click()
    return page.get_by_role("dialog")


def names(service: PageService, path: str) -> list[str]:
    return sorted(one["resource_name"] for one in service.api.get(f"{path}/resources").json()["resources"])


def test_a_stack_is_protected_and_the_protection_lifted(service: PageService, visit: Open) -> None:
    path = service.create("treasure", dummies("a"))
    page = visit(service, at(path))
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    dialog = choose(page, "Protection…")
    expect(dialog).to_contain_text("is not protected by itself")
    expect(dialog).to_contain_text("No resource is protected.")
    dialog.get_by_role("button", name="Protect the stack").click()
    expect(dialog).to_contain_text(re.compile("from delete by user [a-z]"))
    dialog.get_by_role("button", name="Close").click()
    pill = page.get_by_role("button", name="Protected: show by whom")
    expect(pill).to_be_visible()
    page.locator("#menu-more").click()
    refused = page.get_by_role("menuitem", name=re.compile("Delete…"))
    expect(refused).to_have_attribute("aria-disabled", "true")
    expect(refused).to_contain_text("protected from delete")
    page.keyboard.press("Escape")
    pill.click()
    dialog.get_by_role("button", name="Lift the protection of the stack").click()
    expect(dialog).to_contain_text("is not protected by itself")
    dialog.get_by_role("button", name="Close").click()
    expect(pill).to_have_count(0)
    assert service.api.get(f"{path}/protection").json()["protection"]["protected"] is False


def test_the_drawer_says_who_protects_a_resource_and_lifts_it(service: PageService, visit: Open) -> None:
    resources = dummies("db", "web")
    resources["db"]["metadata"] = {"isotherm": {"protect": ["replace"]}}
    path = service.create("guarded", resources)
    page = visit(service, at(path, "?r=db"))
    drawer = page.get_by_role("complementary", name="Resource db")
    expect(drawer.locator(".facts")).to_contain_text("from replace by its template")
    drawer.get_by_role("button", name="More").click()
    drawer.get_by_role("menuitem", name="Protect…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name=re.compile("^delete"))).to_be_checked()
    dialog.get_by_role("button", name="Protect it").click()
    expect(drawer.locator(".facts")).to_contain_text(re.compile("from replace, delete by its template and user [a-z]"))
    expect(page.get_by_role("button", name="Partly protected: show by whom")).to_be_visible()
    drawer.get_by_role("button", name="More").click()
    drawer.get_by_role("menuitem", name="Lift the protection…").click()
    expect(dialog).to_contain_text("the next update by a user with that template protects it again")
    dialog.get_by_role("button", name="Lift it").click()
    expect(drawer.locator(".facts")).not_to_contain_text("Protected")
    expect(page.get_by_role("button", name="Partly protected: show by whom")).to_have_count(0)


def test_a_plan_says_that_a_protection_refuses_it(service: PageService, visit: Open) -> None:
    path = service.create("refuses", dummies("db", "web"))
    assert service.api.put(f"{path}/resources/db/protection", json={"protect": ["delete"]}).status_code == 200
    page = visit(service, at(path, "/update"))
    apply_template(page, ("db:", "other:"))
    entry = page.get_by_role("region", name="What it would do").locator(".plan-item").filter(has_text="delete").first
    expect(entry).to_contain_text("Refused: ")
    expect(entry).to_contain_text("protected from delete")


def test_a_resource_is_forgotten(service: PageService, visit: Open) -> None:
    path = service.create("forgets", dummies("a", "b"))
    page = visit(service, at(path, "?r=b"))
    drawer = page.get_by_role("complementary", name="Resource b")
    drawer.get_by_role("button", name="More").click()
    drawer.get_by_role("menuitem", name="Forget…").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
    expect(page.locator(".stack-head")).to_contain_text("Update complete")
    assert names(service, path) == ["a"]


def test_two_past_inputs_are_compared_and_one_is_brought_back(service: PageService, visit: Open) -> None:
    path = service.create("travels", {}, template=json.dumps(template("one"), indent=1))
    parameters = {"parameters": {"size": {"type": "string", "default": "small"}}}
    second = json.dumps({**template("one", "two"), **parameters}, indent=1)
    update(service, path, {"template": second})
    update(service, path, {"template": second, "parameters": {"size": "large"}})
    page = visit(service, at(path, "/history"))
    inputs = page.get_by_role("navigation", name="Past inputs").get_by_role("button")
    expect(inputs).to_have_count(3)
    expect(inputs.first).to_contain_text(re.compile(r"Generation 3\s+Update by [a-z].*changed parameters", re.DOTALL))
    found = page.get_by_role("region", name="Differences")
    expect(found).to_contain_text(re.compile(r"size\s+not set\s.*large", re.DOTALL))
    expect(found.get_by_role("button", name="Roll back to generation 3…")).to_be_disabled()
    inputs.nth(1).click()
    expect(found.locator(".plus")).to_contain_text(['"two":', '"parameters":', '"size":'])
    found.get_by_label("The newer input").select_option("3")
    found.get_by_label("The older input").select_option("1")
    expect(found).to_contain_text("large")
    expect(found.locator(".plus").filter(has_text='"two":')).to_have_count(1)
    page.reload()
    expect(found).to_contain_text("large")
    inputs.last.click()
    expect(found).to_contain_text("the oldest input that is kept")
    found.get_by_role("button", name="Roll back to generation 1…").click()
    dialog = page.get_by_role("dialog")
    plan = dialog.get_by_role("region", name="What it would do")
    expect(plan.locator(".plan-item")).to_contain_text(re.compile(r"two\s.*delete", re.DOTALL))
    # Another operation comes first: nothing happens, and the plan is made again.
    update(service, path, {"template": template("one", "two", "three")})
    dialog.get_by_role("button", name="Roll back to generation 1").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is at generation 4")
    expect(plan.locator(".plan-item")).to_have_count(2)
    assert names(service, path) == ["one", "three", "two"]
    dialog.get_by_role("button", name="Roll back to generation 1").click()
    expect(inputs).to_have_count(5)
    expect(page.locator(".stack-head")).to_contain_text(re.compile("generation 5.*", re.DOTALL))
    service.ended(path)
    assert names(service, path) == ["one"]


def test_the_history_of_a_nested_stack_is_that_of_the_outermost(service: PageService, visit: Open) -> None:
    one = {"type": "OS::Heat::RandomString"}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": one}}
    path = service.create("around", {"members": group})
    page = visit(service, at(path))
    page.get_by_role("treeitem", name=re.compile("^members, nested stack")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="members")).to_be_visible()
    page.get_by_role("tab", name="History").click()
    page.get_by_role("link", name="History of around").click()
    expect(page.get_by_role("navigation", name="Past inputs").get_by_role("button")).to_have_count(1)


def test_a_part_is_left_out_of_an_update_and_brought_later(service: PageService, visit: Open) -> None:
    path = service.create("parts", {"a": {"type": "OS::Heat::RandomString"}})
    page = visit(service, at(path, "/update"))
    apply_template(page, ("  a:", "  b: {type: OS::Heat::RandomString}\n  c: {type: OS::Heat::RandomString}\n  a:"))
    plan = page.get_by_role("region", name="What it would do")
    expect(plan.locator(".plan-item")).to_have_count(2)
    plan.get_by_role("button", name="Leave out b").click()
    limits = page.get_by_role("region", name="Limits")
    expect(limits).to_contain_text(re.compile(r"Without\s+b", re.DOTALL))
    expect(plan.locator(".plan-item")).to_have_count(1)
    expect(page.get_by_role("button", name="Apply: 1 change, leave out 1")).to_be_visible()
    limits.get_by_role("button", name="Do not limit by b").click()
    expect(limits).to_have_count(0)
    expect(plan.locator(".plan-item")).to_have_count(2)
    plan.get_by_role("button", name="Only b").click()
    expect(limits).to_contain_text(re.compile(r"Only\s+b.*Left out:\s.*c", re.DOTALL))
    expect(plan.locator(".plan-item")).to_have_count(1)
    expect(plan.locator(".plan-item")).to_contain_text("b")
    page.get_by_role("button", name="Apply: 1 change, leave out 1").click()
    head = page.locator(".stack-head")
    expect(head).to_contain_text("Update complete")
    expect(head).to_contain_text(re.compile(r"1 resource left out\s+of the last update:\s+c", re.DOTALL))
    assert names(service, path) == ["a", "b"]
    head.get_by_role("button", name="Bring it up to date").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 left out")
    dialog.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("treeitem", name=re.compile("^c, "))).to_be_attached()
    expect(head).not_to_contain_text("left out")
    service.ended(path)
    assert names(service, path) == ["a", "b", "c"]


def test_a_limit_that_does_not_fit_any_more_can_be_taken_back(service: PageService, visit: Open) -> None:
    page = visit(service, at(service.create("misfit", dummies("a")), "/update"))
    apply_template(page, ("  a:", "  b: {type: OS::Heat::RandomString}\n  a:"))
    plan = page.get_by_role("region", name="What it would do")
    plan.get_by_role("button", name="Only b").click()
    limits = page.get_by_role("region", name="Limits")
    expect(limits).to_contain_text("Only")
    page.get_by_role("button", name="1 Template").click()
    set_text(page, json.dumps(template("a", "other")))
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("b")
    expect(page.get_by_role("button", name=re.compile("^(Apply|Planning)"))).to_be_disabled()
    limits.get_by_role("button", name="Plan everything").click()
    expect(plan.locator(".plan-item")).to_contain_text("other")


def test_what_failed_is_tried_again(service: PageService, visit: Open) -> None:
    file = {"type": "Isotherm::Local::File", "properties": {"path": "blocked", "content": "x"}}
    blocked = service.home.folder / "local" / "blocked"
    (blocked / "inside").mkdir(parents=True)
    path = service.create("again", {"f": file} | dummies("end<f"))
    page = visit(service, at(path, "?r=end"))
    drawer = page.get_by_role("complementary", name="Resource end")
    expect(drawer.get_by_role("button", name="Try again…")).to_be_visible()
    (blocked / "inside").rmdir()
    blocked.rmdir()
    page.get_by_role("alert").get_by_role("button", name="Try again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 failed")
    dialog.get_by_role("button", name="Try again").click()
    expect(page.locator(".stack-head")).to_contain_text("2 of 2 done")
    patience.until(lambda: blocked.read_text() == "x")
    expect(drawer.get_by_role("button", name="Try again…")).to_have_count(0)


def test_resources_are_shown_down_to_a_depth(service: PageService, visit: Open) -> None:
    one = {"type": "OS::Heat::RandomString"}
    inner = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": one}}
    outer = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": inner}}
    path = service.create("deep", {"sites": outer})
    page = visit(service, at(path, "/resources"))
    rows = page.get_by_role("table", name="Resources").get_by_role("row")
    depth = page.get_by_label("Depth")
    expect(rows).to_have_count(2)
    for value, count in (("1", 3), ("2", 5), ("all", 5), ("", 2)):
        depth.select_option(value)
        expect(rows).to_have_count(count)
    depth.select_option("2")
    page.reload()
    expect(rows).to_have_count(5)
    expect(rows.filter(has_text="in sites / 0")).to_have_count(2)
    assert "depth=2" in page.url


def test_a_keyboard_is_enough_to_protect_and_to_go_back(service: PageService, visit: Open) -> None:
    path = service.create("keyed", dummies("a"))
    update(service, path, {"template": template("a", "b")})
    page = visit(service, at(path, "/history"))
    inputs = page.get_by_role("navigation", name="Past inputs").get_by_role("button")
    expect(inputs).to_have_count(2)
    inputs.last.focus()
    page.keyboard.press("Enter")
    back = page.get_by_role("button", name="Roll back to generation 1…")
    expect(back).to_be_enabled()
    back.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".plan-item")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(back).to_be_focused()
    page.locator("#menu-more").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    item = page.get_by_role("menuitem", name="Protection…")
    while not item.evaluate("one => one === document.activeElement"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    button = dialog.get_by_role("button", name="Protect the stack")
    expect(button).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Lift the protection of the stack")).to_be_visible()
