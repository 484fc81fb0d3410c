"""Python's garbage collector, set up for a process that holds many small, long-lived values and makes few cycles.

Left alone, it walks a template of 100,000 resources again and again while it is being built, and finds nothing: a quarter
of the time and more (see decision 7). Processes of ours call `calm` once at their start; libraries never do.
"""

from __future__ import annotations

import gc

#: How many more containers than before are made until the collector looks: at new ones, at older ones, at all.
THRESHOLDS = (50_000, 20, 100)


def tune() -> None:
    """Look less often, and never at what was imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
