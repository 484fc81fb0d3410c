"""The time that the engine adds to the waits of resources of one second each, in a chain and side by side.

The time is that of the operation by its rows, while the command prints the live events. The start of the process is not in
it (see `startup`).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import harness

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
#: shape -> limit of its time divided by its waits
LIMITS = {"chain": 1.02, "independent": 1.10}


def template(shape: str, size: int) -> str:
    lines = ["heat_template_version: 2018-08-31", "resources:"]
    for number in range(size):
        lines += [f"  r{number:03}:", "    type: OS::Heat::Dummy", "    properties: {max_wait_secs: 1}"]
        if shape == "chain" and number:
            lines.append(f"    depends_on: r{number - 1:03}")
    return "\n".join(lines)


def deployed_s(shape: str, size: int) -> float:
    """Return the seconds of one deployment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "template.yaml"
        file.write_text(template(shape, size))
        environment = {**os.environ, "ISOTHERM_HOME": folder}
        command = [ISOTHERM, "deploy", "bench", "-t", str(file), "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def main() -> int:
    options = harness.arguments("What the engine adds to the time that resources take.")
    report = harness.Report("latency", options.runs)
    size = 5 if options.small else 20
    for shape, limit in LIMITS.items():
        expected = float(size if shape == "chain" else 1)
        value = statistics.median(deployed_s(shape, size) for _ in range(options.runs))
        report.figure(f"{shape} of {size}", value, "s")
        report.figure(f"{shape} of {size} / its waits", value / expected, "x", limit=limit)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
