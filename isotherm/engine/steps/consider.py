"""Turns a claim into an answer: what is to be done about the node. Pure: the answer is a value, and nothing is called.

The three kinds of nodes are considered in modules of their own: `consider_update` brings a resource to its definition,
`consider_cleanup` deletes a version, `consider_visit` checks, suspends, resumes or snapshots a resource.
"""

from __future__ import annotations

from collections.abc import Callable

from isotherm.engine.steps import consider_visit, fail_early
from isotherm.engine.steps.consider_cleanup import CleanupDecider
from isotherm.engine.steps.consider_update import UpdateDecider
from isotherm.engine.steps.outcomes import Answer, Facts, LookUp, Types
from isotherm.planning import documents
from isotherm.resources import runner
from isotherm.resources.nested.nested_stack import IMPLEMENTATION, is_forgotten, is_template
from isotherm.secrets import is_sealed, unreadable
from isotherm.states import NodeKind
from isotherm.store.records import Claim, Report


class Decider:
    """Considers claims. `types` returns the class of a type, `new_token` makes unique tokens, `now` reads the clock.

    `tolerant`: the properties last applied stand for an object that cannot be observed.
    """

    def __init__(
        self, types: Types, new_token: Callable[[], str], now: Callable[[], float], *, tolerant: bool = False
    ) -> None:
        self._types = types
        self._update = UpdateDecider(types, new_token, now, tolerant=tolerant)
        self._cleanup = CleanupDecider(types)

    def consider(self, claim: Claim, facts: Facts | None = None) -> Answer:
        """Return what to do about the claim. `facts` are the answers to the questions of earlier calls."""
        if claim.kind is not NodeKind.CLEANUP and (text := _sealed_text(claim)):
            return _fail_unreadable(claim, text)
        if question := self._unread_template(claim):
            return question
        if claim.kind is NodeKind.CLEANUP:
            return self._cleanup.consider(claim, facts)
        if claim.kind is NodeKind.VISIT:
            return consider_visit.consider(claim)
        return self._update.consider(claim, facts)

    def _unread_template(self, claim: Claim) -> LookUp | None:
        """Return the question for a template that serves as a type and has not been read.

        The wanted template is needed, and may be available again after it was missing. For the template of the existing
        version it suffices to know that its text is missing.
        """
        wanted = _wanted_template(claim)
        for name in (wanted, claim.version.implementation if claim.version is not None else ""):
            if not is_template(name):
                continue
            try:
                found = self._types(name)
            except KeyError:
                return LookUp(template=name, needed=name == wanted)
            if name == wanted and is_forgotten(found):
                return LookUp(template=name, needed=True)
        return None


def _sealed_text(claim: Claim) -> str:
    """Return a text that the store could not unseal, if there is one: then nothing can be decided."""
    version = claim.version
    own = () if version is None else (version.properties, version.metadata, version.data, version.published, version.intent)
    texts = (claim.definition, *own, *(one.published for one in claim.inputs))
    return next((text for text in texts if text is not None and is_sealed(text)), "")


def _fail_unreadable(claim: Claim, text: str) -> Report:
    return fail_early.failed(
        claim, runner.describe(claim.name, unreadable(text, "What is kept of it, or of what it needs,"))
    )


def _wanted_template(claim: Claim) -> str:
    """Return the template that implements the claim's target, or "" if another type does."""
    if claim.kind is NodeKind.UPDATE and claim.definition is not None and IMPLEMENTATION in claim.definition:
        found = documents.decode(claim.definition, documents.Target).implementation
        return found if is_template(found) else ""
    return ""
