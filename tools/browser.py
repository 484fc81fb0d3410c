"""The browser of the tests and screenshots: Debian's chromium, driven by playwright.

Without chromium or the built page, the tests in `tests/web` are left out; the gate says so loudly, and CI fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import playwright
from playwright.sync_api import Browser, sync_playwright

from tools import page
from tools.services import packages

# The page sends requests to its service only, and so does the browser. Root may not have the sandbox.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
]


def program() -> Path:
    """Return the path of chromium, installed where possible; raise `packages.Impossible` where not."""
    packages.install(["chromium"])
    return packages.need("chromium")


def missing() -> dict[str, str]:
    """Return why the page cannot be tested here, or nothing: in the form of the gate's summary."""
    try:
        program()
        if not page.is_built():
            page.build()
    except (packages.Impossible, page.Impossible) as error:
        return {"the page": str(error)}
    return {}


def node() -> str:
    """Return the Node.js that playwright brings: it runs the unit tests of the page."""
    return str(Path(playwright.__file__).parent / "driver" / "node")


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """Run a browser for the block."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(program()), args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
