"""Runs all benchmarks, or those that are named, each in its own process: `python -m bench [NAME]... [--runs N]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NOT_BENCHMARKS = {"__init__", "__main__", "harness", "million", "shapes"}


def main(arguments: list[str]) -> int:
    known = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem not in NOT_BENCHMARKS)
    wanted = [argument for argument in arguments if argument in known]
    rest = [argument for argument in arguments if argument not in known]
    codes = [subprocess.run([sys.executable, "-m", f"bench.{name}", *rest], cwd=FOLDER.parent, check=False).returncode
             for name in wanted or known]
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
