"""Decides by the rows alone which resources of an idle stack are as their template says. No cloud is called.

It makes the comparison that an update would make, on the same values. Where an update would find nothing to do, the row may
carry the digest that proves it; any other resource gets none, and the next update considers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isotherm import errors
from isotherm.engine.steps import decide
from isotherm.planning import desired, documents, masking
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract, registry
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.states import Status
from isotherm.store.records import Input, Version, Wanted
from isotherm.template import environment

# The parts of the environment that a nested stack does not inherit.
_OWN = ("parameters", "encrypted_param_names")


class Prover:
    """Compares the wanted state with the rows. `inner` reads the request of a nested stack."""

    def __init__(
        self, goal: desired.Desired, input_: desired.StackInput, types: Registry, present: Mapping[str, Version],
        inner: Callable[[str], desired.StackInput | None],
    ) -> None:
        self._goal = goal
        self._input = input_
        self._types = types
        self._present = present
        self._inner = inner
        self._secrets = masking.redactor(input_)

    def proven(self) -> frozenset[str]:
        """Return the names of resources that are as wanted."""
        return frozenset(want.name for want in self._goal.wanted if self._is_proven(want))

    def _is_proven(self, want: Wanted) -> bool:
        version = self._present.get(want.name)
        if version is None or version.status is not Status.COMPLETE or version.intent is not None:
            return False
        try:
            return self._agrees(want, version)
        except errors.IsothermError:
            # The row cannot be read, or the change would be refused: the next update reports it.
            return False

    def _agrees(self, want: Wanted, version: Version) -> bool:
        target = documents.decode(want.definition, documents.Target)
        definition = self._goal.bound.definitions[want.name]
        same = (version.type, version.implementation) == (definition.type, target.implementation)
        if not same or not _has_exports(version, target):
            return False
        type_ = self._types.implementation(target.implementation)
        inputs = [Input(need, None, None if (one := self._present.get(need)) is None else one.published)
                  for need in want.requires]
        resolved = definition.resolve(PublishedReferences(inputs, self._goal.values.__getitem__))
        given = decide.given(type_, resolved.properties or {}, target.restored)
        after = registry.typed_properties(type_, given)
        applied = decide.Applied(version.implementation, version.action, version.status,
                                 documents.decode(version.properties, dict[str, Any]),
                                 documents.decode_any(version.metadata), (), version.physical_id is not None)
        decision = decide.decide(type_, applied, after, resolved.metadata)
        if decision.verdict is not decide.Verdict.NOTHING or version.external != (resolved.external_id is not None):
            return False
        return not issubclass(type_, nested_stack.StackResource) or self._inherits(version, resolved)

    def _inherits(self, version: Version, resolved: Any) -> bool:
        """Return whether the nested stack was created with what it would inherit now."""
        inside = None if version.physical_id is None else self._inner(version.physical_id)
        if inside is None:
            return False
        facade = {"metadata": resolved.metadata, "deletion_policy": version.deletion_policy.name.capitalize(),
                  "update_policy": resolved.update_policy}
        as_it_is = contract.Child(inside.template, environment.load(inside.environment).parameters, exports=inside.exports)
        around = masking.OuterResource(version.name, version.type, facade)
        now = masking.inner(self._input, around, as_it_is, self._types, self._secrets)
        return ((_inherited(now), dict(now.files), now.facade, now.secrets)
                == (_inherited(inside), dict(inside.files), inside.facade, inside.secrets))


def _has_exports(version: Version, target: documents.Target) -> bool:
    """Return whether the row has all attributes that other resources read."""
    if version.published is None:
        return False
    return documents.decode(version.published, documents.Published).attributes.keys() >= set(target.exports)


def _inherited(input_: desired.StackInput) -> dict[str, Any]:
    """Return the inherited environment as it would be stored: a stored list may have been a tuple."""
    found = {name: one for name, one in input_.environment.items() if name not in _OWN}
    decoded: dict[str, Any] = documents.decode_any(documents.encode(found))
    return decoded
