"""The clients as processes of their own: what the README says to type, typed."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.command import PATIENCE_S
from tools import instance

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SECTION = README.partition("## Use it with OpenStack's clients")[2].partition("\n## ")[0]
REPAIR = README.partition("## Repair drift")[2].partition("\n## ")[0]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """Return the environment variables of a new user."""
    left_out = ("OS_", "XDG_", "ISOTHERM_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**mine, "HOME": str(tmp_path), "PATH": PATH}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def typed(lines: list[str], user: dict[str, str]) -> list[str]:
    """Return the output of a shell for each line. Fail at the first line that fails."""
    mark = "-- and then --"
    script = f"\necho '{mark}'\n".join(lines)
    done = subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env=user, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=5 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(mark)


@pytest.mark.ledger("S2.2", "S2.3")
def test_what_the_readme_says(user: dict[str, str], tmp_path: Path) -> None:
    assert "$ isotherm up\n" in SECTION
    lines = [line for line in re.findall(r"^\$ (.+)$", SECTION, re.MULTILINE) if line != "isotherm up"]
    (program,) = re.findall(r"^```python\n(.+?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    assert lines[0].startswith("export OS_CLIENT_CONFIG_FILE=")
    assert len(lines) >= 6

    with instance.isotherm(tmp_path / ".local" / "share" / "isotherm", {}):
        said = typed([*lines[:-1], f"python - <<'END'\n{program}END", lines[-1]], user)
    by_line = dict(zip((" ".join(line.split()[3:5]) for line in lines), said[:-2] + said[-1:], strict=True))
    assert "CREATE_COMPLETE" in by_line["stack create"]
    assert re.search(r"\| site +\| default \| CREATE_COMPLETE \|", by_line["stack list"])
    assert "alpha,beta" in by_line["stack output"]
    assert "UPDATE_COMPLETE" in by_line["stack update"]
    assert "cache" in by_line["stack resource"], "production has one"
    assert said[-2].strip() == "site UPDATE_COMPLETE"


def test_the_client_answers_in_json_and_with_its_exit_code(user: dict[str, str], clouds: Path) -> None:
    def openstack(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["openstack", "--os-cloud", "isotherm", *arguments], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False,
                              env={**user, "OS_CLIENT_CONFIG_FILE": str(clouds)})

    done = openstack("orchestration", "build", "info", "-f", "json")
    assert (done.returncode, set(json.loads(done.stdout))) == (0, {"api", "engine"})
    done = openstack("stack", "show", "nobody")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", "Stack not found: nobody")


@pytest.mark.ledger("S1.5")
def test_the_readme_repairs_drift(user: dict[str, str], tmp_path: Path) -> None:
    lines = [line for line in re.findall(r"^\$ (.+)$", REPAIR, re.MULTILINE) if line != "isotherm up"]
    assert [line.split()[1] for line in lines if line.startswith("isotherm")] == ["deploy", "drift", "drift", "events"]
    home = tmp_path / ".local" / "share" / "isotherm"
    lines[0] += f" --parameter port={free_port()}"
    outputs = ["isotherm outputs web config", "isotherm outputs web pid"]
    config, pid = (Path(text.strip()) for text in typed([*lines[:2], *outputs], user)[2:])
    with instance.isotherm(home, {}):
        typed([*lines[2:4], f"until test -e {config} && ! test -e /proc/{pid}; do sleep 0.1; done"], user)
        until = "until isotherm drift web --json | grep -q '\"drift\": *\"in_sync\"'; do sleep 0.1; done"
        said = typed([until, *lines[4:], "isotherm outputs web pid", "isotherm delete web --yes"], user)
    assert said[3].strip() != str(pid)
    assert not config.exists()
