"""The page follows the service: through a kill, in many tabs, and without a connection."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Request, expect

from tests.web.conftest import Open, PageService, dummies

MANY_TABS = 8


def words(status: str) -> str:
    return status.capitalize().replace("_", " ")


@pytest.mark.long
def test_a_killed_service_is_found_again_and_nothing_is_missed(own_service: PageService, visit: Open) -> None:
    chain = dummies("r0", *(f"r{number}<r{number - 1}" for number in range(1, 12)), wait_s=1)
    path = own_service.create("survives", chain, wait=False)
    page = visit(own_service, f"/ui{path}")
    page.evaluate("window.unchanged = true")
    expect(page.locator(".legend")).to_contain_text(re.compile("[1-9] of 12 done"))
    own_service.kill_and_start()
    expect(page.locator(".stack-head")).to_contain_text("12 of 12 done")
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    page.get_by_role("tab", name="Events").click()
    rows = page.get_by_role("table", name="Events").get_by_role("row")
    events = own_service.api.get(f"{path}/events").json()["events"]
    expect(rows).to_have_count(len(events) + 1)
    # Each event once, in the order of the API.
    said = [(one["resource_name"], words(one["resource_status"])) for one in events]
    shown = [tuple(row.get_by_role("cell").all_inner_texts()[1:3]) for row in rows.all()[1:]]
    assert [(name if name != "the stack" else "survives", status) for name, status in shown] == said
    assert page.evaluate("window.unchanged") is True


def test_many_tabs_of_one_stack_all_load_and_all_follow(service: PageService, visit: Open) -> None:
    path = service.create("shared", dummies("a"))
    first = visit(service, f"/ui{path}")
    tabs = [first, *(first.context.new_page() for _ in range(MANY_TABS - 1))]
    for tab in tabs[1:]:
        tab.goto(f"{service.root}/ui{path}")
    for tab in tabs:
        expect(tab.locator(".stack-head")).to_contain_text("Create complete")
    template = {"heat_template_version": "2021-04-16", "resources": dummies("a", "b")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    for tab in tabs:
        expect(tab.locator(".stack-head")).to_contain_text("generation 2")
        expect(tab.locator(".stack-head")).to_contain_text("Update complete")


def test_without_a_connection_the_page_says_so_and_shows_what_it_saw(service: PageService, visit: Open) -> None:
    path = service.create("offline", dummies("a"))
    page = visit(service, f"/ui{path}")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.context.set_offline(True)
    page.get_by_role("tab", name="Resources").click()
    expect(page.locator(".offline")).to_contain_text("No connection since")
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    page.context.set_offline(False)
    page.get_by_role("tab", name="Events").click()
    expect(page.locator(".offline")).to_have_count(0)
    expect(page.get_by_role("table", name="Events")).to_contain_text("Create complete")


def test_new_events_are_counted_while_the_reader_has_scrolled_away(service: PageService, visit: Open) -> None:
    many = dummies(*(f"r{number}" for number in range(40)))
    path = service.create("scrolled", many)
    page = visit(service, f"/ui{path}/events")
    table = page.get_by_role("table", name="Events")
    expect(table).to_contain_text("Create complete")
    box = page.locator(".tab-scroll")
    newest = table.get_by_role("row").nth(1).inner_text()
    box.evaluate("element => element.scrollTo(0, 600)")
    expect(table.get_by_role("row").nth(1)).not_to_have_text(newest)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    before = table.get_by_role("row").all_inner_texts()
    template = {"heat_template_version": "2021-04-16", "resources": many | dummies("fresh")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    service.ended(path)
    # The stack begins and ends, and so does its new resource.
    new = page.get_by_role("button", name="4 new events")
    expect(new).to_be_visible()
    assert table.get_by_role("row").all_inner_texts() == before
    assert box.evaluate("element => element.scrollTop") == 600
    new.click()
    expect(table.get_by_role("row").nth(1)).to_contain_text("Update complete")
    expect(table).to_contain_text("fresh")
    expect(new).to_have_count(0)


# A browser without a window calls every page visible; these pages say what the test wants.
HIDE = """window.away = false;
  Object.defineProperty(document, 'hidden', {get: () => window.away});
  Object.defineProperty(document, 'visibilityState', {get: () => window.away ? 'hidden' : 'visible'});"""
SEEN = "away => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }"


def is_stream(request: Request) -> bool:
    return "/live" in request.url


def test_a_hidden_tab_holds_no_stream_and_another_tab_reads_on(service: PageService, visit: Open) -> None:
    path = service.create("hidden", dummies("a"))
    first = visit(service)
    first.context.add_init_script(HIDE)
    with first.expect_request(is_stream):
        first.goto(f"{service.root}/ui{path}")
    expect(first.locator(".link-state")).to_contain_text("live")
    second = first.context.new_page()
    second.goto(f"{service.root}/ui{path}")
    expect(second.locator(".stack-head")).to_contain_text("generation 1")
    with second.expect_request(is_stream), first.expect_event("requestfailed", is_stream):
        first.evaluate(SEEN, True)
    expect(second.locator(".link-state")).to_contain_text("live")
    template = {"heat_template_version": "2021-04-16", "resources": dummies("a", "b")}
    assert service.api.put(path, json={"template": template}).status_code == 202
    expect(second.locator(".stack-head")).to_contain_text("Update complete")
    expect(second.locator(".stack-head")).to_contain_text("2 of 2 done")
    expect(first.locator(".stack-head")).to_contain_text("generation 1")
    first.evaluate(SEEN, False)
    expect(first.locator(".stack-head")).to_contain_text("Update complete")
