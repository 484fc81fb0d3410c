"""Runs heat-tempest-plugin, OpenStack's tests of Heat, against Isotherm with a real Keystone; both unchanged.

    python -m tools.tempest                       the 89 tests that need only these two: tests/tempest/runnable.txt
    python -m tools.tempest --cloud               the 36 that need a cloud, on a real one: tests/tempest/cloud.txt
    python -m tools.tempest --legacy              with stacks of the legacy path
    python -m tools.tempest --match hooks         those of them whose names contain a text
    python -m tools.tempest --half 1              every other one, always the same
    python -m tools.tempest --keep FOLDER         leave logs and tempest's workspace there

`make tempest` calls it. Tempest has an environment of its own. Why the other tests of the plug-in are left out:
tests/tempest/left-out.md. The exit code is 1 if a test failed or was not run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools import side_environment, tempest_sites
from tools.identity import seed
from tools.tempest_sites import Site

TESTS = side_environment.ROOT / "tests" / "tempest"
REQUIREMENTS = TESTS / "requirements.txt"

CONFIG = """\
[oslo_concurrency]
lock_path = {folder}/locks
[auth]
use_dynamic_credentials = false
[identity]
uri_v3 = {v3}
auth_version = v3
region = {region}
[service_available]
heat = true
{services}[heat_plugin]
auth_url = {v3}
username = demo
password = {password}
project_name = demo
admin_username = admin
admin_password = {password}
admin_project_name = admin
user_domain_id = default
project_domain_id = default
user_domain_name = Default
project_domain_name = Default
region = {region}
catalog_type = orchestration
endpoint_type = public
build_interval = 1
build_timeout = {timeout_s}
hidden_stack_tag = {hidden}
convergence_engine_enabled = {convergence}
{cloud}[heat_features_enabled]
stack_cancel = true
multi_cloud = false
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run."""

    passed: list[str]
    failed: dict[str, str]
    skipped: list[str]
    missing: list[str]
    seconds: float

    @property
    def good(self) -> bool:
        return bool(self.passed) and not (self.failed or self.skipped or self.missing)


def chosen(match: str = "", half: int = 0, listed: str = "runnable.txt") -> list[str]:
    """Return the tests to run. Those of one gabbi file depend on each other, so halves are cut between groups."""
    names = [name for name in (TESTS / listed).read_text().split() if match in name]
    groups = sorted({group(name) for name in names})
    return [name for name in names if not half or groups.index(group(name)) % 2 == half - 1]


def group(name: str) -> str:
    """Return the group of a test: a gabbi file, or a class."""
    gabbi = re.match(r"heat_tempest_plugin\.tests\.api\.test_heat_api\.([a-z]+)_", name)
    return gabbi[1] if gabbi else name.rpartition(".")[0]


def workspace(folder: Path, site: Site, names: Sequence[str], *, legacy: bool) -> Path:
    """Write tempest's workspace, without its own `init`, which looks for files outside."""
    made = folder / "tempest"
    (made / "etc").mkdir(parents=True)
    (made / "etc" / "tempest.conf").write_text(CONFIG.format(
        folder=made, v3=site.v3, region=seed.REGION, password=seed.PASSWORD, hidden=tempest_sites.HIDDEN,
        services=site.services, cloud=site.cloud, timeout_s=site.timeout_s, convergence=str(not legacy).lower()))
    (made / "list.txt").write_text("\n".join(names) + "\n")
    return made


def run(folder: Path, names: Sequence[str], workers: int, *, on_cloud: bool = False, legacy: bool = False) -> Outcome:
    """Run these tests, and read tempest's report."""
    python = side_environment.python_of("tempest", REQUIREMENTS)
    place = tempest_sites.on_cloud if on_cloud else tempest_sites.without_cloud
    with place(folder, legacy=legacy) as site:
        made = workspace(folder, site, names, legacy=legacy)
        places = subprocess.run([python, "-c", "import heat_tempest_plugin; print(heat_tempest_plugin.__path__[0])"],
                                capture_output=True, text=True, check=True)
        plugin = Path(places.stdout.strip())
        (made / ".stestr.conf").write_text(
            f"[DEFAULT]\ntest_path={plugin / 'tests'}\ntop_dir={plugin.parent}\ngroup_regex=([^\\.]*\\.)*\n")
        environ = {**os.environ, "TEMPEST_CONFIG_DIR": str(made / "etc"), "TEMPEST_CONFIG": "tempest.conf",
                   "PYTHONWARNINGS": "ignore", "PATH": f"{python.parent}:{os.environ.get('PATH', '')}",
                   "no_proxy": "127.0.0.1,localhost", "NO_PROXY": "127.0.0.1,localhost"}
        before = time.monotonic()
        stestr = [str(python.with_name("stestr"))]
        subprocess.run([*stestr, "init"], cwd=made, env=environ, check=True)
        with (made / "output").open("wb") as output:
            subprocess.run([*stestr, "run", "--load-list", "list.txt", "--concurrency", str(workers)], cwd=made,
                           env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        written = subprocess.run([*stestr, "last", "--subunit"], cwd=made, env=environ, capture_output=True, check=False)
    report = subprocess.run([python, TESTS / "outcome.py"], input=written.stdout, stdout=subprocess.PIPE, check=True)
    return read(json.loads(report.stdout), names, time.monotonic() - before)


def read(report: list[tuple[str, str, str]], names: Sequence[str], seconds: float) -> Outcome:
    """Read the report. A class whose set-up failed has an entry of its own, and its tests count as not run."""
    passed = sorted(name for name, status, _ in report if status == "success")
    skipped = sorted(name for name, status, _ in report if status == "skip")
    failed = {name: why for name, status, why in report if status not in ("success", "skip")}
    seen = {name for name, _, _ in report}
    return Outcome(passed, failed, skipped, [name for name in names if name not in seen], seconds)


def show(outcome: Outcome) -> None:
    for name, why in outcome.failed.items():
        last = [line for line in why.strip().splitlines() if line.strip()][-1:]
        print(f"FAILED  {name}\n        {''.join(last).strip()[:300]}")
    for kind in ("skipped", "missing"):
        for name in getattr(outcome, kind):
            print(f"{kind.upper()} {name}")
    print(f"tempest: {len(outcome.passed)} passed, {len(outcome.failed)} failed, {len(outcome.skipped)} skipped, "
          f"{len(outcome.missing)} did not run; {outcome.seconds:.0f} s")


def main() -> int:
    about = __doc__.splitlines()[0] if __doc__ else ""
    parser = argparse.ArgumentParser(prog="python -m tools.tempest", description=about)
    parser.add_argument("--cloud", action="store_true",
                        help="the tests that need a cloud: on that of ISOTHERM_TEST_CLOUD, or on one that is started")
    parser.add_argument("--legacy", action="store_true", help="stacks take the legacy path")
    parser.add_argument("--match", default="", help="only tests whose names contain this")
    parser.add_argument("--half", type=int, choices=(1, 2), default=0, help="only every other group of tests")
    parser.add_argument("--workers", type=int, default=4, help="how many run at the same time (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder for logs and all, which is left there")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tempest-")))
        names = chosen(options.match, options.half, "cloud.txt" if options.cloud else "runnable.txt")
        outcome = run(folder.resolve(), names, options.workers, on_cloud=options.cloud, legacy=options.legacy)
    if options.json:
        print(json.dumps(asdict(outcome)))
    else:
        show(outcome)
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
