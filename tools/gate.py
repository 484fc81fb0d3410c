"""Runs what must hold before a change is accepted, all of it, and closes with one line that says so.

`make check`, `make quick` and `make test` call it. A step that fails does not stop the others: whoever broke two things
learns of both. The exit code is 1 if any step failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


class Step(NamedTuple):
    name: str
    command: list[str]


CHECKS = [
    Step("ruff", [str(BIN / "ruff"), "check", "--quiet", "."]),
    Step("mypy", [str(BIN / "mypy"), "--no-error-summary"]),
    Step("layers", [str(BIN / "lint-imports"), "--no-cache"]),
]
QUICK = ["tests/unit", "tests/cli"]


def pytest(jobs: str, arguments: list[str]) -> Step:
    workers = ["-n", jobs, "--maxprocesses", "8", "--dist", "worksteal"] if jobs != "0" else []
    return Step("pytest", [sys.executable, "-m", "pytest", "-q", *workers, *arguments])


def steps(what: str, jobs: str, arguments: list[str]) -> list[Step]:
    if what == "check":
        return CHECKS
    if what == "quick":
        return [pytest(jobs, [*(folder for folder in QUICK if (ROOT / folder).is_dir()), *arguments])]
    return [*CHECKS, pytest(jobs, arguments)]


def run(step: Step) -> bool:
    """Run one step; one that has nothing to complain of and is not pytest stays silent."""
    if step.name == "pytest":
        return subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode == 0
    done = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["check", "quick", "test"])
    parser.add_argument("--jobs", default="auto", help="processes for pytest; 0 runs it in one")
    options, arguments = parser.parse_known_args()
    failed, told = [], []
    for step in steps(options.what, options.jobs, arguments):
        began = time.monotonic()
        well = run(step)
        seconds = time.monotonic() - began
        print(f"{step.name:<8}{'ok' if well else 'FAILED'}  ({seconds:.1f} s)", flush=True)
        told.append(step.name)
        if not well:
            failed.append(step.name)
    if failed:
        print(f"make {options.what}: FAILED in {', '.join(failed)}")
        return 1
    print(f"make {options.what}: passed ({', '.join(told)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
