"""Inputs of Heat's stacks, as their users gave them: without what Heat adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.importing import decrypt, heat_rows
from isotherm.importing.records import NotImportable
from isotherm.planning import desired, documents
from isotherm.template.text import document


def stack_input(stack: heat_rows.HeatStack, decryptor: decrypt.Decryptor) -> desired.StackInput:
    """Return the input of a stack, with hidden parameters decrypted. Raises NotImportable where that fails."""
    try:
        opened = decryptor.environment(stack.environment)
    except decrypt.CannotDecrypt as error:
        raise NotImportable(f"a parameter of {stack.name} cannot be read: {error}") from error
    return desired.StackInput(documents.encode(stack.template), stack.files, _as_given(opened))


def same(ours: str, theirs: Mapping[str, Any], sections: Sequence[str]) -> bool:
    """Return whether two templates have equal sections. Parameters are left out: Heat changes their defaults."""
    one, other = document.load(ours).data, document.load(documents.encode(theirs)).data
    return all((one.get(section) or {}) == (other.get(section) or {}) for section in sections)


def _as_given(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment without the sections that Heat adds and without types mapped to themselves."""
    registry_ = {name: one for name, one in (env.get("resource_registry") or {}).items() if one not in (name, {})}
    return {name: one for name, one in {**env, "resource_registry": registry_}.items() if one}
