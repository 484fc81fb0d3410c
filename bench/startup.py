"""The time until a command prints its first output. The only figure in seconds, since its limit is in seconds."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench import harness

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
CHAIN = str(Path(__file__).parent.parent / "examples" / "chain.yaml")
LIMIT_S = 0.3
COMMANDS = {"--help": ["--help"], "function list": ["function", "list"], "validate": ["validate", CHAIN]}


def wait(arguments: list[str]) -> float:
    return harness.seconds(lambda: subprocess.run([ISOTHERM, *arguments], stdout=subprocess.DEVNULL, check=True))


def main() -> int:
    options = harness.arguments("How long a user waits for the command line.")
    report = harness.Report("startup", options.runs)
    for name, arguments in COMMANDS.items():
        wait(arguments)  # once, so that Python's compiled files exist
        value = statistics.median(wait(arguments) for _ in range(options.runs))
        report.figure(f"isotherm {name}", value, "s", limit=LIMIT_S)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
