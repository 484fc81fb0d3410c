"""Waits until its starter ends, for any reason, and ends the services of a folder if they still run.

    python -m tools.services.guard FOLDER

Standard input is a pipe whose other end the starter holds: the kernel closes it when the starter ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.services.keeper import Keeper

if __name__ == "__main__":
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    if folder.exists():
        Keeper(folder).down(forget=True)
