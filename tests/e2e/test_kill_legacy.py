"""A kill -9 on the legacy path: the stack has failed and says why, an update recovers it, and nothing is left over."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

from isotherm.cli import codes
from tests.e2e.conftest import Home

LAYERS, WIDTH, KILLS = 12, 2, 6


def template(wait_s: float) -> str:
    lines = ["heat_template_version: 2018-08-31", "resources:"]
    for layer in range(LAYERS):
        for place in range(WIDTH):
            lines += [f"  r{layer:02}_{place}:", "    type: OS::Heat::TestResource",
                      f"    properties: {{value: '{layer}', wait_secs: {wait_s}}}"]
            if layer:
                lines.append(f"    depends_on: r{layer - 1:02}_{place}")
    return "\n".join(lines)


def existing(home: Home) -> set[str]:
    """What there is in reality, as its journal tells."""
    found: set[str] = set()
    for line in filter(None, (home.folder / "reality.journal").read_text().splitlines()):
        entry = json.loads(line)
        (found.add if "token" in entry else found.discard)(entry["id"])
    return found


def test_whatever_was_killed_is_recovered_by_an_update(home: Home, tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")  # noqa: T201 - whoever finds a failure wants to see it again
    dice = random.Random(seed)
    home.folder.mkdir()
    (home.folder / "isotherm.conf").write_text("[DEFAULT]\nconvergence_engine = false\n")
    file = tmp_path / "layers.yaml"
    reasons = set()
    for number in range(KILLS):
        # Each time something else is wanted, so that there is something to do.
        file.write_text(template(wait_s=0.1 + number / 1000))
        process = home.start("update" if number else "deploy", "layers", "-t", file)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 1.5))
        process.kill()
        process.communicate()
        home.run("work", "layers", timeout_s=120)
        reasons.add(home.ask("show", "layers")["stack_status_reason"].rpartition(" ")[0])
    assert "Engine went down during stack" in reasons
    file.write_text(template(wait_s=0))
    code, out = home.run("update", "layers", "-t", file, timeout_s=120)
    assert code == codes.OK, out
    rows = home.ask("resources", "layers")
    assert {row["physical_resource_id"] for row in rows} == existing(home)
    assert len(rows) == LAYERS * WIDTH
    code, out = home.run("delete", "layers", "--yes", timeout_s=120)
    assert code == codes.OK, out
    assert existing(home) == set()
