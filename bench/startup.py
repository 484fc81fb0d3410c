"""The modules that a command loads before it does its work, and the time until it ends.

Of commands on the home, the number of modules has a limit, since other load has no influence on it. Modules of Python's own
library are not counted: their number differs between versions. The seconds have a limit for commands that need neither the
store nor the engine.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import harness

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
CHAIN = str(Path(__file__).parent.parent / "examples" / "chain.yaml")
LIMIT_S = 0.3
WAITS = {"--help": ["--help"], "function list": ["function", "list"], "validate": ["validate", CHAIN]}
TEMPLATE = """\
heat_template_version: 2018-08-31
resources:
  one:
    type: OS::Heat::TestResource
    properties: {value: a}
"""
#: Commands on a home with one stack of one resource, in this order: name -> (arguments, limit of its modules).
COMMANDS = {
    "validate": (["validate", "one.yaml"], 245),
    "deploy": (["deploy", "web", "-t", "one.yaml"], 565),
    "list": (["list"], 285),
    "show": (["show", "web"], 525),
    "no-op update": (["update", "web", "-t", "one.yaml"], 565),
    "delete": (["delete", "web", "--yes"], 560),
}
# Runs the command as its entry point does, and names the modules that are loaded at its end.
_LISTED = """
import sys
from isotherm.cli import main
code = main.run()
for name in list(sys.modules):
    print(name, file=sys.stderr)
sys.exit(code)
"""


@contextmanager
def home() -> Iterator[tuple[Path, dict[str, str]]]:
    """A home whose database is there, with the template beside it: its folder and the environment of commands."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "one.yaml").write_text(TEMPLATE, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ISOTHERM_", "OS_"))}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        environment = {**kept, "ISOTHERM_HOME": str(path / "home")}
        subprocess.run([ISOTHERM, "list"], env=environment, stdout=subprocess.DEVNULL, check=True)
        yield path, environment


def modules(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> set[str]:
    """Return the modules that a command has loaded at its end, without those of Python's own library."""
    done = subprocess.run([sys.executable, "-c", _LISTED, *arguments], env=environment, cwd=folder, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return {name for name in done.stderr.split() if name.partition(".")[0] not in sys.stdlib_module_names}


def _wait(arguments: list[str]) -> float:
    return harness.seconds(lambda: subprocess.run([ISOTHERM, *arguments], stdout=subprocess.DEVNULL, check=True))


def _processor_time(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    """Return the processor time of a whole command, from its start to the end of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ISOTHERM, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    options = harness.arguments("How long a user waits for the command line, and what it loads.")
    report = harness.Report("startup", options.runs)
    for name, arguments in WAITS.items():
        _wait(arguments)  # once, so that Python's compiled files exist
        value = statistics.median(_wait(arguments) for _ in range(options.runs))
        report.figure(f"isotherm {name}", value, "s", limit=LIMIT_S)
    with home() as (folder, environment):
        for name, (given, most) in COMMANDS.items():
            report.figure(f"{name}: modules", len(modules(given, folder, environment)), "modules", limit=most)
        times: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(options.runs):
            for name, (given, _most) in COMMANDS.items():
                times[name].append(_processor_time(given, folder, environment))
        for name, spent in times.items():
            report.figure(f"{name}: processor time of the command", statistics.median(spent), "s")
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
