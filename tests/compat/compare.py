"""What counts as the same answer.

Definitions, dependencies, needed attributes, parameters, conditions and outputs must be equal. An error must be of the
same kind, and say the same words, with two reliefs:

- where Heat let a Python error escape (a TypeError with an interpreter's message), we must refuse too, the whole or the
  part that is wrong, as a UserError of any kind: no client can rely on those words;
- where the words are those of the interpreter or a set's accidental order (`LOOSE`), what stands before them must be
  equal: the kind, and the path; where the interpreter says everything (`SPEECHLESS`), the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.compat import corpus, differences

ESCAPED = frozenset({"ValueError", "TypeError", "AttributeError", "KeyError", "IndexError", "RecursionError", "error",
                     "AssertionError", "UnicodeEncodeError", "OverflowError"})

LOOSE = (
    re.compile(r"(?<=Circular Dependency Found: ).*"),
    re.compile(r"(?<=: )unhashable type: .*"),
    re.compile(r"(?<=Algorithm must be one of ).*"),
    re.compile(r"(?<=Ambiguous versions ).*"),
)
PLACE = re.compile(r"^[Rr]esources\.\S+\.[Pp]roperties\.\S+: ")
SPEECHLESS = re.compile(r"(\w+: [\w.]+: )?'\w+' object (has no attribute|is not iterable).*")


def unexplained(run: corpus.Run, heat: corpus.Answer, ours: corpus.Answer) -> list[str]:
    """The differences of a run that no listed reason explains."""
    return [] if differences.reason(run) else list(differing(heat, ours))


def differing(heat: corpus.Answer, ours: corpus.Answer) -> Iterator[str]:
    if "error" in heat or "error" in ours:
        if not (same_error(heat.get("error"), ours.get("error")) or _both_refuse(heat, ours)):
            yield f"Heat: {heat} / Isotherm: {ours}"
        return
    yield from _parts("", heat, ours)


def same_error(heat: corpus.Json, ours: corpus.Json) -> bool:
    if heat is None or ours is None:
        return heat is ours
    if heat["kind"] in ESCAPED:
        return True
    if heat["kind"] != ours["kind"]:
        return False
    return bool(SPEECHLESS.fullmatch(heat["message"])) or _words(heat["message"]) == _words(ours["message"])


def _unplaced(error: corpus.Json) -> corpus.Json:
    """What went wrong when a part was resolved, without the place, which Heat tells only when it validates."""
    return error and {**error, "message": PLACE.sub("", error["message"])}


def _both_refuse(heat: corpus.Answer, ours: corpus.Answer) -> bool:
    """Heat fell over, and we say which part is wrong."""
    return heat.get("error", {}).get("kind") in ESCAPED and "'!error'" in repr(ours)


def _words(message: str) -> str:
    for pattern in LOOSE:
        message = pattern.sub("...", message)
    return message.rstrip(": ")  # some errors of Heat's have no words at all


def _parts(path: str, heat: corpus.Json, ours: corpus.Json) -> Iterator[str]:
    """Walk both answers together, so that a difference is told by its place."""
    if not (isinstance(heat, dict) and isinstance(ours, dict)):
        if heat != ours or type(heat) is not type(ours):
            yield f"{path}: Heat {heat!r} / Isotherm {ours!r}"
        return
    if "!error" in heat or "!error" in ours:
        if not same_error(heat.get("!error"), _unplaced(ours.get("!error"))):
            yield f"{path}: Heat {heat!r} / Isotherm {ours!r}"
        return
    for key in [*heat, *(key for key in ours if key not in heat)]:
        if key not in ours or key not in heat:
            yield f"{path}.{key}: only {'Heat' if key in heat else 'Isotherm'} has it: {heat.get(key, ours.get(key))!r}"
        else:
            yield from _parts(f"{path}.{key}", heat[key], ours[key])
