"""The command `make torture`."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tools.services import Impossible
from tools.torture import run
from tools.torture.farm import NONE, SQLITE

_EXAMPLE = """\
example:
  make torture ARGS="--database mariadb --minutes 10"
  make torture ARGS="--database sqlite --minutes 2 --seed 7 --keep scratch/torture"   # the wishes and faults of that seed

It prints JSON lines, and ends with 1 if anything was not as it must be. CONTRIBUTING.md tells how to read them.
"""


def main() -> int:
    options = _parser().parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="isotherm-torture-"))
    broker = options.broker or (NONE if options.database == SQLITE else "rabbitmq")
    wish = run.Options(folder, options.database, broker, options.engines, options.stacks, options.minutes * 60, seed)
    print(f"torture: seed {seed}", file=sys.stderr, flush=True)
    failed = True
    try:
        outcome = asyncio.run(run.torture(wish, _progress))
        for line in outcome.lines():
            print(json.dumps(line), flush=True)
        failed = bool(outcome.problems)
    except Impossible as error:
        print(f"torture: {error}", file=sys.stderr)
    finally:
        _end(folder, options.keep if failed else None)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torture", description="Real processes, random operations, a fault every few seconds: nothing may be lost.",
        epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=[SQLITE, "postgresql", "mariadb"], default="postgresql",
                        help="the store (default: %(default)s); installed where missing, and started")
    parser.add_argument("--broker", choices=[NONE, "rabbitmq"], help="the bus (default: rabbitmq; with SQLite, none)")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long there are faults (default: %(default)g)")
    parser.add_argument("--seed", type=int, help="seed of the requests and the faults (default: drawn, and printed)")
    parser.add_argument("--engines", type=int, default=4, help="how many engines (default: %(default)s)")
    parser.add_argument("--stacks", type=int, default=20, help="how many stacks (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="where the logs of all processes, the book and the stores go if it fails")
    return parser


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:110]}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def _end(folder: Path, keep: Path | None) -> None:
    """Delete the folder; with `keep`, save the logs first."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, keep / folder.name, symlinks=True, ignore_dangling_symlinks=True)
        print(f"torture: everything is kept in {keep / folder.name}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
