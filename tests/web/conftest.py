"""The page in a real browser, on a real service: `isotherm up` with a home of its own.

Every test fails on an error of the console, a report of the content policy, or a request that leads elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.e2e.conftest import Home
from tests.e2e.test_service import Service
from tools import browser as browsers

PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)
# What the browser itself says of answers that are no success; the tests of such answers look at the page.
NOISE = ("Failed to load resource",)


@pytest.fixture(scope="session", autouse=True)
def possible() -> None:
    """Leave these tests out where there is no browser. `make test` says so at its end; in CI it is a failure."""
    for reason in browsers.missing().values():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(f"NOT TESTED IN A BROWSER: {reason}")


# Of a module: while the browser runs, its loop runs in this thread, and no other test could start one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers.running() as running:
        yield running


class PageService:
    """A running service, its API, and links to its page."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.process = Service(home, "up", "--port", "0")
        self.root = str(self.process.told["url"])
        self.first_link: str | None = self.process.told["page"]
        self.api = httpx2.Client(
            base_url=f"{self.root}/v1/default",
            trust_env=False,
            timeout=120,
            headers={"X-Auth-Token": (home.folder / "token").read_text().strip()},
        )

    def link(self) -> str:
        """Return a link that logs in once."""
        link = self.first_link or str(self.home.ask("open")["page"])
        self.first_link = None
        return link

    def kill_and_start(self) -> None:
        self.process.end(signal.SIGKILL)
        self._close()
        self.process = Service(self.home, "up", "--port", self.root.rpartition(":")[2])

    def end(self) -> None:
        self.api.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.end()
        self.process.process.kill()
        self.process.process.wait()
        self._close()

    def _close(self) -> None:
        if self.process.process.stdout is not None:
            self.process.process.stdout.close()

    def create(self, name: str, resources: dict[str, Any], *, wait: bool = True, **more: Any) -> str:
        """Create a stack; return its path below the project."""
        template = more.pop("template", {"heat_template_version": "2021-04-16", "resources": resources})
        answer = self.api.post("/stacks", json={"stack_name": name, "template": template, **more})
        assert answer.status_code == 201, answer.text
        path = f"/stacks/{name}/{answer.json()['stack']['id']}"
        if wait:
            self.ended(path)
        return path

    def ended(self, path: str) -> dict[str, Any]:
        """Wait until nothing is under way on the stack; return it."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while True:
            stack: dict[str, Any] = self.api.get(path).raise_for_status().json()["stack"]
            if not stack["stack_status"].endswith("IN_PROGRESS"):
                return stack
            assert time.monotonic() < end, stack
            time.sleep(0.05)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageService]:
    """One service for the tests of a module: each uses stacks of its own."""
    running = PageService(Home(tmp_path_factory.mktemp("home") / "home"))
    yield running
    running.end()


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[PageService]:
    """A service for one test, which kills it or counts all its stacks."""
    running = PageService(Home(tmp_path / "home"))
    yield running
    running.end()


class Watch:
    """Collects what must not happen in any page of a context."""

    def __init__(self, context: BrowserContext, root: str) -> None:
        self.root = root
        self.problems: list[str] = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.problems.append(f"error: {error.error}"))
        context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(NOISE):
            self.problems.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.root, "data:", "blob:")):
            self.problems.append(f"request to {request.url}")


Open = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Open a page of a service, logged in, in a context of its own."""
    with contextlib.ExitStack() as stack:
        watches: list[Watch] = []

        def begin(service: PageService, path: str = "/ui/", **options: Any) -> Page:
            options.setdefault("viewport", {"width": 1440, "height": 900})
            context = browser.new_context(**options)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            watches.append(Watch(context, service.root))
            page = context.new_page()
            page.goto(service.link())
            expect(page.get_by_role("link", name="Isotherm, list of stacks")).to_be_visible()
            if path != "/ui/":
                page.goto(service.root + path)
            return page

        yield begin
        problems = [problem for watch in watches for problem in watch.problems]
        assert not problems, "\n".join(problems)


def dummies(*edges: str, wait_s: float = 0.0, **properties: Any) -> dict[str, Any]:
    """Return Dummy resources: `dummies("a", "b<a", "c<a b")`."""
    found: dict[str, Any] = {}
    for edge in edges:
        name, _, needs = edge.partition("<")
        found[name] = {
            "type": "OS::Heat::Dummy",
            "properties": {"max_wait_secs": wait_s, **properties},
            **({"depends_on": needs.split()} if needs else {}),
        }
    return found
