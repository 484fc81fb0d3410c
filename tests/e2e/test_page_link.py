"""The link to the page: `isotherm up` prints one, `isotherm open` another, and a session outlives the process."""

from __future__ import annotations

import json
import signal
import subprocess

import httpx2
import pytest

from tests.e2e.conftest import COMMAND, Home
from tests.e2e.test_service import Start, start

__all__ = ["start"]
PAGE = {"X-Isotherm-Page": "1"}


def opened(home: Home) -> str:
    done = subprocess.run([*COMMAND, "open", "--json"], env=home.environment, capture_output=True, text=True, check=True)
    link: str = json.loads(done.stdout)["page"]
    return link


def log_in(link: str, client: httpx2.Client | None = None) -> int:
    root, _, code = link.partition("/ui/#code=")
    if client is None:
        with httpx2.Client(trust_env=False, timeout=60) as other:
            return log_in(link, other)
    return client.post(f"{root}/ui/session", json={"code": code}, headers=PAGE).status_code


def test_each_link_logs_in_once_and_the_session_outlives_the_service(home: Home, start: Start) -> None:
    service = start("up", "--port", "0")
    told = service.told
    assert told["page"].startswith(f"{told['url']}/ui/#code=")
    with httpx2.Client(trust_env=False, timeout=60, headers=PAGE) as client:
        assert log_in(told["page"], client) == 201
        assert log_in(told["page"]) == 401
        link = opened(home)
        assert link.startswith(f"{told['url']}/ui/#code=")
        assert link != told["page"]
        assert log_in(link) == 201
        assert client.get(f"{told['url']}/v1/default/stacks").status_code == 200
        port = told["url"].rpartition(":")[2]
        service.end(signal.SIGKILL)
        start("up", "--port", port)
        assert client.get(f"{told['url']}/v1/default/stacks").status_code == 200


def test_no_code_is_in_the_log(home: Home, start: Start) -> None:
    service = start("up", "--port", "0")
    code = service.told["page"].partition("#code=")[2]
    with httpx2.Client(trust_env=False, timeout=60) as client:
        assert log_in(service.told["page"], client) == 201
        cookie = next(iter(client.cookies.values()))
    service.end()
    everything = "".join(file.read_text(errors="replace") for file in home.folder.glob("*.log"))
    assert "/ui/session" in everything
    assert code not in everything
    assert cookie not in everything


def test_before_any_service_there_is_no_link(home: Home) -> None:
    home.folder.mkdir(exist_ok=True)
    done = subprocess.run([*COMMAND, "open"], env=home.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "isotherm up" in done.stderr


@pytest.mark.parametrize("text", ["", "clouds: 7", "clouds: {isotherm: {auth: {}}}", "\t:"])
def test_a_spoilt_file_is_named(home: Home, text: str) -> None:
    home.folder.mkdir(exist_ok=True)
    (home.folder / "clouds.yaml").write_text(text)
    done = subprocess.run([*COMMAND, "open"], env=home.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "clouds.yaml" in done.stderr
