"""The tour of `make run`: real commands on the sample templates, each shown as a user would type it.

The stacks are in a temporary folder that is deleted at the end of the tour. Nothing outside it is touched.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from isotherm.cli import codes, main

TOUR = [
    ("What does a template ask for? This one is a small site that needs no cloud.",
     "validate examples/site.yaml", codes.OK),
    ("A mistake is told the way a compiler tells it.", "validate examples/broken.yaml", codes.WRONG),
    ("Things that need each other are made one after the other ...",
     "deploy chain -t examples/chain.yaml -p max_wait_secs=1", codes.OK),
    ("... and things that do not, at the same time.",
     "deploy leaves -t examples/leaves.yaml -p max_wait_secs=3", codes.OK),
    ("One fails: its neighbour goes on, what hangs on it is never begun.",
     "deploy fails -t examples/fails.yaml", codes.FAILED),
    ("An update mends it. What was good is left alone.", "update fails -t examples/fails.yaml -p fail=no", codes.OK),
    ("A lamp and its shade.", "deploy change -t examples/change.yaml", codes.OK),
    ("What would happen if the lamp's name had to be longer?",
     "plan change -t examples/change.yaml -p length=12", codes.OK),
    ("A live update: the lamp cannot grow, so there is a new one; the shade is changed in place; the old lamp goes last.",
     "update change -t examples/change.yaml -p length=12", codes.OK),
    ("An update that fails, with --rollback: back to the last state that was complete.",
     "update fails -t examples/fails.yaml -p fail=yes --rollback", codes.FAILED),
    ("What is there now?", "list", codes.OK),
    ("And away with it.", "delete leaves --yes", codes.OK),
]
HEAL = [
    ("A real application: a config file, a web server that reads it, a health page.",
     "deploy web -t examples/webapp.yaml -p port={port}", codes.OK),
    ("Whatever drifts is to be repaired; look every half second.", "drift web --policy repair --interval 0.5", codes.OK),
]
HEALED = [("What happened?", "events web --last 8", codes.OK)]
PATIENCE_S = 60.0
NEXT = """
That was the tour; its stacks are gone. Yours live in ~/.local/share/isotherm, or where ISOTHERM_HOME says:

  . .venv/bin/activate
  isotherm deploy demo -t examples/site.yaml        Ctrl-C or kill -9 does no harm ...
  isotherm work demo                                ... this goes on
  isotherm plan demo -t examples/site.yaml -e examples/production.env.yaml
  isotherm deploy web -t examples/webapp.yaml       then see "Repair drift" in README.md
  isotherm --help"""


def show_step(number: int, why: str, command: str) -> None:
    bold, dim, plain = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "", "")
    print(f"\n{bold}{number}. {why}{plain}\n{dim}$ isotherm {command}{plain}\n", flush=True)


def take(steps: Sequence[tuple[str, str, int]], first: int) -> int:
    """Run these steps; return 0 if each ended as expected."""
    for number, (why, command, expected) in enumerate(steps, first):
        show_step(number, why, command)
        code = main.main(command.split())
        sys.stdout.flush()
        if code != expected:
            print(f"the tour stops here: exit code {code} where {expected} was expected", file=sys.stderr)
            return code or 1
    return 0


def heal(home: Path, first: int) -> int:
    """Show a real application whose drift the service repairs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        if code := take([(why, command.format(port=port), expected) for why, command, expected in HEAL], first):
            return code
        command = [sys.executable, "-m", "isotherm.cli.main", "up", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as service:
            try:
                mended = broken(home / "local" / "webapp" / "config.json", first + len(HEAL))
            finally:
                service.terminate()
        return take(HEALED, first + len(HEAL) + 1) if mended else 1
    finally:
        main.main(["delete", "web", "--yes"])


def broken(config: Path, number: int) -> bool:
    """Delete the file, and wait until the service has written it again."""
    show_step(number, "The service runs, and somebody deletes the config file ...", "up")
    time.sleep(2)
    config.unlink()
    print(f"$ rm {config}", flush=True)
    began = time.monotonic()
    while not config.exists():
        if time.monotonic() - began > PATIENCE_S:
            print("the tour stops here: the file did not come back", file=sys.stderr)
            return False
        time.sleep(0.05)
    took = time.monotonic() - began
    print(f"... and {took:.1f} seconds later it is there again: {config.read_text().strip()}", flush=True)
    time.sleep(1)
    return True


def is_looked_at() -> bool:
    """Return whether a user sits at the terminal: the service would wait for ever for anything else."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")


def stay() -> int:
    """Run the service with the stacks of the tour, until Ctrl-C."""
    print("\nThe service runs with the stacks of the tour: open the page. Ctrl-C ends it and deletes them.\n", flush=True)
    code = main.main(["up", "--port", "0"])
    return codes.OK if code == codes.INTERRUPTED else code


def tour(home: Path) -> int:
    os.chdir(Path(__file__).resolve().parent.parent)
    code = take(TOUR, 1) or heal(home, len(TOUR) + 1)
    if not code and is_looked_at():
        code = stay()
    if not code:
        print(NEXT)
    return code


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="isotherm-tour-", ignore_cleanup_errors=True) as scratch:
        os.environ["ISOTHERM_HOME"] = scratch
        sys.exit(tour(Path(scratch)))
