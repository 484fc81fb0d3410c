"""What Heat was asked for, in the form in which its users gave it: Heat keeps a little more than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.importing import decrypt, heat_rows
from isotherm.importing.records import Refused
from isotherm.planning import desired, documents
from isotherm.template.text import document


def asked(stack: heat_rows.Stack, opener: decrypt.Opener) -> desired.Asked:
    """All of it, with hidden parameters in the clear. Raises Refused for what cannot be opened."""
    try:
        opened = opener.environment(stack.environment)
    except decrypt.Closed as error:
        raise Refused(f"a parameter of {stack.name} cannot be read: {error}") from error
    return desired.Asked(documents.encode(stack.template), stack.files, _as_given(opened))


def same(ours: str, theirs: Mapping[str, Any], sections: Sequence[str]) -> bool:
    """Whether two templates say the same. Heat writes defaults from the environment into the parameters inside."""
    one, other = document.load(ours).data, document.load(documents.encode(theirs)).data
    return all((one.get(section) or {}) == (other.get(section) or {}) for section in sections)


def _as_given(surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """An environment as its user gave it: without the sections that Heat fills up, and types that stand for themselves."""
    registry_ = {name: one for name, one in (surroundings.get("resource_registry") or {}).items() if one not in (name, {})}
    return {name: one for name, one in {**surroundings, "resource_registry": registry_}.items() if one}
