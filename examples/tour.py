"""The tour that `make run` gives: real commands on the sample templates, each shown as a user would type it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from isotherm.cli import codes, main

TOUR = [
    ("What does this template ask for?", "validate examples/site.yaml", codes.OK),
    ("What would it make, in which order, and why? In production it has a cache.",
     "plan examples/site.yaml -e examples/production.env.yaml", codes.OK),
    ("Things that need each other are made one after the other ...", "plan examples/chain.yaml", codes.OK),
    ("... and things that do not, at the same time.", "plan examples/leaves.yaml", codes.OK),
    ("A mistake is told the way a compiler tells it.", "validate examples/broken.yaml", codes.WRONG),
]


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
            return 1
    print("\nNow try your own: . .venv/bin/activate && isotherm --help")
    return 0


if __name__ == "__main__":
    sys.exit(tour())
