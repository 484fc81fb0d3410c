"""Runs a Heat until it is interrupted; with --fill, after it has made the stacks of the tests."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

from tools import real_heat
from tools.real_heat import record, sample_stacks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.real_heat", description=__doc__)
    parser.add_argument("--fill", action="store_true", help="make the stacks of the tests, on both of its paths")
    parser.add_argument("--record", type=Path, help="fill it, write all rows of its database to this file, and end")
    options = parser.parse_args()
    began = time.monotonic()
    # Exit on SIGTERM, so that all started processes are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="heat-") as scratch, real_heat.started(Path(scratch)) as heat:
        print(f"heat: up after {time.monotonic() - began:.1f} s", flush=True)
        stacks = sample_stacks.fill(heat) if options.fill or options.record else {}
        if stacks:
            print(f"heat: {len(stacks)} stacks after {time.monotonic() - began:.1f} s", flush=True)
        if options.record:
            options.record.write_text(record.text(heat, stacks))
            return 0
        print(json.dumps({"url": heat.url, "database": heat.database, "key": heat.key, "folder": str(heat.folder)}))
        print("\n".join(f"export {name}={value}" for name, value in heat.identity.variables("demo").items()), flush=True)
        with contextlib.suppress(KeyboardInterrupt), heat.engine(convergence=True):
            while True:
                time.sleep(3600)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
