"""OpenStack's own clients, and an Isotherm for them, as a process that listens on a free port."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openstack.config import OpenStackConfig
from openstack.connection import Connection
from openstack.orchestration.util import event_utils

from tests.clients import exercise
from tests.clients.command import STANDALONE, Loaded, OpenStack, template
from tests.clients.sdk import Watched
from tools import instance

ROOT = Path(__file__).resolve().parents[2]

@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[instance.Isotherm]:
    """`isotherm up` as it is without a word of configuration."""
    with instance.isotherm(tmp_path_factory.mktemp("home"), {}) as it:
        yield it


@pytest.fixture(scope="session")
def clouds(service: instance.Isotherm) -> Path:
    return service.home / "clouds.yaml"


@pytest.fixture
def sdk(clouds: Path) -> Iterator[Connection]:
    """openstacksdk, as `openstack.connect(cloud="isotherm")` would connect it."""
    region = OpenStackConfig(config_files=[str(clouds)], load_envvars=False).get_one("isotherm")
    with Connection(config=region) as it:
        yield it


@pytest.fixture
def watched(request: pytest.FixtureRequest, sdk: Connection, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Yield the SDK with short polling sleeps; check that a test exercises what it declares."""
    nap = time.sleep
    monkeypatch.setattr(event_utils, "time", SimpleNamespace(sleep=lambda seconds: nap(min(seconds, 0.1))))
    it = Watched(sdk)
    yield it
    assert exercise.promised(request.function) <= it.done


@pytest.fixture(scope="session")
def loaded(clouds: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    log = tmp_path_factory.mktemp("client") / "log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    with log.open("wb") as errors, \
            subprocess.Popen([sys.executable, "-m", "tests.clients.loaded"], env=clean, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=errors, cwd=ROOT) as process:
        it = Loaded(process, log)
        try:
            it.send({"arguments": [*STANDALONE, "stack", "list"], "environment": {"OS_CLIENT_CONFIG_FILE": str(clouds)}})
            yield it
        finally:
            process.kill()


@pytest.fixture
def openstack(request: pytest.FixtureRequest, loaded: Loaded, clouds: Path, tmp_path: Path) -> Iterator[OpenStack]:
    """Yield the client of a standalone service; check that a test exercises what it declares."""
    it = OpenStack(loaded, STANDALONE, {"OS_CLIENT_CONFIG_FILE": str(clouds)}, tmp_path)
    yield it
    assert exercise.promised(request.function) <= it.done


@pytest.fixture
def create(openstack: OpenStack) -> Callable[..., str]:
    """Create a stack of these resources with the client; return its id."""

    def create(name: str, resources: Mapping[str, Any], *arguments: object, **sections: Any) -> str:
        file = openstack.write(f"{name}.yaml", template(resources, **sections))
        made = openstack.ask("stack create", "-t", file, "--wait", *arguments, name)
        assert (made["stack_name"], made["stack_status"]) == (name, "CREATE_COMPLETE")
        id_: str = made["id"]
        return id_

    return create
