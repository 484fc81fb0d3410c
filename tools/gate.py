"""Runs all checks that a change must pass, and closes with one line of summary.

`make check`, `make quick`, `make cover`, `make test`, `make test-all` and `make test-cloud` call it. A failed step does not
stop the others, so that one run shows all failures. The exit code is 1 if any step failed. Steps that wait more than they
compute run side by side, and a cloud is started beside the first of them: docs/testing.md says which, and what that saves.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import browser, cloud, services  # noqa: E402 - found by the line above

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
    Step("page", [sys.executable, str(ROOT / "tools" / "page.py"), "--check"]),
]
QUICK = ["tests/unit", "tests/cli"]
# Tracing adds half to the processor time of tests, so `make test` measures the coverage of these, and `make cover` of more.
# Each has a floor: the measured coverage of `isotherm/`, less a point. The types of clouds are left out: see .coveragerc.
COVERED = ["tests/unit", "tests/cli", "tests/store"]
COVERED_FLOOR = 74
COVER = [*COVERED, "tests/engine", "tests/api",
         # Made-up input: minutes of processor time, and no line that the others do not reach.
         "--ignore=tests/engine/test_any_values.py", "--ignore=tests/api/test_generated.py"]
COVER_FLOOR = 89
# Folders whose tests use SQL: run again on each server, with a broker. tests/of_one_database.py has the exceptions.
FUNCTIONAL = ["tests/store", "tests/engine", "tests/importing", "tests/api"]
SERVERS = ("postgresql", "mariadb")
# The folder of tests on a cloud, and the variable that names the folder of a running one (read by tests/clouds.py).
ON_CLOUD = "tests/openstack"
CLOUD = "ISOTHERM_TEST_CLOUD"
# The tests that a whole run has on its cloud, as an expression of markers; the other steps have those that need none.
CLOUDY = {"test": "cloud and short", "test-all": "cloud"}
# Workers per processor. These tests wait for pauses, processes and servers; two servers are tested at once.
SHARE_ON_SQLITE = 2
SHARE_ON_SERVERS = 1.5
# Selects the long form of the tests (read by tests/long_form.py).
ALL = {"ISOTHERM_TEST_ALL": "1"}
# Makes what tests share and would otherwise wait for, while the checks need one processor.
PREPARE = Step("prepare", [sys.executable, "-m", "tools.prepare"])
# The tests flush SQLite's files at every commit. A folder in memory is used where it has this much room.
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 << 30


def workers(jobs: str, share: float = 1) -> list[str]:
    """Return the options for parallel tests, with `share` workers per processor: more than one if tests mostly wait."""
    if jobs == "0":
        return []
    if jobs == "auto":
        jobs = str(min(8, math.ceil((os.cpu_count() or 1) * share)))
    return ["-n", jobs, "--dist", "worksteal"]


def pytest(jobs: str, arguments: Sequence[str], share: float = 1) -> Step:
    # CI shuffles in one order, so that a failure there can be repeated; elsewhere each run draws one. Both print it.
    order = ["--randomly-seed=1"] if os.environ.get("CI") else []
    return Step("pytest", [sys.executable, "-m", "pytest", "-q", *workers(jobs, share), *order, *arguments])


def covered(jobs: str, folders: list[str], floor: int, *, report: str = "") -> Step:
    """Run the tests of some folders, and fail where they cover less of `isotherm/` than the floor."""
    cover = ["--cov=isotherm", "--cov-config=.coveragerc", f"--cov-report={report}", f"--cov-fail-under={floor}"]
    return pytest(jobs, [*cover, *folders])._replace(name="covered")


def on_services(what: str, jobs: str, started: Future[Path]) -> tuple[dict[str, bool], dict[str, str]]:
    """Run the functional tests on all servers, each with a broker, and the tests on the cloud, all side by side.

    Servers are installed where missing. Return the results, and why servers or the cloud were left out.
    """
    wanted: list[Step] = []
    left_out: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for server in SERVERS:
            try:
                found = stack.enter_context(services.running([server, "rabbitmq"]))
            except services.Impossible as error:
                left_out[server] = str(error)
                continue
            urls = {f"ISOTHERM_{name.upper()}_URL": one.url for name, one in found.items()}
            environment = {**urls, "ISOTHERM_TEST_ON": server}
            wanted.append(pytest(jobs, FUNCTIONAL, SHARE_ON_SERVERS)._replace(name=server, environment=environment))
        if (failure := started.exception()) is not None:
            left_out["a cloud"] = str(failure) or repr(failure)
        else:
            step = pytest(jobs, [ON_CLOUD, "-m", CLOUDY[what]])
            wanted.append(step._replace(name="cloud", environment={CLOUD: str(started.result())}))
        return together(wanted), left_out


@contextlib.contextmanager
def cloud_beside() -> Iterator[Future[Path]]:
    """Start a cloud while the caller goes on; yield its folder to come. On exit it is ended, unless it ran before."""
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        yield pool.submit(lambda: running_cloud(stack))


def running_cloud(stack: contextlib.ExitStack) -> Path:
    """Return the folder of the cloud that the environment names, or of one that runs until the stack is closed."""
    named = os.environ.get(CLOUD)
    return Path(named) if named else stack.enter_context(cloud.running())


def on_cloud(jobs: str, arguments: list[str]) -> tuple[dict[str, bool], dict[str, str]]:
    """Run the tests on the cloud that the environment names, or on one that is started for them.

    Return the result, and why the cloud was left out.
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = str(running_cloud(stack))
        except services.Impossible as error:
            return {"cloud": False}, {"a cloud": str(error)}
        step = pytest(jobs, [ON_CLOUD, *arguments], SHARE_ON_SQLITE)
        return {"cloud": timed(step._replace(name="cloud", environment={CLOUD: folder, **ALL}))}, {}


def steps(what: str, jobs: str, arguments: list[str]) -> list[Step]:
    if what == "check":
        return []
    if what == "quick":
        folders = [folder for folder in QUICK if (ROOT / folder).is_dir()]
        return [pytest(jobs, [*folders, "-m", "not service", *arguments])]
    if what == "cover":
        return [covered(jobs, [*COVER, *arguments], COVER_FLOOR, report="term:skip-covered")]
    if arguments:
        return [pytest(jobs, arguments)]
    folders = sorted({f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/*.py")})
    rest = [one for one in folders if one not in COVERED]
    return [covered(jobs, COVERED, COVERED_FLOOR), pytest(jobs, [*rest, "-m", "not cloud"], SHARE_ON_SQLITE)]


def checks(what: str, arguments: list[str]) -> list[Step]:
    """Return the steps that run side by side, before the tests."""
    if what in ("quick", "cover"):
        return []
    return [*CHECKS, PREPARE] if what in ("test", "test-all") and not arguments else CHECKS


def run(step: Step, *, alone: bool) -> bool:
    """Run one step. Show the output of pytest while it comes or, beside other steps, at its end; of others if they fail."""
    tests = "pytest" in step.command
    sink = None if alone and tests else subprocess.PIPE
    done = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, check=False, text=True,
                          stderr=sink and subprocess.STDOUT, env={**os.environ, **step.environment})
    if done.stdout and (tests or done.returncode):
        print(done.stdout, flush=True)
    return done.returncode == 0


def timed(step: Step, *, alone: bool = True) -> bool:
    began = time.monotonic()
    well = run(step, alone=alone)
    print(f"{step.name:<12}{'ok' if well else 'FAILED'}  ({time.monotonic() - began:.1f} s)", flush=True)
    return well


def together(wanted: Sequence[Step]) -> dict[str, bool]:
    """Run steps side by side; return their results by name."""
    with ThreadPoolExecutor(max(1, len(wanted))) as pool:
        results = list(pool.map(lambda step: timed(step, alone=False), wanted))
    return dict(zip([step.name for step in wanted], results, strict=True))


def scratch() -> Path | None:
    """Return a folder in memory for temporary files, or None where memory is short or programs may not run from it.

    The tests kill processes, not the machine, so that files in memory outlive all that they do. Mode 711: a server that
    runs as another user has its data below.
    """
    try:
        there = os.statvfs(MEMORY)
        if there.f_bavail * there.f_frsize < MEMORY_BYTES or there.f_flag & os.ST_NOEXEC:
            return None
        folder = MEMORY / f"isotherm-tests-{os.getuid()}"
        folder.mkdir(mode=0o711, exist_ok=True)
        return folder if folder.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["check", "quick", "cover", "test", "test-all", "test-cloud"])
    parser.add_argument("--jobs", default="auto", help="processes for pytest; 0 runs it in one")
    options, arguments = parser.parse_known_args()
    if options.what == "test-all":
        os.environ.update(ALL)
    if "TMPDIR" not in os.environ and (folder := scratch()) is not None:
        os.environ["TMPDIR"] = str(folder)
    if options.what == "test-cloud":
        return summary(options.what, *on_cloud(options.jobs, arguments))
    whole = options.what in CLOUDY and not arguments
    with cloud_beside() if whole else contextlib.nullcontext() as started:
        passed = together(checks(options.what, arguments))
        passed |= {step.name: timed(step) for step in steps(options.what, options.jobs, arguments)}
        results, left_out = on_services(options.what, options.jobs, started) if started is not None else ({}, {})
    if whole:
        left_out |= browser.missing()
    return summary(options.what, passed | results, left_out)


def summary(what: str, passed: Mapping[str, bool], left_out: Mapping[str, str]) -> int:
    """Print the summary; return the exit code. A step that was left out is a failure in CI."""
    for server, why in left_out.items():
        print(f"\n{'!' * 100}\nNOT TESTED ON {server.upper()}: {why}\n{'!' * 100}", flush=True)
    if what == "test" and "cloud" in passed:
        print("On a cloud, the short form only: `make test-cloud` runs all tests there")
    failed = [name for name, well in passed.items() if not well]
    if failed or (left_out and os.environ.get("CI")):
        print(f"make {what}: FAILED in {', '.join([*failed, *(f'{server} (left out)' for server in left_out)])}")
        return 1
    print(f"make {what}: passed ({', '.join(passed)})" + (f", but left out: {', '.join(left_out)}" if left_out else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
