"""The cost of watching: the creation of a stack whose page is opened in a browser, compared with one that is not watched.

A service runs engine and API in one process, as `isotherm up` does. The measure is processor time of the service, on which
other load has little influence; both sides alternate. To open the page has a price of its own, which a creation of some
seconds does not outweigh: it is told apart, for the same stack after its creation.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
from playwright.sync_api import BrowserContext

from bench import harness, shapes
from tools import browser
from tools.screenshots import create, service, wait

# Resources, and the longest wait of each: at once, which is the hardest for a reader, and as a cloud would have it.
CASES = {"at once": (5000, 0.0), "within 20 s": (2000, 20.0)}
PAIRS = 5
# The budget of a quiet machine, where the time of a creation is processor time.
BUDGET = 1.03


def worked_s(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def watching(context: BrowserContext, address: str) -> Iterator[None]:
    page = context.new_page()
    page.goto(address, wait_until="commit")
    yield
    page.close()


SETTLED_MS = 3000


class Measured:
    """A service, and a browser that is logged in."""

    def __init__(self, api: httpx2.Client, root: str, context: BrowserContext) -> None:
        self._api = api
        self._root = root
        self._context = context
        self._pid = int(api.get("/load").raise_for_status().json()["load"]["services"][0]["pid"])

    def created_s(self, name: str, size: int, wait_s: float, *, watched: bool) -> float:
        """Create a stack; return the processor time that it took the service."""
        template = json.loads(shapes.template("layered", size))
        if wait_s:
            dummy = {"type": "OS::Heat::Dummy", "properties": {"max_wait_secs": wait_s}}
            template["resources"] = dict.fromkeys(template["resources"], dummy)
        began = worked_s(self._pid)
        path = create(self._api, name, template)
        with watching(self._context, f"{self._root}/ui/{path}") if watched else contextlib.nullcontext():
            wait(self._api, path, "CREATE_COMPLETE")
            return worked_s(self._pid) - began

    def opened_s(self, name: str) -> float:
        """Open the page of a stack that has ended; return the processor time that it took the service."""
        stack = self._api.get(f"/stacks/{name}", follow_redirects=True).raise_for_status().json()["stack"]
        page = self._context.new_page()
        began = worked_s(self._pid)
        page.goto(f"{self._root}/ui/stacks/{name}/{stack['id']}")
        page.wait_for_timeout(SETTLED_MS)
        took = worked_s(self._pid) - began
        page.close()
        return took


def measure(report: harness.Report, measured: Measured, words: str, size: int, wait_s: float) -> None:
    measured.created_s(f"first-{size}", size, wait_s, watched=True)
    pairs = []
    for number in range(PAIRS):
        order = (True, False) if number % 2 else (False, True)
        took = {watched: measured.created_s(f"s{size}-{number}-{watched}", size, wait_s, watched=watched)
                for watched in order}
        pairs.append((took[True], took[False]))
    what = f"create of {size:,}, {words}"
    report.figure(f"{what}: watched", statistics.median(pair[0] for pair in pairs), "s")
    report.figure(f"{what}: not watched", statistics.median(pair[1] for pair in pairs), "s")
    opened = statistics.median(measured.opened_s(f"first-{size}") for _ in range(PAIRS))
    report.figure(f"opening the page of {size:,}", opened, "s")
    ratio = statistics.median(above / below for above, below in pairs)
    report.figure(f"{what}: watched / not watched (budget {BUDGET})", ratio, "x")


def main() -> int:
    report = harness.Report("watched", runs=PAIRS)
    with (
        tempfile.TemporaryDirectory(prefix="isotherm-bench-") as home,
        service("up", Path(home)) as (told, api),
        browser.running() as running,
    ):
        context = running.new_context(viewport={"width": 1440, "height": 900})
        entry = context.new_page()
        entry.goto(str(told["page"]))
        entry.get_by_role("heading", name="Stacks").wait_for()
        entry.close()
        measured = Measured(api, told["url"], context)
        for words, (size, wait_s) in CASES.items():
            measure(report, measured, words, size, wait_s)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
