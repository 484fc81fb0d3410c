"""What a claim can lead to, as values.

Begin something (its intent goes to the store first), continue something that was begun, look something up before anything
can be said, read attributes anew, or report at once because there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isotherm.planning import documents, export_document
from isotherm.resources import contract
from isotherm.states import NodeState
from isotherm.store.records import Beginning, Claim, Event, Observation, Part, Report, Version

Parameter = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of an object. What was said of why nothing was seen tells no secrets."""

    sight: contract.LiveState
    # When the look began.
    at: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What had to be looked up before a decision: the object that carries our token, hidden parameters, reality."""

    search: contract.Search | None = None
    parameter: Parameter | None = None
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    beginning: Beginning
    intent: documents.Intent
    target: documents.Target | None

    def forgotten(self) -> Report:
        """Report the end of a deletion that the store has refused: the object is held by another version."""
        return Report(self.beginning.claim, NodeState.DONE, self.beginning.version, removed=True)


@dataclass(frozen=True, slots=True)
class Continue:
    version: Version
    intent: documents.Intent
    target: documents.Target | None


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask first: for the object with this version's token, for the operation's hidden parameters, for a template (which may
    be `needed`), for what is live of this version. `known` is what was found out before."""

    version: Version | None = None
    secrets: bool = False
    template: str = ""
    needed: bool = False
    live: bool = False
    known: Facts = Facts()


@dataclass(frozen=True, slots=True)
class Republish:
    """Nothing to do but to read attributes that nobody asked for before."""

    version: Version
    target: documents.Target
    observation: Observation | None = None


Answer = Begin | Continue | LookUp | Republish | Report
Types = Callable[[str], type[contract.Resource]]


def intent_of(version: Version | None) -> documents.Intent | None:
    return None if version is None or version.intent is None else documents.decode(version.intent, documents.Intent)


def event(claim: Claim, version: Version) -> Event:
    return Event(claim.stack_id, claim.operation.id, claim.name, version.type, version.physical_id, version.action,
                 version.status, version.reason)


def part(snapshot_id: str, version: Version, own: object) -> Part:
    return Part(snapshot_id, version.name, version.implementation, export_document.entry(version, own))
