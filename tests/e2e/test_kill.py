"""A kill -9 at any moment loses no work: the next command continues, and no object is lost or created twice."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.e2e.conftest import Home
from tests.long_form import ALL

KILLS = 50 if ALL else 15
LAYERS, WIDTH = 2 * KILLS, 2


def template(wait_s: float) -> str:
    """Layers of Dummies, each of which needs two of the layer before."""
    lines = ["heat_template_version: 2018-08-31", "resources:"]
    for layer in range(LAYERS):
        for place in range(WIDTH):
            lines += [f"  r{layer:03}_{place}:", "    type: OS::Heat::Dummy", "    properties:",
                      f"      max_wait_secs: {wait_s}"]
            if layer:
                needs = ", ".join(f"{{get_resource: r{layer - 1:03}_{(place + step) % WIDTH}}}" for step in range(2))
                lines.append(f"      update_in_place_prop: {{list_join: ['-', [{needs}]]}}")
    return "\n".join(lines)


def kill_somewhere(process: subprocess.Popen[str], dice: random.Random, start_s: float) -> bool:
    """Kill it while it starts, or some time after its first word; whether it was killed before it ended by itself."""
    if dice.random() < 0.25:
        time.sleep(dice.uniform(0, start_s))
    else:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 0.5))
    process.kill()
    process.communicate()
    return process.returncode == -9


@pytest.mark.ledger("S0.4")
def test_a_deployment_survives_many_kills(home: Home, tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")  # noqa: T201 - whoever finds a failure wants to see it again
    dice = random.Random(seed)
    file = tmp_path / "layers.yaml"
    file.write_text(template(wait_s=0.25))
    # How long a command takes to start, measured elsewhere: here, even the first one may be killed while it sets up.
    elsewhere = Home(tmp_path / "elsewhere")
    elsewhere.run("list")
    began = time.monotonic()
    elsewhere.run("list")
    start_s = time.monotonic() - began
    killed = 0
    arguments = ["deploy", "layers", "-t", file]
    while killed < KILLS:
        process = home.start(*arguments)
        killed += kill_somewhere(process, dice, start_s)
        if process.returncode == codes.CONFLICT:
            # It was accepted before it was killed: it exists, and has only to be driven on.
            arguments = ["work", "layers"]
        elif process.returncode not in (-9, codes.NOT_FOUND):
            break
    code, out = home.run("work", "layers", timeout_s=120)
    assert code == 0, out
    assert killed == KILLS, "it was done before it could be killed often enough"
    assert home.ask("show", "layers")["stack_status"] == "CREATE_COMPLETE"
    resources = home.ask("resources", "layers")
    made = home.made()
    assert len(made) == len({entry["token"] for entry in made}) == LAYERS * WIDTH
    assert {entry["id"] for entry in made} == {r["physical_resource_id"] for r in resources}
