"""Where we differ from Heat on purpose: which runs, and why. The tests assert that they really differ."""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from tests.compat import corpus


class Difference(NamedTuple):
    runs: tuple[str, ...]  # patterns over family/case/variant
    reason: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(("functions_collections/if get_attr condition/2016-10-14*",
                "functions_collections/if get_attr condition/201[78]-*",
                "functions_collections/if get_attr condition/2021-*",
                "functions_collections/if get_attr condition/[a-z]*"),
               "we say where the condition stands; Heat's path begins at the function"),
    Difference(("functions_collections/map_replace map/2016-10-14",
                "functions_collections/map_replace map/201[78]-??-??",
                "functions_collections/map_replace map/2021-??-??", "functions_collections/map_replace map/[a-z]*"),
               "Heat tells the number of the missing item and nothing else; we tell the form of the arguments"),
    Difference(("providers/registry template broken/*", "providers/registry template bad section inside/*"),
               "what cannot be read inside is told with the path to it, in the words that it has outside"),
    Difference(("nesting/facade of a template gone/*", "nesting/facade of a template unreadable/*"),
               "a template that others stand in for is told like any other that is missing or cannot be read"),
    Difference(("nesting/constraint of the parameter by the environment not used/*",),
               "Heat judges a default of the environment also where the outer template gives another value"),
    Difference(("resources/properties function/*", "resources/properties function merge/*"),
               "Heat falls over properties that are one function, though its syntax has them; we resolve it"),
    Difference(("sections/conditions cycle/*",),
               "Heat accepts conditions that go in a circle as long as nobody uses them; nobody ever means that"),
    Difference(("sections/yaml set/*", "sections/yaml binary/*"),
               "only what JSON can carry is data; other YAML tags are refused instead of being turned into something"),
    Difference(("nesting/hidden value by property/*", "parameters/hidden bad value/*",
                "parameters/hidden constraint/*", "generated/g7-105/2017-09-01", "generated/g7-105/2021-04-16",
                "generated/g7-125/2015-10-15"),
               "no error tells anything about the value of a hidden parameter"),
    Difference(("parameters/pattern alternation/*",),
               "Heat tries the first way a pattern fits and then looks whether it was the whole; we look for any way"),
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
    return next((entry.reason for entry in DIFFERENCES if _matches(entry, run.id)), "")


def is_about(entry: Difference, family: str, case: str) -> bool:
    return any(_matches(entry, run.id) for run in corpus.runs(family, case))


def _matches(entry: Difference, run_id: str) -> bool:
    return any(fnmatch.fnmatchcase(run_id, pattern) for pattern in entry.runs)
