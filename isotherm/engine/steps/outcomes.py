"""The answers that considering a claim can lead to, as values.

    Begin      start an operation on the resource; its intent is stored first
    Continue   go on with an operation that was begun
    LookUp     find out a fact, and consider the claim again
    Republish  read attributes again, and change nothing
    Report     end the step at once
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isotherm.planning import documents, export_document
from isotherm.resources import cloud_lookups, contract
from isotherm.store.records import Beginning, Claim, Event, Observation, Part, Report, Version

Parameter = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Observed:
    """The live state of an object, as its type returned it. The reason of an unseen object has no secrets."""

    reality: contract.LiveState
    # When the observation began.
    at: float


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that were looked up for a decision: the search by token, hidden parameters, reality."""

    search: contract.Search | None = None
    parameter: Parameter | None = None
    observed: Observed | None = None
    # The answers of the cloud to questions about the properties.
    answers: cloud_lookups.Answers | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """Start the operation that the intent describes, once the store has recorded the beginning."""

    beginning: Beginning
    intent: documents.Intent
    target: documents.Target | None


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the operation that the intent describes."""

    version: Version
    intent: documents.Intent
    target: documents.Target | None


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find out one fact: the object with the version's token, or with `live` its reality; the operation's hidden
    parameters (`secrets`); a template, which may be `needed`; the cloud's answers to `questions`. `known` are the facts
    found before."""

    version: Version | None = None
    secrets: bool = False
    template: str = ""
    needed: bool = False
    live: bool = False
    questions: tuple[cloud_lookups.Question, ...] = ()
    known: Facts = Facts()


@dataclass(frozen=True, slots=True)
class Republish:
    """Read the attributes that dependants want, and change nothing else."""

    version: Version
    target: documents.Target
    observation: Observation | None = None


Answer = Begin | Continue | LookUp | Republish | Report
Types = Callable[[str], type[contract.Resource]]


def intent_of(version: Version | None) -> documents.Intent | None:
    """Return the intent that is stored with a version."""
    return None if version is None or version.intent is None else documents.decode(version.intent, documents.Intent)


def event(claim: Claim, version: Version) -> Event:
    """Return the event of the version's state."""
    return Event(claim.stack_id, claim.operation.id, claim.name, version.type, version.physical_id, version.action,
                 version.status, version.reason)


def part(snapshot_id: str, version: Version, own: object) -> Part:
    """Return the part of a snapshot that a resource contributes. `own` is what its type returned."""
    return Part(snapshot_id, version.name, version.implementation, export_document.entry(version, own))
