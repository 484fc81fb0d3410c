"""Login with the link, logout, and what policy does not allow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Home
from tests.web.conftest import Open, PageService, dummies


def test_a_link_logs_in_once_and_leaves_the_address(service: PageService, browser: Browser) -> None:
    link = service.link()
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Stacks")).to_be_visible()
    assert "code" not in page.url
    assert page.evaluate("history.length") <= 2
    assert page.evaluate("document.cookie") == ""
    context.close()
    other = browser.new_context()
    page = other.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_visible()
    other.close()


def test_a_pasted_link_logs_in(service: PageService, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{service.root}/ui/")
    page.get_by_label("Or paste the link").fill(service.link())
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Stacks")).to_be_visible()
    context.close()


def test_a_session_that_ends_is_asked_for_again_over_the_page(service: PageService, visit: Open) -> None:
    page = visit(service, "/ui/create")
    page.get_by_placeholder("Name of the stack").fill("kept")
    page.context.clear_cookies()
    page.get_by_role("button", name="first").click()
    expect(page.get_by_role("heading", name="Log in again")).to_be_visible()
    page.get_by_label("Or paste the link").fill(service.link())
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Log in again")).to_be_hidden()
    expect(page.get_by_placeholder("Name of the stack")).to_have_value("kept")


@pytest.fixture
def strict_service(tmp_path: Path) -> Iterator[PageService]:
    """A service whose policy refuses the drift of stacks, and their deletion."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "isotherm.conf").write_text("")
    (folder / "policy.yaml").write_text('"drift:show": "!"\n"stacks:delete": "!"\n')
    running = PageService(Home(folder))
    yield running
    running.end()


def test_what_policy_refuses_is_said_with_its_rule(strict_service: PageService, visit: Open) -> None:
    path = strict_service.create("guarded", dummies("a"))
    page = visit(strict_service, f"/ui{path}/drift")
    refusal = page.get_by_role("tabpanel").get_by_role("alert")
    expect(refusal).to_contain_text("Not allowed")
    expect(refusal).to_contain_text("drift:show")
    expect(page.locator(".stack-head")).to_contain_text("Create complete")
    page.get_by_role("button", name="More").click()
    delete = page.get_by_role("menuitem", name="Delete…")
    expect(delete).to_be_disabled()
    expect(delete).to_contain_text("The rule stacks:delete refuses it.")
