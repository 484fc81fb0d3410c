"""The clients as processes of their own: what the README says to type, typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.command import PATIENCE_S
from tools import running

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "README.md").read_text().partition("## Use it with OpenStack's clients")[2].partition("\n## ")[0]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has never used any of this."""
    left_out = ("OS_", "XDG_", "ISOTHERM_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**mine, "HOME": str(tmp_path), "PATH": PATH}


def typed(lines: list[str], user: dict[str, str]) -> list[str]:
    """What a shell says to each of these lines. The first that fails ends it."""
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

    with running.isotherm(tmp_path / ".local" / "share" / "isotherm", {}):
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
