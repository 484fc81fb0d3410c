"""The operator's steps, as they are written: edit the configuration, restart the service, run the command.

Everything is a process of its own: the service, `heat-manage`, and `openstack` with which users change their stacks.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.conftest import MANAGE, Home
from tests.e2e.test_service import Service

PATIENCE_S = 240.0
INSIDE = """
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string, default: one}
  wait: {type: number, default: 0}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: value}, wait_secs: {get_param: wait}}}
  b: {type: inside.yaml, properties: {value: {get_attr: [a, output]}}}
"""


class Site:
    """A home, a configuration, and those who use it."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home, self.conf, self.template = home, folder / "heat.conf", folder / "site.yaml"
        self.template.write_text(TEMPLATE)
        (folder / "inside.yaml").write_text(INSIDE)

    def configure(self, *, convergence: bool) -> None:
        self.conf.write_text(f"[DEFAULT]\nconvergence_engine = {str(convergence).lower()}\n")

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        """The service; where it listens is the answer."""
        service = Service(self.home, "up", "--port", "0", "--config-file", str(self.conf))
        try:
            yield service.told["url"]
        finally:
            assert service.process.stdout is not None
            service.process.stdout.close()
            assert service.end() == 0

    def openstack(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        environment = {**clean, "OS_CLIENT_CONFIG_FILE": str(self.home.folder / "clouds.yaml")}
        return subprocess.run([sys.executable, "-m", "openstackclient.shell", "--os-cloud", "isotherm", *arguments],
                              env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def stack(self, verb: str, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.openstack("stack", verb, "-t", str(self.template), *arguments, name)

    def change(self, url: str, stack: str, **parameters: object) -> httpx2.Response:
        """What `openstack stack update --existing` asks for, without the seconds that it takes to start."""
        token = {"X-Auth-Token": (self.home.folder / "token").read_text().strip()}
        return httpx2.patch(f"{url}/v1/default/stacks/{stack}", json={"parameters": parameters}, headers=token,
                            follow_redirects=True, timeout=PATIENCE_S)

    def manage(self, *arguments: str) -> Any:
        done = subprocess.run([*MANAGE, "--config-file", str(self.conf), *arguments, "--json"], capture_output=True,
                              env=self.home.environment, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def listed(self) -> dict[str, dict[str, Any]]:
        return {one["stack_name"]: one for one in self.manage("stack", "list")}

    def paths(self) -> dict[str, str]:
        return {name: one["path"] for name, one in self.listed().items()}

    def until(self, name: str, status: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while (found := self.listed()[name]["stack_status"]) != status:
            assert time.monotonic() < end and not found.endswith("FAILED"), found


@pytest.mark.ledger("S4.5", "S4.1")
def test_the_operators_steps(home: Home, tmp_path: Path) -> None:
    site = Site(home, tmp_path)
    site.configure(convergence=False)
    with site.served():
        made = site.stack("create", "old", "--wait")
        assert made.returncode == 0, made.stderr
    assert site.paths() == {"old": "legacy"}
    objects = {entry["id"] for entry in home.made()}

    # 1. Edit the configuration. 2. Restart the service.
    site.configure(convergence=True)
    with site.served() as url:
        assert site.stack("create", "new", "--wait").returncode == 0
        assert site.paths() == {"old": "legacy", "new": "convergence"}
        old = site.listed()["old"]["id"]
        # A stack keeps its path until it is migrated: one operation at a time.
        assert site.change(url, f"old/{old}", value="other", wait=10).status_code == 202
        refused = site.change(url, f"old/{old}", value="two")
        assert refused.status_code == 409 and refused.json()["error"]["type"] == "ActionInProgress", refused.text
        site.until("old", "UPDATE_COMPLETE")

        # 3. Run the command, beside the service.
        report = site.manage("migrate-convergence-1", old)
        assert report["summary"] == {"migrated": 1, "already": 0, "remaining": 0}
        assert (report["stacks"][0]["stacks"], report["stacks"][0]["unproven"]) == (2, 0)
        assert site.paths() == {"old": "convergence", "new": "convergence"}

        # What users do from now on goes through convergence: the newest wins, and nothing is refused.
        assert site.change(url, f"old/{old}", value="two", wait=10).status_code == 202
        accepted = site.change(url, f"old/{old}", value="three", wait=0)
        assert accepted.status_code == 202, accepted.text
        site.until("old", "UPDATE_COMPLETE")
        ended = site.stack("update", "old", "--parameter", "value=four", "--wait")
        assert ended.returncode == 0, ended.stderr
        assert site.openstack("stack", "delete", "--yes", "--wait", "old").returncode == 0
        assert site.paths() == {"new": "convergence"}
    made_since = {entry["id"] for entry in home.made()} - objects
    assert len(made_since) == 2, "only the new stack has made anything: the old one was changed where it stood"
