"""The APIs of a real cloud die and come back while stacks are made and deleted: one object of each, and none is left.

The cloud is one of the test's own, since the tests of a shared one would fail. Only APIs are killed: what a conductor or a
host was doing when it died is lost in a real cloud, too.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import cloud_stacks, clouds
from tests.clouds import CloudProject
from tools.cloud.site import Site

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
APIS = ("neutron", "nova-api", "cinder-api", "octavia", "keystone", "glance", "placement")
PAUSE_S = 3.0


@contextmanager
def dying(site: Site) -> Iterator[list[str]]:
    """Kill one API after the other, and start each again; yield the list of those that were killed."""
    killed: list[str] = []
    stop = threading.Event()

    def kill() -> None:
        for name in itertools.cycle(APIS):
            if stop.wait(PAUSE_S):
                return
            os.killpg(os.getpgid(site.daemons.known()[name].process.pid), signal.SIGKILL)
            killed.append(name)
            # Calls meet a service that is not there.
            stop.wait(PAUSE_S)
            site.up()

    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        try:
            yield killed
        finally:
            stop.set()
            killing.result()


def isotherm(project: CloudProject, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, **project.environment, "ISOTHERM_HOME": str(folder / "home")}
    ended = subprocess.run([ISOTHERM, *arguments], cwd=folder, env=environment, text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def survive(site: Site, folder: Path) -> None:
    with clouds.project(site.folder, folder) as project:
        (folder / "template.yaml").write_text(cloud_stacks.template("all"))
        with dying(site) as killed:
            isotherm(project, folder, "deploy", "s", "-t", "template.yaml")
        assert killed
        assert cloud_stacks.objects(project) == cloud_stacks.wanted_objects("all")
        assert f"{len(cloud_stacks.STACKS['all'])} in sync" in isotherm(project, folder, "observe", "s")
        with dying(site) as killed:
            isotherm(project, folder, "delete", "s", "--yes")
        assert killed
        assert cloud_stacks.objects(project) == {}


@pytest.mark.long
@pytest.mark.cloud
def test_stacks_survive_the_deaths_of_services(cloud: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "cloud")
    try:
        site.up()
        survive(site, tmp_path)
    finally:
        site.down(forget=True)
