"""Starts processes of `isotherm` quickly: everything is imported once, and each of them is a fork.

It reads the arguments of one command after the other, and answers each with the number of the process.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys

from isotherm.cli.main import main

# The commands that are to be quick: by themselves they are imported when they are called.
from isotherm.cli.service import engine, observer  # noqa: F401

if __name__ == "__main__":
    # They are not waited for, but killed.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # What it has to say is not an answer.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.argv = ["isotherm", *shlex.split(line)]
            os._exit(main() or 0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
