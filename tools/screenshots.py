"""Makes the pictures of docs/page.md: starts a service, puts stacks into it, and photographs its page.

    make screenshots

The stacks are made of resources that need no cloud, so that the pictures can be made anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from playwright.sync_api import Browser, StorageState, ViewportSize, expect

from tools import browser

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "page"
LARGE, SMALL = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
PATIENCE_S = 180


class Picture(NamedTuple):
    """One picture: its file, the address below `/ui/`, and what has to be on the page before it is taken."""

    name: str
    path: str
    wanted: str
    dark: bool = False
    small: bool = False


def dummy(wait_s: float, *needs: str, **properties: object) -> dict[str, Any]:
    return {
        "type": "OS::Heat::Dummy",
        "properties": {"max_wait_secs": wait_s, **properties},
        **({"depends_on": list(needs)} if needs else {}),
    }


def shop(web: int = 48) -> dict[str, Any]:
    """Return a template whose creation lasts long enough for the pictures."""
    resources = {
        "net": dummy(1),
        "subnet": dummy(1, "net"),
        "sec_group": dummy(1),
        "router_if": dummy(1, "subnet"),
        "lb": dummy(600, "subnet"),
        "listener": dummy(1, "lb"),
        "dns": dummy(1, "listener"),
        "db_secret": {"type": "OS::Heat::RandomString"},
        "db_port": dummy(1, "subnet", "sec_group", "db_secret"),
        "db_volume": dummy(1),
        "db_server": dummy(900, "db_port"),
        "db_attach": dummy(1, "db_server", "db_volume"),
        "backup_job": dummy(1, "db_secret", fail_prop="yes"),
        **{f"web_{number}": dummy(200, "subnet", "sec_group") for number in range(web)},
        "ready": dummy(1, "db_attach", "web_0"),
    }
    return {
        "heat_template_version": "2021-04-16",
        "description": "A shop with a database.",
        "resources": resources,
        "outputs": {
            "entrance": {"description": "The name of the load balancer.", "value": {"get_attr": ["lb", "name"]}}
        },
    }


def small(*names: str) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": {name: dummy(0) for name in names}}


@contextlib.contextmanager
def service(command: str, home: Path) -> Iterator[tuple[dict[str, Any], httpx2.Client]]:
    """Run a service in a home; give what it said, and its API."""
    environment = {**os.environ, "ISOTHERM_HOME": str(home)}
    arguments = [sys.executable, "-m", "isotherm.cli.main", command, "--port", "0", "--json"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(arguments, env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line == "}\n":
                break
        told: dict[str, Any] = json.loads(text)
        headers = {"X-Auth-Token": Path(home, "token").read_text().strip()}
        try:
            with httpx2.Client(base_url=f"{told['url']}/v1/default", headers=headers, trust_env=False, timeout=60) as api:
                yield told, api
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


def create(api: httpx2.Client, name: str, template: dict[str, Any] | str, **more: object) -> str:
    """Create a stack; return its path."""
    made = (
        api.post("/stacks", json={"stack_name": name, "template": template, **more}).raise_for_status().json()["stack"]
    )
    return f"stacks/{name}/{made['id']}"


def wait(api: httpx2.Client, path: str, status: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while api.get(f"/{path}").raise_for_status().json()["stack"]["stack_status"] != status:
        if time.monotonic() > end:
            raise SystemExit(f"screenshots: {path} did not become {status}")
        time.sleep(0.2)


def stage(api: httpx2.Client) -> list[Picture]:
    """Put stacks into the service; return the pictures to take of them."""
    failing = small("network", "mailer")
    failing["resources"]["ledger_db"] = dummy(0, "network", fail_prop="yes")
    failing["resources"]["app"] = dummy(0, "ledger_db")
    plain = {
        name: create(api, name, small(*(f"{name}_{part}" for part in ("net", "server", "volume"))), tags=tag)
        for name, tag in (
            ("monitoring", "ops"),
            ("vpn", "ops"),
            ("wiki", "office"),
            ("batch", "research"),
            ("edge-dns", "network"),
        )
    }
    fleet = {
        "heat_template_version": "2021-04-16",
        "resources": {
            "sites": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {
                    "count": 4,
                    "resource_def": {
                        "type": "OS::Heat::ResourceGroup",
                        "properties": {"count": 6, "resource_def": dummy(0)},
                    },
                },
            }
        },
    }
    plain["fleet"] = create(api, "fleet", fleet)
    billing = create(api, "billing", failing)
    for path in plain.values():
        wait(api, path, "CREATE_COMPLETE")
    wait(api, billing, "CREATE_FAILED")
    main = create(api, "shop", shop())
    wiki: dict[str, Any] = small("page", "search")
    notes = create(api, "notes", json.dumps(wiki, indent=2))
    wait(api, notes, "CREATE_COMPLETE")
    wiki["resources"]["index"] = dummy(0, "search")
    api.put(f"/{notes}", json={"template": json.dumps(wiki, indent=2)}).raise_for_status()
    wait(api, notes, "UPDATE_COMPLETE")
    return [
        Picture("stacks-light", "", "billing"),
        Picture("stacks-dark", "", "billing", dark=True),
        Picture("stacks-small", "", "billing", small=True),
        Picture("stack-light", f"{main}?r=ready", "Waits for"),
        Picture("stack-dark", f"{main}?r=ready", "Waits for", dark=True),
        Picture("stack-small", main, "db_server", small=True),
        Picture("group-light", main, "db_server"),
        Picture("timeline-light", f"{main}/timeline", "Create, generation 1"),
        Picture("failed-light", billing, "failed first"),
        Picture("plan-dark", f"{billing}/update?step=plan", "What it would do", dark=True),
        Picture("history-light", f"{notes}/history", "index"),
        Picture("service-light", "service", "Processes"),
    ]


def take(running: Browser, root: str, state: StorageState, picture: Picture) -> None:
    """Open the page in a window of its own and write its picture."""
    context = running.new_context(
        viewport=SMALL if picture.small else LARGE,
        color_scheme="dark" if picture.dark else "light",
        storage_state=state,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{root}/ui/{picture.path}")
    expect(page.locator("#main")).to_contain_text(picture.wanted.split("|")[-1], timeout=PATIENCE_S * 1000)
    if picture.name.startswith(("stack-", "group", "failed")):
        expect(page.get_by_role("treeitem").first).to_be_attached(timeout=PATIENCE_S * 1000)
        if not picture.small:
            expect(page.locator(".strip-card .gantt-row").first).to_be_visible(timeout=PATIENCE_S * 1000)
    if picture.name.startswith("group"):
        page.get_by_role("treeitem", name="web_#").first.dispatch_event("click")
        expect(page.get_by_role("region", name="Members of web_#")).to_contain_text("web_1", timeout=PATIENCE_S * 1000)
    # The pictures of the canvas and the editor come with the frame after the data.
    page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestIdleCallback(() => requestAnimationFrame(done))))"
    )
    page.screenshot(path=FOLDER / f"{picture.name}.png")
    context.close()


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="isotherm-pictures-") as home,
        service("up", Path(home)) as (told, api),
        browser.running() as running,
    ):
        pictures = stage(api)
        context = running.new_context()
        page = context.new_page()
        page.goto(str(told["page"]))
        expect(page.get_by_role("heading", name="Stacks")).to_be_visible(timeout=PATIENCE_S * 1000)
        state = context.storage_state()
        for picture in pictures:
            take(running, told["url"], state, picture)
            print(f"screenshots: docs/page/{picture.name}.png", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
