"""The tour that `make run` gives: real commands on the sample templates, each shown as a user would type it.

The stacks live in a folder of their own that is gone when the tour ends. Nothing outside it is touched.
"""

from __future__ import annotations

import os
import sys
import tempfile
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
NEXT = """
That was the tour; its stacks are gone. Yours live in ~/.local/share/isotherm, or where ISOTHERM_HOME says:

  . .venv/bin/activate
  isotherm deploy demo -t examples/site.yaml        Ctrl-C or kill -9 does no harm ...
  isotherm watch demo                               ... this goes on
  isotherm plan demo -t examples/site.yaml -e examples/production.env.yaml
  isotherm --help"""


def show_step(number: int, why: str, command: str) -> None:
    bold, dim, plain = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "", "")
    print(f"\n{bold}{number}. {why}{plain}\n{dim}$ isotherm {command}{plain}\n", flush=True)


def tour() -> int:
    os.chdir(Path(__file__).resolve().parent.parent)
    for number, (why, command, expected) in enumerate(TOUR, 1):
        show_step(number, why, command)
        code = main.main(command.split())
        sys.stdout.flush()
        if code != expected:
            print(f"the tour stops here: exit code {code} where {expected} was expected", file=sys.stderr)
            return code or 1
    print(NEXT)
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="isotherm-tour-") as scratch:
        os.environ["ISOTHERM_HOME"] = scratch
        sys.exit(tour())
