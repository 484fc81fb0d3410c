"""The page in a browser: sizes, first pictures, the script of a live change and of a scroll, long tasks, and the heap.

The rows are those of `bench.page`, and only the API runs, so that nothing changes while the browser is measured. The limits
are budgets for a quiet machine; times of the browser contain the service's answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

from bench import harness
from bench.page import write, write_tree
from isotherm.engine.process.embedded import Embedded
from tools import browser, page
from tools.screenshots import service

SIZES = {"small": 63, "flat-1000": 1000, "flat-10000": 10_000, "tree": 1_001_000}
# The stacks of the list: those above, and small ones.
LISTED, LONG = 200, 100_000
LOOKS = 5
TICKS, MORE_TICKS = 20, 400
SCROLLS = 100
MOST_ROWS = 60
PATIENCE_MS = 120_000
CHANGED = 50
LIMITS_MS = {"small": 400, "flat-1000": 300, "flat-10000": 600, "tree": 800}
LIST_LIMIT_MS = 400
FIRST_PICTURE = "performance.getEntriesByName('isotherm-graph')[0]?.startTime"
FIRST_ROWS = "performance.getEntriesByName('rows')[0]?.startTime"
# Marks the frame in which the first rows of a list are in the document, and keeps the lengths of long tasks.
MARKS = """new MutationObserver((_, self) => {
  if (!document.querySelector('.rows-body .row')) return;
  self.disconnect();
  requestAnimationFrame(() => performance.mark('rows'));
}).observe(document, {childList: true, subtree: true});
window.longTasks = [];
const keep = list => list.getEntries().forEach(one => window.longTasks.push(one.duration));
new PerformanceObserver(keep).observe({type: 'longtask'});"""
SCROLL = """async ({steps}) => {
  const box = document.querySelector('.tab-scroll');
  let most = 0;
  for (let step = 0; step < steps; step += 1) {
    box.scrollTop += 400;
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    most = Math.max(most, document.querySelectorAll('.rows-body .row').length);
  }
  return most;
}"""
# A change of fifty resources, told as the tab that reads the stream tells the others.
TICK = """async ({url, first, names, tick}) => {
  const channel = new BroadcastChannel(`isotherm:${url}`);
  const state = tick % 2 ? "WAITING" : "DONE";
  const nodes = names.map((name, i) => [`n${first + i}`, name, state, Date.now() / 1000]);
  const counts = {DONE: 600 + tick, PENDING: 400 - tick};
  const data = {now: Date.now() / 1000, generation: 1, counts, total: 1000, boxes: [], nodes, events: 50};
  channel.postMessage({event: "delta", id: "", data: JSON.stringify(data)});
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  channel.close();
}"""


async def write_rows(folder: Path) -> dict[str, int]:
    """Write the stacks of the benchmark into a home; return the first node of each."""
    engine = Embedded(folder)
    first, firsts = 1, {}
    flat = {name: size for name, size in SIZES.items() if name != "tree"} | {"long": LONG}
    for name, size in (flat | {f"listed-{number}": 3 for number in range(LISTED - len(flat) - 1)}).items():
        begin = firsts[name] = first
        await engine.store.write(lambda connection, begin=begin, name=name, size=size: write(  # type: ignore[misc]
            connection, name, size, None, begin))
        first += size
    begin = firsts["tree"] = first
    await engine.store.write(lambda connection: write_tree(connection, begin))
    engine.close()
    return firsts


def metrics(session: CDPSession) -> dict[str, float]:
    """Return the browser's own counters of a page."""
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def first_picture_ms(context: BrowserContext, address: str, mark: str = FIRST_PICTURE) -> float:
    """Open an address in a tab of its own; return when its graph, or its list, was drawn first."""
    page = context.new_page()
    page.goto(address)
    found = picture_ms(page, mark)
    page.close()
    return found


def picture_ms(page: Page, mark: str = FIRST_PICTURE) -> float:
    """Wait for the first picture of a graph or a list. The content policy of the page forbids playwright's own waiting."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while (found := page.evaluate(mark)) is None:
        if time.monotonic() > end:
            raise SystemExit("bench: nothing was drawn")
        page.wait_for_timeout(10)
    return float(found)


def script_per_tick_ms(page: Page, name: str, first: int, ticks: int = TICKS) -> float:
    """Change fifty resources some times; return the milliseconds of script for one change."""
    url = f"/v1/default/stacks/{name}/s-{name}/live?group=kind"
    asked = {"url": url, "first": first + 1, "names": [f"web_{number}" for number in range(1, CHANGED + 1)]}
    session = page.context.new_cdp_session(page)
    # Counters begin with this; a session of its own for each look would find nothing.
    session.send("Performance.enable")
    before = metrics(session)["ScriptDuration"]
    for tick in range(ticks):
        page.evaluate(TICK, {**asked, "tick": tick})
    return (metrics(session)["ScriptDuration"] - before) / ticks * 1000


def link(home: str) -> str:
    """Return a link that logs in to the API of a home."""
    command = [sys.executable, "-m", "isotherm.cli.main", "open", "--json"]
    made = subprocess.run(command, env={**os.environ, "ISOTHERM_HOME": home}, capture_output=True, text=True, check=True)
    return str(json.loads(made.stdout)["page"])


def heap_bytes(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    found: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return found


def measure(report: harness.Report, running: Browser, told: dict[str, Any], home: str, firsts: dict[str, int]) -> None:
    context = running.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(MARKS)
    entry = context.new_page()
    entry.goto(link(home))
    entry.get_by_role("heading", name="Stacks").wait_for(timeout=PATIENCE_MS)
    entry.close()
    for name, size in SIZES.items():
        address = f"{told['url']}/ui/stacks/{name}/s-{name}?group=kind"
        took = [first_picture_ms(context, address) for _ in range(LOOKS + 1)]
        report.figure(f"first picture of {size:,} resources, first look", took[0], "ms")
        # Limits are of a quiet machine; a busy one is no failure of the page, so they are told and not enforced.
        later = f"first picture of {size:,} resources (budget {LIMITS_MS[name]} ms)"
        report.figure(later, statistics.median(took[1:]), "ms")
        page = context.new_page()
        page.goto(address)
        picture_ms(page)
        script_ms = script_per_tick_ms(page, name, firsts[name])
        report.figure(f"script of a change of {CHANGED} of {size:,} resources", script_ms, "ms")
        report.figure(f"heap with {size:,} resources", heap_bytes(page) / 2**20, "MiB", limit=60)
        if name in ("flat-1000", "flat-10000"):
            before, already = heap_bytes(page), len(page.evaluate("window.longTasks"))
            script_per_tick_ms(page, name, firsts[name], MORE_TICKS)
            grown = (heap_bytes(page) - before) / 2**20
            report.figure(f"heap grown by {MORE_TICKS} changes of {size:,} resources", grown, "MiB", limit=2)
            longest = max(page.evaluate("window.longTasks")[already:], default=0)
            report.figure(f"longest task of {MORE_TICKS} changes of {size:,} resources (budget 50 ms)", longest, "ms")
        page.close()
    measure_lists(report, context, told["url"])
    context.close()


def measure_lists(report: harness.Report, context: BrowserContext, root: str) -> None:
    """Measure the list of stacks, and a long table of resources that is scrolled."""
    took = [first_picture_ms(context, f"{root}/ui/", FIRST_ROWS) for _ in range(LOOKS + 1)]
    report.figure(f"first picture of {LISTED} stacks (budget {LIST_LIMIT_MS} ms)", statistics.median(took[1:]), "ms")
    page = context.new_page()
    page.goto(f"{root}/ui/stacks/long/s-long/resources")
    picture_ms(page, FIRST_ROWS)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = metrics(session)["ScriptDuration"]
    rows = page.evaluate(SCROLL, {"steps": SCROLLS})
    script_ms = (metrics(session)["ScriptDuration"] - before) / SCROLLS * 1000
    report.figure(f"rows in the document of {LONG:,} resources", rows, "rows", limit=MOST_ROWS)
    report.figure(f"script of a scroll of {LONG:,} resources", script_ms, "ms")
    page.close()


def main() -> int:
    report = harness.Report("browser", runs=LOOKS)
    if not page.is_built():
        page.build()
    for part, limit in (("first", page.FIRST_LOAD_BYTES), ("editor", page.EDITOR_BYTES)):
        report.figure(f"compressed size: {part}", page.sizes()[part] / 1000, "kB", limit=limit / 1000)
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as home:
        firsts = asyncio.run(write_rows(Path(home)))
        with service("api", Path(home)) as (told, _), browser.running() as running:
            measure(report, running, told, home, firsts)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
