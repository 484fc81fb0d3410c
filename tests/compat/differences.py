"""Where we differ from Heat on purpose. One line each: which runs, and why. The tests assert that they really differ."""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from compat import corpus


class Difference(NamedTuple):
    runs: tuple[str, ...]  # patterns over family/case/variant
    reason: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(("functions_collections/if get_attr condition/20[12][1678]-*",
                "functions_collections/if get_attr condition/[a-z]*"),
               "we say where the condition stands; Heat's path begins at the function"),
    Difference(("functions_collections/map_replace map/20[12][1678]-1*",
                "functions_collections/map_replace map/20[12][178]-*", "functions_collections/map_replace map/[a-z]*"),
               "Heat tells the number of the missing item and nothing else; we tell the form of the arguments"),
    Difference(("parameters/pattern alternation/*",),
               "Heat tries the first way a pattern fits and then looks whether it was the whole; we look for any way"),
    Difference(("parameters/name number/*",), "Heat falls over a parameter whose name is a number"),
    Difference(("environments/merge list mixed/*",),
               "Heat falls over a list that is merged with a comma-delimited text; both are lists to us"),
    Difference(("sections/yaml duplicate keys/*",),
               "Heat silently keeps the last of two equal keys; a template that says two things is refused"),
    Difference(("functions_references/get_attr path by get_attr/201[4-8]-??-??",
                "functions_references/get_attr path by get_attr/2021-??-??",
                "functions_references/get_attr path by get_attr/[a-z]*"),
               "a path that hangs on another resource is not known in advance: we need the attribute as a whole"),
)


def reason(run: corpus.Run) -> str:
    """Why this run may differ, or nothing."""
    return next((entry.reason for entry in DIFFERENCES for pattern in entry.runs if fnmatch.fnmatchcase(run.id, pattern)),
                "")
