"""Names, reasons and values are the text of others: they are shown, and never run, followed or obeyed."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.web.conftest import Open, PageService, dummies

EVIL = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
BIDI = "a\u202ecod.exe\u200b"


def unhurt(page: Page) -> None:
    assert page.evaluate("window.hurt") is None
    assert page.locator("img[src], main script").count() == 0


def test_texts_of_stacks_are_shown_as_they_are(service: PageService, visit: Open) -> None:
    template = {
        "heat_template_version": "2021-04-16",
        "description": EVIL,
        "parameters": {"p": {"type": "string", "default": EVIL, "description": EVIL}},
        "resources": {name: dummies("a", update_in_place_prop=EVIL)["a"] for name in ("plain", "<b>bold<_b>")},
        "outputs": {
            "evil": {"value": EVIL, "description": EVIL},
            "script": {"value": "javascript:alert(1)"},
            "link": {"value": "https://example.invalid/?a=<b>"},
            "long": {"value": "x" * 200_000},
            "turned": {"value": BIDI},
        },
    }
    path = service.create("hostile", {}, template=template, tags="t<b>")
    page = visit(service, f"/ui{path}")
    expect(page.get_by_role("treeitem")).to_have_count(2)
    for tab in ("resources", "events", "timeline", "drift", "parameters", "template", "update", "outputs"):
        page.goto(f"{service.root}/ui{path}/{tab}")
        expect(page.locator(".skeleton")).to_have_count(0)
        unhurt(page)
    values = page.locator(".values")
    expect(values).to_contain_text('<img src=x onerror="window.hurt=1">')
    expect(values.get_by_role("link")).to_have_count(1)
    expect(values.get_by_role("link")).to_have_attribute("rel", "noreferrer noopener")
    expect(values).to_contain_text("more characters")
    expect(values).to_contain_text("a‹202E›cod.exe‹200B›")
    page.goto(f"{service.root}/ui{path}/resources")
    page.get_by_role("button", name="<b>bold<_b>").click()
    expect(page.get_by_role("complementary")).to_contain_text("<b>bold<_b>")
    unhurt(page)


def test_very_long_texts_are_cut_and_said_to_be(service: PageService, visit: Open) -> None:
    # Longer names are refused.
    name, text, reason = "n" * 255, "t" * 100_000, f"{EVIL} {'x' * 1_000_000}"
    outputs = {name: {"value": text, "description": text}}
    template = {"heat_template_version": "2021-04-16", "resources": dummies("a", "b"), "outputs": outputs}
    path = service.create("lengthy", {}, template=template)
    marked = {"mark_unhealthy": True, "resource_status_reason": reason}
    assert service.api.patch(f"{path}/resources/a", json=marked).status_code == 200
    page = visit(service, f"/ui{path}?r=a")
    drawer = page.get_by_role("complementary", name="Resource a")
    expect(drawer.locator(".callout")).to_contain_text('<img src=x onerror="window.hurt=1">')
    expect(drawer.locator(".callout")).to_contain_text("more characters")
    for tab in ("resources", "events", "timeline", "outputs"):
        page.goto(f"{service.root}/ui{path}/{tab}")
        expect(page.locator(".skeleton")).to_have_count(0)
        # Nothing of the million characters but what is shown is in the document.
        assert page.evaluate("document.body.textContent.length") < 100_000, tab
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440, tab
        unhurt(page)


def test_an_address_of_a_stack_that_is_not_there_says_so(service: PageService, visit: Open) -> None:
    page = visit(service, "/ui/stacks/%3Cimg%20src=x%3E/00000000-0000-0000-0000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("This is gone")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    # Longer than until the page would ask for the first time what it cannot stream.
    page.wait_for_timeout(6000)
    expect(page.locator(".link-state")).to_have_count(0)
    unhurt(page)
    page.goto(f"{service.root}/ui/stacks/a/b/c/d/e")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
