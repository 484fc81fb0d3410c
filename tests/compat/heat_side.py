"""Asks the real Heat, which lives in a process and an environment of its own (see tools/heat_peer)."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.compat import corpus

PEER = Path(__file__).parents[2] / "tools" / "heat_peer" / "peer.py"


def answers(python: Path, runs: Sequence[corpus.Run]) -> Iterator[corpus.Answer]:
    """Heat's answer to each run, in order."""
    with subprocess.Popen([str(python), "-W", "ignore", str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, encoding="utf-8", env={**os.environ, "PYTHONHASHSEED": "0"}) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None
        # A thread asks while we listen: both pipes are small and would block each other.
        asking = threading.Thread(target=_ask, args=(peer.stdin, runs), daemon=True)
        asking.start()
        for run, line in zip(runs, peer.stdout, strict=True):
            yield corpus.compact(json.loads(line), run.focus)


def _ask(pipe: object, runs: Sequence[corpus.Run]) -> None:
    with pipe:  # type: ignore[attr-defined]  # a text pipe
        for run in runs:
            pipe.write(json.dumps(run.question) + "\n")  # type: ignore[attr-defined]
