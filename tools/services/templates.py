"""Data folders after the first set-up, made once for each version of a service and copied for each start."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from tools import side_environment

ROOT = side_environment.ROOT / "scratch" / "service-templates"


def copy(name: str, version: str, target: Path, prepare: Callable[[Path], None]) -> None:
    """Fill `target` with a copy of the folder that `prepare` has made, now or before."""
    made = ROOT / f"{name}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"
    with side_environment.alone(ROOT / f".{name}.lock"):
        if not made.exists():
            draft = made.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            prepare(draft)
            draft.rename(made)
    half = target.with_suffix(".half")
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(made, half)
    half.rename(target)
