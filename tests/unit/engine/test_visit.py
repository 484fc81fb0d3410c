"""Visits of resources: what a check, suspend, resume or snapshot does about each."""

from __future__ import annotations

from isotherm.engine.steps import consider_visit, outcomes
from isotherm.planning import documents
from isotherm.states import Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Operation, Report, Version


def claim(action: Action, *, digest: str | None = "d", external: bool = False) -> Claim:
    """A visit that meets a resource whose check was begun by an older operation and interrupted."""
    operation = Operation("new", "s", "p", 2, action, 2, "", True, None, "[]", 1, None, 0)
    begun = documents.encode(documents.Intent(Action.CHECK, "old", digest=digest))
    version = Version(1, "s", "r", "T", "T", "t", "id", Action.CHECK, Status.IN_PROGRESS, "", "{}", digest, "{}", "{}",
                      None, "[]", None, False, DeletionPolicy.DELETE, external, "old", begun)
    return Claim(1, "s", "r", NodeKind.VISIT, 2, 1, 0.0, None, None, version, (), operation)


def test_a_resume_ends_what_a_check_had_begun() -> None:
    """Nothing sleeps, but the row must not stay CHECK_IN_PROGRESS: no observer would look at it again (I14, I19)."""
    answer = consider_visit.consider(claim(Action.RESUME))
    assert isinstance(answer, outcomes.Begin)
    assert answer.beginning.version.action is Action.RESUME


def test_a_resume_does_not_vouch_for_what_was_never_proven() -> None:
    answer = consider_visit.consider(claim(Action.RESUME, digest=None))
    assert isinstance(answer, Report)
    assert (answer.state, answer.reason) == (NodeState.FAILED, "CHECK was interrupted")


def test_an_object_of_others_is_left_alone_and_its_row_is_settled() -> None:
    answer = consider_visit.consider(claim(Action.SUSPEND, external=True))
    assert isinstance(answer, Report)
    assert answer.version is not None
    assert (answer.state, answer.version.status, answer.version.intent) == (NodeState.DONE, Status.COMPLETE, None)
