"""Accessibility: axe-core finds nothing on any page in either theme, and a keyboard is enough."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Open, PageService, dummies
from tools import page as built

AXE = built.WEB / "node_modules" / "axe-core" / "axe.min.js"
# The rules of WCAG 2.2 AA, and axe's good habits.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
TABS = [
    *("", "/resources", "/timeline", "/history", "/events", "/drift"),
    *("/outputs", "/parameters", "/template", "/snapshots", "/update"),
]


def complaints(page: Page) -> list[str]:
    """Return what axe finds on a page, each with the first element."""
    # Evaluated, not added as a script: the content policy of the page stays as it is.
    page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(
        "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']}).then(found => found.violations)", RULES
    )
    return [f"{one['id']}: {one['nodes'][0]['html'][:300]} {one['nodes'][0]['failureSummary'][:300]}" for one in found]


@pytest.fixture(scope="module")
def path(service: PageService) -> str:
    return service.create("seen", dummies("a", "b<a") | dummies("c<b", fail_prop="yes") | dummies("d<c"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(service: PageService, visit: Open, path: str, theme: str) -> None:
    page = visit(service, color_scheme=theme, reduced_motion="reduce")
    expect(page.get_by_role("row", name="seen")).to_be_visible()
    found = {"stacks": complaints(page)}
    for tab in TABS:
        page.goto(f"{service.root}/ui{path}{tab}{'' if tab == '/update' else '?r=c'}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".skeleton")).to_have_count(0)
        found[tab or "graph"] = complaints(page)
    for name in ("create", "service"):
        page.goto(f"{service.root}/ui/{name}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".skeleton")).to_have_count(0)
        found[name] = complaints(page)
    wrong = [f"{where}: {complaint}" for where, complaints_there in found.items() for complaint in complaints_there]
    assert not wrong, "\n\n".join(wrong)


def test_a_keyboard_is_enough(service: PageService, visit: Open, path: str) -> None:
    # The search leaves one row, whichever stacks other tests have made.
    page = visit(service, "/ui/?q=seen")
    expect(page.get_by_role("row")).to_have_count(2)
    page.keyboard.press("j")
    # The row has the focus in the next frame.
    expect(page.locator("#row-0")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="seen")).to_be_visible()
    page.get_by_role("treeitem", name=re.compile("^a, ")).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("treeitem", name=re.compile("^b, "))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Resource b")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("along its lines")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_on_a_narrow_screen_the_graph_is_a_list(service: PageService, visit: Open, path: str) -> None:
    page = visit(service, f"/ui{path}", viewport={"width": 360, "height": 740})
    expect(page.get_by_role("treeitem").first).to_be_visible()
    expect(page.locator(".graph-canvas")).to_be_hidden()
    for tab in ["", *TABS[1:-1]]:
        page.goto(f"{service.root}/ui{path}{tab}")
        expect(page.locator(".skeleton")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
        expect(page.get_by_role("tab", selected=True)).to_be_in_viewport(ratio=1)


def test_snapshots_can_be_restored_and_deleted_on_a_narrow_screen(service: PageService, visit: Open) -> None:
    kept = service.create("kept-small", dummies("a"))
    assert service.api.post(f"{kept}/snapshots", json={"name": "before"}).status_code == 200
    service.ended(kept)
    page = visit(service, f"/ui{kept}/snapshots", viewport={"width": 360, "height": 740})
    for name in ("Restore…", "Delete…"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


MOVING = "document.getAnimations().filter(one => one.playState === 'running').map(one => one.animationName)"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_turns_where_less_motion_is_wanted(service: PageService, visit: Open, motion: str) -> None:
    running = service.create(f"turns-{motion}", dummies("a", wait_s=3600), wait=False)
    page = visit(service, f"/ui{running}", reduced_motion=motion)
    expect(page.locator(".stack-head .pill")).to_contain_text("Create in progress")
    expect(page.locator(".skeleton")).to_have_count(0)
    moving = page.evaluate(MOVING)
    assert "turn" in moving if motion == "no-preference" else moving == []


CUT_OFF = """() => [...document.querySelectorAll('.pill, .c-progress, .gantt-time, .c-drift, .button')]
  .filter(one => one.offsetParent)
  .flatMap(one => {
    const cell = one.closest('[role=cell], .card, .buttons') ?? one;
    const [inner, outer] = [one.getBoundingClientRect(), cell.getBoundingClientRect()];
    const out = inner.right > outer.right + 1 || one.scrollWidth > one.clientWidth + 1;
    return out ? [`${one.className}: ${one.textContent.trim()}`] : [];
  })"""


@pytest.mark.parametrize("width", [1280, 1440])
def test_states_and_numbers_are_not_cut_off(own_service: PageService, visit: Open, width: int) -> None:
    many = {f"r{number}": {"type": "OS::Heat::RandomString"} for number in range(1000)}
    path = own_service.create("many", many)
    own_service.create("goes", dummies("a", wait_s=3600), wait=False)
    assert own_service.api.post(f"{path}/snapshots", json={}).status_code == 200
    files = {name: {"type": "Isotherm::Local::File", "properties": {"path": name, "content": "x"}} for name in ("f", "g")}
    drifted = own_service.create("drifts", files)
    (own_service.home.folder / "local" / "f").write_text("other")
    (own_service.home.folder / "local" / "g").unlink()
    assert own_service.api.post(f"{drifted}/observe", json={}).status_code == 202
    page = visit(own_service, viewport={"width": width, "height": 900})
    table = page.get_by_role("table", name="Stacks")
    for text in ("1,000 of 1,000", "Create in progress", "Snapshot complete", "1 drifted, 1 gone"):
        expect(table).to_contain_text(text)
    assert page.evaluate(CUT_OFF) == []
    for tab in ("", "/resources", "/events", "/timeline", "/drift"):
        page.goto(f"{own_service.root}/ui{drifted}{tab}?r=f")
        expect(page.get_by_role("complementary", name="Resource f")).to_contain_text("Drifted")
        expect(page.locator(".skeleton")).to_have_count(0)
        assert page.evaluate(CUT_OFF) == [], tab


# Each tone in a pill, in a chip and under the mouse: the colours of text and ground as the browser resolves them.
TONES = ["pending", "scheduled", "running", "waiting", "done", "failed", "skipped", "drifted", "resting"]
DRAWN = """tones => tones.map(tone => {
  const box = document.createElement('button');
  box.className = `sample-of-tone t-${tone}`;
  box.textContent = tone;
  document.getElementById('main').append(box);
})"""
COLOURS = """(one) => {
  const on = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const {color, backgroundColor} = getComputedStyle(one);
  return [color, backgroundColor].map(name => {
    on.clearRect(0, 0, 1, 1);
    on.fillStyle = name;
    on.fillRect(0, 0, 1, 1);
    return [...on.getImageData(0, 0, 1, 1).data];
  });
}"""


def contrast(one: list[int], other: list[int]) -> float:
    """Return the contrast of two opaque colours, as WCAG defines it."""

    def light(colour: list[int]) -> float:
        parts = [part / 255 for part in colour[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert one[3] == other[3] == 255, (one, other)
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pills_of_all_states_can_be_read_as_drawn(service: PageService, visit: Open, path: str, theme: str) -> None:
    """Measure every tone. axe measures contrast too, but only of the states that a page happens to show."""
    page = visit(service, f"/ui{path}", color_scheme=theme)
    expect(page.locator(".stack-head .pill")).to_be_visible()
    page.evaluate(DRAWN, TONES)
    samples = page.locator(".sample-of-tone")
    expect(samples).to_have_count(len(TONES))
    found = {"the page's own": contrast(*page.locator(".stack-head .pill").evaluate(COLOURS))}
    for number, tone in enumerate(TONES):
        for part in ("pill", "chip"):
            samples.nth(number).evaluate("(one, part) => one.classList.add(part)", part)
            samples.nth(number).hover()
            found[f"{part} {tone}"] = contrast(*samples.nth(number).evaluate(COLOURS))
            samples.nth(number).evaluate("(one, part) => one.classList.remove(part)", part)
    assert len({round(ratio, 3) for ratio in found.values()}) > len(TONES)
    assert {what: round(ratio, 2) for what, ratio in found.items() if ratio < 4.5} == {}


def test_nothing_moves_where_motion_is_not_wanted(service: PageService, visit: Open) -> None:
    path = service.create("calm", dummies("a", wait_s=3600), wait=False)
    for wish, moving in (("reduce", False), ("no-preference", True)):
        page = visit(service, f"/ui{path}/timeline", reduced_motion=wish)
        bar = page.locator(".gantt-bar.moving")
        expect(bar).to_be_visible()
        assert (bar.evaluate("one => getComputedStyle(one).animationName") != "none") is moving, wish
