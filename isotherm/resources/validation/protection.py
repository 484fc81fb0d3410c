"""Protection that a template asks for: `metadata: {isotherm: {protect: [delete]}}`. Pure.

    replace  the object is not replaced by another one
    delete   it is neither deleted nor replaced, since a replacement ends in a deletion
    update   it is not changed at all, also not suspended; `all` means the same
    []       a protection by an older template is lifted

The list has to be known when the template is accepted: before anything is made, no attribute is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.errors import Problem, UserError
from isotherm.states import Protection
from isotherm.template.functions import node

KEY, PROTECT = "isotherm", "protect"
WORDS = {"replace": Protection.REPLACE, "delete": Protection.DELETE, "update": Protection.UPDATE, "all": Protection.UPDATE}
_HINT = f"a list of {', '.join(WORDS)}; an empty list lifts the protection"


def level_of(words: Any) -> Protection:
    """Return the level that a list of words asks for. Raises UserError."""
    if not isinstance(words, list | tuple):
        raise UserError("protect must be a list.", hint=_HINT)
    unknown = next((word for word in words if not isinstance(word, str) or word not in WORDS), None)
    if unknown is not None:
        shown = unknown if isinstance(unknown, str) else type(unknown).__name__
        raise UserError(f"Nothing can be protected from '{shown}'.", hint=_HINT)
    return max((WORDS[word] for word in words), default=Protection.NONE)


def words_of(level: Protection) -> list[str]:
    """Return everything that a level forbids."""
    return [word for word, one in WORDS.items() if one <= level and word != "all"]


def of_metadata(metadata: Any) -> Protection | None:
    """Return what the metadata of a definition says; None if they say nothing."""
    said = _said(metadata)
    if said is None or isinstance(said, node.Live):
        return None
    try:
        return level_of(said)
    except UserError:
        # The template was accepted by an earlier version, to which these words meant nothing.
        return None


def without_own(metadata: Any) -> Any:
    """Return metadata without the part that only Isotherm reads: a change of that part is no change of the object."""
    if not isinstance(metadata, Mapping) or KEY not in metadata:
        return metadata
    return {name: one for name, one in metadata.items() if name != KEY} or None


def problems(metadata: Any, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the protection in the metadata of a definition."""
    said, path = _said(metadata), f"{path}.{KEY}.{PROTECT}"
    if isinstance(said, node.Live):
        yield Problem("What protects a resource must be known before anything is made.", path,
                      hint="use words, or parameters that are not hidden")
    elif said is not None:
        try:
            level_of(said)
        except UserError as error:
            yield Problem(error.problems[0].message, path, hint=_HINT)


def _said(metadata: Any) -> Any:
    own = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    return own.get(PROTECT) if isinstance(own, Mapping) else None
