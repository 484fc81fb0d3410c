"""Runs all checks that a change must pass, and closes with one line of summary.

`make check`, `make quick`, `make cover`, `make test` and `make test-all` call it. A failed step does not stop the others,
so that one run shows all failures. The exit code is 1 if any step failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import services  # noqa: E402 - found by the line above

BIN = Path(sys.executable).parent


class Step(NamedTuple):
    name: str
    command: list[str]
    # Added to the environment of this process.
    environment: Mapping[str, str] = {}


CHECKS = [
    Step("ruff", [str(BIN / "ruff"), "check", "--quiet", "."]),
    Step("mypy", [str(BIN / "mypy"), "--no-error-summary"]),
    Step("layers", [str(BIN / "lint-imports"), "--no-cache"]),
]
QUICK = ["tests/unit", "tests/cli"]
# Tracing adds half to the processor time of tests, so `make test` measures the coverage of these, and `make cover` of more.
# Each has a floor: the measured coverage of `isotherm/`, less a point.
COVERED = ["tests/unit", "tests/cli", "tests/store"]
COVERED_FLOOR = 77
COVER = [*COVERED, "tests/engine", "tests/api",
         # Made-up input: minutes of processor time, and no line that the others do not reach.
         "--ignore=tests/engine/test_any_values.py", "--ignore=tests/api/test_generated.py"]
COVER_FLOOR = 89
# Folders whose tests use SQL: run again on each server, with a broker. tests/of_one_database.py has the exceptions.
FUNCTIONAL = ["tests/store", "tests/engine", "tests/importing", "tests/api"]
SERVERS = ("postgresql", "mariadb")
# Selects the long form of the tests (read by tests/long_form.py).
ALL = {"ISOTHERM_TEST_ALL": "1"}


def pytest(jobs: str, arguments: list[str]) -> Step:
    workers = ["-n", jobs, "--maxprocesses", "8", "--dist", "worksteal"] if jobs != "0" else []
    # CI shuffles in one order, so that a failure there can be repeated; everywhere else each run draws a new one.
    order = ["--randomly-seed=1"] if os.environ.get("CI") else []
    return Step("pytest", [sys.executable, "-m", "pytest", "-q", *workers, *order, *arguments])


def covered(jobs: str, folders: list[str], floor: int, *, report: str = "") -> Step:
    """Run the tests of some folders, and fail where they cover less of `isotherm/` than the floor."""
    cover = ["--cov=isotherm", f"--cov-report={report}", f"--cov-fail-under={floor}"]
    return pytest(jobs, [*cover, *folders])._replace(name="covered")


def on_server(server: str, jobs: str) -> bool:
    """Run the functional tests on a server and a broker; install them where missing. Raises Impossible."""
    with services.running([server, "rabbitmq"]) as found:
        urls = {f"ISOTHERM_{name.upper()}_URL": one.url for name, one in found.items()}
        return timed(pytest(jobs, FUNCTIONAL)._replace(name=server, environment={**urls, "ISOTHERM_TEST_ON": server}))


def steps(what: str, jobs: str, arguments: list[str]) -> list[Step]:
    if what == "check":
        return CHECKS
    if what == "quick":
        return [pytest(jobs, [*(folder for folder in QUICK if (ROOT / folder).is_dir()), *arguments])]
    if what == "cover":
        return [covered(jobs, [*COVER, *arguments], COVER_FLOOR, report="term:skip-covered")]
    if arguments:
        return [*CHECKS, pytest(jobs, arguments)]
    folders = sorted({f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/*.py")})
    return [*CHECKS, covered(jobs, COVERED, COVERED_FLOOR), pytest(jobs, [one for one in folders if one not in COVERED])]


def run(step: Step) -> bool:
    """Run one step; print the output of pytest, and of failed steps."""
    environment = {**os.environ, **step.environment}
    if "pytest" in step.command:
        shown = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False, env=environment)
        return shown.returncode == 0
    done = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env=environment)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0


def timed(step: Step) -> bool:
    began = time.monotonic()
    well = run(step)
    print(f"{step.name:<12}{'ok' if well else 'FAILED'}  ({time.monotonic() - began:.1f} s)", flush=True)
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["check", "quick", "cover", "test", "test-all"])
    parser.add_argument("--jobs", default="auto", help="processes for pytest; 0 runs it in one")
    options, arguments = parser.parse_known_args()
    if options.what == "test-all":
        os.environ.update(ALL)
    passed = {step.name: timed(step) for step in steps(options.what, options.jobs, arguments)}
    left_out: dict[str, str] = {}
    for server in SERVERS if options.what in ("test", "test-all") and not arguments else ():
        try:
            passed[server] = on_server(server, options.jobs)
        except services.Impossible as error:
            left_out[server] = str(error)
    return summary(options.what, passed, left_out)


def summary(what: str, passed: Mapping[str, bool], left_out: Mapping[str, str]) -> int:
    """Print the summary; return the exit code. A step that was left out is a failure in CI."""
    for server, why in left_out.items():
        print(f"\n{'!' * 100}\nNOT TESTED ON {server.upper()}: {why}\n{'!' * 100}", flush=True)
    failed = [name for name, well in passed.items() if not well]
    if failed or (left_out and os.environ.get("CI")):
        print(f"make {what}: FAILED in {', '.join([*failed, *(f'{server} (left out)' for server in left_out)])}")
        return 1
    print(f"make {what}: passed ({', '.join(passed)})" + (f", but left out: {', '.join(left_out)}" if left_out else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
