"""Where we differ from Heat on purpose. One line each: which runs, and why. The tests assert that they really differ."""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from compat import corpus


class Difference(NamedTuple):
    runs: str  # a pattern over family/case/variant
    reason: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference("sections/yaml duplicate keys/*",
               "Heat silently keeps the last of two equal keys; a template that says two things is refused"),
)


def reason(run: corpus.Run) -> str:
    """Why this run may differ, or nothing."""
    return next((entry.reason for entry in DIFFERENCES if fnmatch.fnmatchcase(run.id, entry.runs)), "")
