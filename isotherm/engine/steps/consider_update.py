"""Considers claims that bring a resource to its definition. Pure.

`UpdateDecider.consider` goes through the causes in this order: an operation under way is continued; an object whose
creation was interrupted is searched for; the definition is resolved; an object to adopt is adopted; the wanted state is
compared with the rows, then with reality where the operation observes; and the decision becomes an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import consider_visit, decide, fail_early, observe, search
from isotherm.engine.steps.outcomes import (
    Answer,
    Begin,
    Continue,
    Facts,
    LookUp,
    Observed,
    Republish,
    Types,
    event,
    intent_of,
)
from isotherm.planning import documents
from isotherm.planning.references import PublishedReferences
from isotherm.resources import cloud_lookups, contract, properties, registry, runner
from isotherm.resources.nested import nested_stack
from isotherm.resources.reality import drift
from isotherm.resources.validation import custom_constraints, protection
from isotherm.secrets import is_sealed
from isotherm.states import Action, DeletionPolicy, NodeState, Status
from isotherm.store.records import Beginning, Claim, Observation, Report, Version
from isotherm.template.model import definitions
from isotherm.template.parameters.schema import missing

# The pause before the next look whether an older version has been deleted.
_LEAVING_S = 1.0
# Values that were unknown when the template was accepted are validated now.
_RULES = properties.Rules(custom=custom_constraints.LOCAL)
_STAYS = (decide.Verdict.NOTHING, decide.Verdict.UPDATE)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The definition of the claim, resolved with what its predecessors published."""

    target: documents.Target
    definition: Any
    resolved: Any
    type_: type[contract.Resource]
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The decision, or the error that forbids it, and the observation that led to it."""

    outcome: decide.Decision | errors.IsothermError
    seen: Observation | None = None


class UpdateDecider:
    """Decides how a resource is brought to its definition."""

    def __init__(self, types: Types, new_token: Callable[[], str], now: Callable[[], float], *, tolerant: bool) -> None:
        self._types = types
        self._new_token = new_token
        self._now = now
        self._tolerant = tolerant

    def consider(self, claim: Claim, facts: Facts | None) -> Answer:
        """Return what to do about the resource of the claim."""
        if claim.definition is None:
            raise errors.Bug(f"node {claim.node_id} has no definition")
        target = documents.decode(claim.definition, documents.Target)
        version = claim.version
        intent = intent_of(version)
        if version is not None and intent is not None:
            if intent.handled and intent.action is not Action.DELETE:
                if not self._preempts(claim, version, intent):
                    return Continue(version, intent, target)
            elif search.is_needed(version, intent):
                found = search.go_on(claim, version, intent, target, facts)
                if not isinstance(found, Claim):
                    return found
                claim = found
        return self._decide(claim, target, intent, facts)

    def _preempts(self, claim: Claim, version: Version, intent: documents.Intent) -> bool:
        """Return whether an operation that an older traversal began can be changed while it is under way."""
        type_ = self._types(version.implementation)
        changes = nested_stack.is_stack(type_) or (type_.traits.only_waits and intent.digest != claim.digest)
        return changes and intent.operation_id != claim.operation.id

    def _decide(
        self, claim: Claim, target: documents.Target, intent: documents.Intent | None, facts: Facts | None
    ) -> Answer:
        definition = definitions.thaw(target.definition)
        if definition.secrets and (facts is None or facts.parameter is None):
            return LookUp(secrets=True, known=facts or Facts())
        try:
            wanted = self._resolve(claim, target, definition, facts)
            if isinstance(wanted, LookUp):
                return wanted
            if adoption := self._adopt(claim, wanted, intent, facts):
                return adoption
            judged = self._judge(claim, wanted, intent, facts)
        except errors.IsothermError as error:
            return _refuse(claim, error)
        if isinstance(judged, LookUp):
            return judged
        outcome = judged.outcome
        if isinstance(outcome, decide.Decision):
            outcome = _find_refusal(claim, wanted, outcome) or outcome
        if isinstance(outcome, errors.IsothermError):
            return observe.attach(_refuse(claim, outcome), judged.seen)
        answer = self._answer(claim, wanted, outcome, intent)
        return observe.attach(answer, judged.seen, gone=observe.is_gone(facts))

    def _resolve(
        self, claim: Claim, target: documents.Target, definition: Any, facts: Facts | None
    ) -> _Wanted | LookUp:
        """Resolve the definition; names of cloud objects that are not known yet are looked up first."""
        parameter = facts.parameter if facts and facts.parameter else _no_parameter
        type_ = self._types(target.implementation)
        resolved = definition.resolve(PublishedReferences(claim.inputs, parameter))
        given = decide.given(type_, resolved.properties or {}, target.restored)
        if not registry.asks_cloud(type_):
            return _Wanted(target, definition, resolved, type_, registry.typed_properties(type_, given, rules=_RULES))
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL, facts.answers if facts else None)
        rules = properties.Rules(custom=book)
        typed = registry.typed_properties(type_, given, rules=rules, id_of=book.id_of)
        if book.open:
            return LookUp(questions=tuple(book.open), known=facts or Facts())
        return _Wanted(target, definition, resolved, type_, typed)

    def _adopt(
        self, claim: Claim, wanted: _Wanted, intent: documents.Intent | None, facts: Facts | None
    ) -> Answer | None:
        """Adopt the object of the claim, if that is to be done and the object is not gone."""
        version = claim.version
        if version is None or not _is_to_be_adopted(version, intent, wanted.target):
            return None
        if question := observe.request_first(claim, wanted.type_, facts):
            return question
        live = None if intent is None else intent.live
        return None if observe.is_gone(facts) else self._begin_adoption(claim, version, wanted, live)

    def _judge(
        self, claim: Claim, wanted: _Wanted, intent: documents.Intent | None, facts: Facts | None
    ) -> _Judgement | LookUp:
        """Decide by the rows, and again by reality if the operation observes and that may change the decision."""
        applied, renew = _applied(claim.version, intent), _is_new_to(claim)

        def compare(applied: decide.Applied | None) -> decide.Decision:
            return decide.decide(wanted.type_, applied, wanted.properties, wanted.resolved.metadata, renew=renew)

        by_rows = decision = compare(applied)
        observed = None if facts is None else facts.observed
        if applied is None or claim.version is None:
            return _Judgement(decision)
        if not observe.may_change_decision(claim, wanted.type_, decision):
            may_be_gone = observed is None and observe.may_be_gone(claim, decision, self._types)
            return observe.request(claim.version, facts) if may_be_gone else _Judgement(decision)
        if observed is None:
            return observe.request(claim.version, facts)
        seen = observe.observation(wanted.type_, claim.version, observed, wanted.properties)
        try:
            # An object that cannot be observed is replaced or updated as it would be without the observation.
            tolerant = self._tolerant or not claim.operation.converge or observe.follows_failure(claim, decision)
            decision = compare(observe.with_live(applied, observed, tolerant=tolerant))
        except errors.IsothermError as error:
            return _Judgement(error, seen)
        decision = _repeat_unfinished(decision, intent)
        if _is_left_to_its_protection(claim, by_rows, observed):
            return _Judgement(by_rows, seen)
        unchanged = decision.verdict is decide.Verdict.NOTHING
        return _Judgement(decision, observe.without_drift(seen) if unchanged else seen)

    def _answer(
        self, claim: Claim, wanted: _Wanted, decision: decide.Decision, begun: documents.Intent | None
    ) -> Answer:
        target = wanted.target
        intent = documents.Intent(
            Action.UPDATE if decision.verdict is decide.Verdict.UPDATE else Action.CREATE, claim.operation.id,
            digest=claim.digest, after=wanted.properties, metadata=wanted.resolved.metadata, changed=dict(decision.changed),
            update_policy=wanted.resolved.update_policy,
            requires=sorted({i.resource_id for i in claim.inputs if i.resource_id is not None}),
        )
        version = None if claim.version is None else replace(claim.version, type=wanted.definition.type)
        if decision.verdict in _STAYS and claim.version is not None and self._is_suspended(claim.version):
            return consider_visit.begin(claim, claim.version, Action.RESUME, target)
        if decision.verdict is decide.Verdict.NOTHING and version is not None:
            if not self._must_update_nested_stack(claim, version, target, begun):
                observes = observe.is_requested(claim) or observe.is_after_failure(claim, wanted.type_)
                return _settle_unchanged(claim, version, intent, target, observes=observes)
            intent.action = Action.UPDATE
            return self._begin_update(claim, version, intent, target)
        if version is not None and version.external:
            # An external resource is not ours to change: it can only be checked.
            intent.action = Action.CHECK
            return self._begin_update(claim, version, intent, target)
        if decision.verdict is decide.Verdict.UPDATE and version is not None:
            return self._begin_update(claim, version, intent, target)
        return self._begin_create(claim, wanted, intent)

    def _is_suspended(self, version: Version) -> bool:
        """Return whether the resource has to be resumed first. An update of a nested stack resumes what is in it."""
        return version.suspended and not nested_stack.is_stack(self._types(version.implementation))

    def _must_update_nested_stack(
        self, claim: Claim, version: Version, target: documents.Target, intent: documents.Intent | None
    ) -> bool:
        """Return whether a nested stack needs an operation although its properties are the same: its files or environment
        may have changed, or it has to observe too."""
        if not nested_stack.is_stack(self._types(target.implementation)):
            return False
        # An operation that only observes would be refused where the nested stack may not be changed.
        observes = claim.operation.converge and version.operation_id != claim.operation.id and not version.unchangeable
        return observes or intent is not None or version.digest != claim.digest

    def _begin_create(self, claim: Claim, wanted: _Wanted, intent: documents.Intent) -> Begin | Report:
        """Begin the creation of a version: the first, a replacement, or one whose creation never began."""
        old, target = claim.version, wanted.target
        if target.implementation in claim.unsettled:
            # A type may give the new object the same id, and the deletion under way would delete it.
            return Report(claim, NodeState.WAITING, wake_in_s=_LEAVING_S, reason="an older version is being deleted")
        # A row whose creation provably never began is used again, with its token.
        begun = intent_of(old)
        began = old is not None and begun is not None and not begun.handled and (
            old.action is Action.CREATE or (old.action is Action.ADOPT and old.physical_id is None))
        external = wanted.resolved.external_id
        never_made = old is not None and (began or (not old.token and external is None))
        if external is not None:
            intent.action = Action.CHECK
        # The data of a creation that is repeated is kept: its type may count the attempts there.
        known = never_made and old is not None and old.implementation == target.implementation
        data = old.data if known and old is not None else _first_data(wanted.type_, old)
        version = Version(
            old.id if never_made and old else 0, claim.stack_id, claim.name, wanted.definition.type, target.implementation,
            (old.token if never_made and old else "") or self._new_token(), external, intent.action, Status.IN_PROGRESS, "",
            documents.encode(intent.after), None, documents.encode(intent.metadata), data, None,
            documents.encode(intent.requires), None if never_made or old is None else old.id, False,
            DeletionPolicy.RETAIN if external is not None else _deletion_policy(wanted.definition), external is not None,
            claim.operation.id, documents.encode(intent), made_as=old.made_as if never_made and old else None,
            begun_at=self._now(), made_in=old.made_in if never_made and old else None,
        )
        said = protection.of_metadata(wanted.definition.metadata)
        return Begin(Beginning(claim, version, not never_made, event(claim, version), protection=said), intent, target)

    def _begin_update(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target
    ) -> Begin:
        intent.before = documents.decode(version.properties, dict[str, Any])
        # Until the outcome is known, the object may use the old and the new resources (I9).
        may_use = sorted({*documents.decode(version.requires, list[int]), *intent.requires})
        begun = replace(
            version, action=intent.action, status=Status.IN_PROGRESS, reason="", requires=documents.encode(may_use),
            operation_id=claim.operation.id, intent=documents.encode(intent), implementation=target.implementation,
        )
        return Begin(Beginning(claim, begun, False, event(claim, begun)), intent, target)

    def _begin_adoption(
        self, claim: Claim, version: Version, wanted: _Wanted, live: dict[str, Any] | None
    ) -> Begin:
        """Begin the adoption of an object. Only during ADOPT the definition is trusted to describe it; a newer template has
        to be applied, and until then the object uses the resources that it used (I9).

        Of an imported object, the properties that differ from the definition are recorded as they are (`live`): the next
        update changes them.
        """
        trusted = claim.operation.action is Action.ADOPT
        differing = {} if live is None else drift.to_change(
            wanted.type_, wanted.properties, contract.Seen(live), wanted.properties)
        after = {**wanted.properties, **{name: live[name] for name in differing if live is not None}}
        digest = claim.digest if not differing else documents.UNLIKE
        used = [] if trusted else documents.decode(version.requires, list[int])
        intent = documents.Intent(
            Action.ADOPT, claim.operation.id, after=after, digest=digest if trusted else None, live=live,
            metadata=documents.decode_any(version.metadata) or wanted.resolved.metadata,
            requires=sorted({*used, *(i.resource_id for i in claim.inputs if i.resource_id is not None)}),
        )
        return self._begin_update(claim, version, intent, wanted.target)


def _is_to_be_adopted(version: Version, intent: documents.Intent | None, target: documents.Target) -> bool:
    same = decide.makes_the_same(version.implementation, target.implementation)
    return intent is not None and intent.action is Action.ADOPT and version.physical_id is not None and same


def _is_new_to(claim: Claim) -> bool:
    """Return whether an update meets the resource for the first time."""
    version, operation = claim.version, claim.operation
    return version is not None and operation.action is Action.UPDATE and version.operation_id != operation.id


def _first_data(type_: type[contract.Resource], old: Version | None) -> str:
    """Return the data that a version begins with: the physical id of the version that it replaces, for types that ask."""
    if old is None or not type_.traits.knows_replaced or old.implementation != type_.implementation_name():
        return "{}"
    known = {} if is_sealed(old.data) else documents.decode(old.data, dict[str, Any])
    # A version that never had an object was to replace another one, which may still be there.
    replaced = old.physical_id or known.get(contract.REPLACED)
    return documents.encode({contract.REPLACED: replaced} if replaced else {})


def _deletion_policy(definition: Any) -> DeletionPolicy:
    return DeletionPolicy[str(definition.deletion_policy).upper()]


def _no_parameter(name: str) -> object:
    """Raise: a definition carries the parameters that it reads, and hidden ones are looked up first."""
    raise missing(name)


def _applied(version: Version | None, intent: documents.Intent | None) -> decide.Applied | None:
    """Return what is known of the version. A version without a token, or whose creation never began, is nothing yet."""
    if version is None or not version.token or (
        intent is not None and intent.action is Action.CREATE and not intent.handled
    ):
        return None
    uncertain = intent.changed if intent is not None and intent.action is Action.UPDATE else ()
    status = Status.COMPLETE if version.status is Status.IN_PROGRESS else version.status
    return decide.Applied(
        version.implementation, version.action, status,
        documents.decode(version.properties, dict[str, Any]),
        documents.decode_any(version.metadata), uncertain, version.physical_id is not None, version.digest is not None,
        not version.operation_id,
    )


def _repeat_unfinished(decision: decide.Decision, intent: documents.Intent | None) -> decide.Decision:
    """Repeat an update whose end was never seen although the object has the wanted state: it may still be in progress."""
    if decision.verdict is decide.Verdict.NOTHING and intent is not None and intent.action is Action.UPDATE:
        return decide.Decision(decide.Verdict.UPDATE, changed=intent.changed)
    return decision


def _is_left_to_its_protection(claim: Claim, by_rows: decide.Decision, observed: Observed) -> bool:
    """Return whether a repair by an observer leaves a drifted resource as it is, since it is protected from any change.

    The repair is one of another resource, and the refusal of this step would fail it.
    """
    version, unchanged = claim.version, by_rows.verdict is decide.Verdict.NOTHING
    gone = isinstance(observed.reality, contract.Gone)
    return version is not None and version.unchangeable and claim.operation.repairs and unchanged and not gone


def _find_refusal(claim: Claim, wanted: _Wanted, decision: decide.Decision) -> errors.UserError | None:
    """Return the error of a decision that the template or the environment forbids."""
    # A version without a token is nothing yet.
    version = claim.version if claim.version is not None and claim.version.token else None
    external_id = wanted.resolved.external_id
    changed = version is not None and (
        version.external != (external_id is not None) or (version.external and version.physical_id != external_id))
    if version is not None and changed:
        return errors.UserError(f"Update to property external_id of {claim.name} ({version.type}) is not supported.",
                                kind="NotSupported")
    if decision.verdict.value in wanted.target.restricted:
        return errors.UserError(f"{decision.verdict.value} is restricted for resource.", kind="ResourceActionRestricted")
    return None


def _refuse(claim: Claim, error: errors.IsothermError) -> Report:
    """Fail the node; the object stays as it is. As in Heat, a restricted action does not fail the resource."""
    if isinstance(error, errors.UserError) and error.kind == "ResourceActionRestricted":
        return fail_early.untouched(claim, str(error))
    return fail_early.failed(claim, runner.describe(claim.name, error))


def _settle_unchanged(
    claim: Claim, version: Version, intent: documents.Intent, target: documents.Target, *, observes: bool
) -> Answer:
    """Record that the resource is as wanted, and read its attributes again where they may have changed."""
    # An observation may show the wanted state although other properties were applied last.
    applied = not observes or documents.decode(version.properties, dict[str, Any]) == intent.after
    settled = replace(
        version, digest=claim.digest, properties=version.properties if applied else documents.encode(intent.after),
        metadata=documents.encode(intent.metadata), requires=documents.encode(intent.requires),
        operation_id=claim.operation.id,
        # A visit may have been about to begin, and never did.
        status=Status.COMPLETE, intent=None,
    )
    if version.status is Status.FAILED:
        settled.reason = ""
    published = None if version.published is None else documents.decode(version.published, documents.Published)
    # An operation that observes reads the attributes again: an interrupted update may have changed them.
    fresh = observes and bool(target.exports or version.intent is not None)
    if not applied or fresh or published is None or not published.attributes.keys() >= set(target.exports):
        return Republish(settled, target)
    if version.status is Status.FAILED:
        return Report(claim, NodeState.DONE, settled, event=event(claim, settled))
    return Report(claim, NodeState.DONE, None if _is_recorded(settled, claim.version) else settled)


def _is_recorded(settled: Version, row: Version | None) -> bool:
    """Return whether the row has the settled values already."""
    return row is not None and (
        (settled.type, settled.digest, settled.requires, None) == (row.type, row.digest, row.requires, row.intent))
