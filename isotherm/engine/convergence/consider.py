"""From a claim to what is to be done about it. Pure: the answer is a value, and calling the cloud is somebody else's.

The answers: begin something (its intent goes to the store first), continue something that was begun, look something up
before anything can be said, or report at once because there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine import decide, documents, papers
from isotherm.engine.references import PublishedReferences
from isotherm.resources import contract, custom_constraints, properties, registry, runner
from isotherm.resources.nested import IMPLEMENTATION
from isotherm.states import VISITING, Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Beginning, Claim, Event, Part, Report, Version
from isotherm.template import definitions

Parameter = Callable[[str], object]
# Values that were not known when the template was accepted are judged now that they are.
_RULES = properties.Rules(custom=custom_constraints.LOCAL)


@dataclass(frozen=True, slots=True)
class Facts:
    """What had to be looked up before a decision: the object that carries our token, and hidden parameters."""

    physical_id: str | None = None
    parameter: Parameter | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    beginning: Beginning
    intent: documents.Intent
    target: documents.Target | None


@dataclass(frozen=True, slots=True)
class Continue:
    version: Version
    intent: documents.Intent
    target: documents.Target | None


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask first: for the object with this version's token, for the operation's hidden parameters, for a template."""

    version: Version | None = None
    secrets: bool = False
    template: str = ""


@dataclass(frozen=True, slots=True)
class Republish:
    """Nothing to do but to read attributes that nobody asked for before."""

    version: Version
    target: documents.Target


Answer = Begin | Continue | LookUp | Republish | Report
Types = Callable[[str], type[contract.Resource]]


class Considering:
    """Considers claims. `types` finds the class of a type, `new_token` makes tokens that nobody else has."""

    def __init__(self, types: Types, new_token: Callable[[], str]) -> None:
        self._types = types
        self._new_token = new_token

    def __call__(self, claim: Claim, facts: Facts | None = None) -> Answer:
        for name in _implementations(claim):
            try:
                self._types(name)
            except KeyError:
                return LookUp(template=name)
        if claim.kind is NodeKind.CLEANUP:
            return self._clean_up(claim, facts)
        if claim.kind is NodeKind.VISIT:
            return self._visit(claim)
        return self._update(claim, facts)

    # Bring the resource to its definition.

    def _update(self, claim: Claim, facts: Facts | None) -> Answer:
        if claim.definition is None:
            raise errors.Bug(f"node {claim.node_id} has no definition")
        target = documents.decode(claim.definition, documents.Target)
        version = claim.version
        intent = _intent(version)
        if version is not None and intent is not None:
            if intent.handled and intent.action is not Action.DELETE:
                if not self._preempts(claim, version, intent):
                    return Continue(version, intent, target)
            elif intent.action is Action.CREATE:
                if facts is None:
                    return LookUp(version)
                if facts.physical_id is not None:
                    intent.handled = True
                    return Continue(replace(version, physical_id=facts.physical_id), intent, target)
        if version is not None and version.suspended:
            return _begin_visit(claim, version, Action.RESUME, target)
        return self._decide(claim, target, intent, facts)

    def _preempts(self, claim: Claim, version: Version, intent: documents.Intent) -> bool:
        """Whether what an older operation began need not be waited for: it can be changed while it is under way."""
        return intent.operation_id != claim.operation.id and self._types(version.implementation).preemptible

    def _decide(
        self, claim: Claim, target: documents.Target, intent: documents.Intent | None, facts: Facts | None
    ) -> Answer:
        definition = definitions.thaw(target.definition)
        if definition.secrets and (facts is None or facts.parameter is None):
            return LookUp(secrets=True)
        parameter = facts.parameter if facts and facts.parameter else _no_parameter
        implementation = self._types(target.implementation)
        try:
            resolved = definition.resolve(PublishedReferences(claim.inputs, parameter))
            given = decide.given(implementation, resolved.properties or {}, target.restored)
            after = registry.typed_properties(implementation, given, rules=_RULES, resolve=True)
            if claim.version is not None and _is_to_be_adopted(claim.version, intent, definition.type):
                return self._begin_adoption(claim, claim.version, after, resolved.metadata, target)
            decision = decide.decide(
                implementation, definition.type, _applied(claim.version, intent, target), after, resolved.metadata,
                renew=_is_new_to(claim),
            )
            _refuse(claim, target, resolved, decision)
        except errors.IsothermError as error:
            return _refused(claim, definition.type, error)
        wish = documents.Intent(
            Action.UPDATE if decision.verdict is decide.Verdict.UPDATE else Action.CREATE, claim.operation.id,
            digest=claim.digest, after=after, metadata=resolved.metadata, changed=dict(decision.changed),
            update_policy=resolved.update_policy,
            requires=sorted({i.resource_id for i in claim.inputs if i.resource_id is not None}),
        )
        if decision.verdict is decide.Verdict.NOTHING and claim.version is not None:
            answer = _nothing(claim, claim.version, wish, target)
            if not implementation.preemptible or (intent is None and claim.version.digest == claim.digest):
                return answer
            # What it is made of besides its properties has changed: the stack inside has to be told.
            wish.action = Action.UPDATE
            return self._begin_update(claim, claim.version, wish, target)
        if claim.version is not None and claim.version.external:
            # Somebody else's object: all that can be done about it is to look.
            wish.action = Action.CHECK
            return self._begin_update(claim, claim.version, wish, target)
        if decision.verdict is decide.Verdict.UPDATE and claim.version is not None:
            return self._begin_update(claim, claim.version, wish, target)
        return self._begin_create(claim, definition, resolved, wish, target)

    def _begin_create(
        self, claim: Claim, definition: Any, resolved: Any, wish: documents.Intent, target: documents.Target
    ) -> Begin:
        old = claim.version
        # A row whose creation provably never began is used again, with its token.
        unborn = old is not None and old.action is Action.CREATE and old.intent is not None
        external = resolved.external_id
        if external is not None:
            wish.action = Action.CHECK
        version = Version(
            old.id if unborn and old else 0, claim.stack_id, claim.name, definition.type, target.implementation,
            old.token if unborn and old else self._new_token(), external, wish.action, Status.IN_PROGRESS, "",
            documents.encode(wish.after), None, documents.encode(wish.metadata), "{}", None,
            documents.encode(wish.requires), None if unborn or old is None else old.id, False,
            DeletionPolicy.RETAIN if external is not None else policy_of(definition), external is not None,
            claim.operation.id, documents.encode(wish),
        )
        return Begin(Beginning(claim, version, not unborn, event(claim, version)), wish, target)

    def _begin_update(
        self, claim: Claim, version: Version, wish: documents.Intent, target: documents.Target
    ) -> Begin:
        wish.before = documents.decode(version.properties, dict[str, Any])
        # Until the outcome is known it may use what it used before and what it will use (INV-9).
        may_use = sorted({*documents.decode(version.requires, list[int]), *wish.requires})
        begun = replace(
            version, action=wish.action, status=Status.IN_PROGRESS, reason="", requires=documents.encode(may_use),
            operation_id=claim.operation.id, intent=documents.encode(wish), implementation=target.implementation,
        )
        return Begin(Beginning(claim, begun, False, event(claim, begun)), wish, target)

    def _begin_adoption(
        self, claim: Claim, version: Version, after: dict[str, Any], metadata: Any, target: documents.Target
    ) -> Begin:
        """Whoever handed it in says that it is what his template says; a newer template has to be applied to it."""
        wish = documents.Intent(
            Action.ADOPT, claim.operation.id, after=after,
            digest=claim.digest if claim.operation.action is Action.ADOPT else None,
            metadata=documents.decode_any(version.metadata) or metadata,
            requires=sorted({i.resource_id for i in claim.inputs if i.resource_id is not None}),
        )
        return self._begin_update(claim, version, wish, target)

    # Delete one version.

    def _clean_up(self, claim: Claim, facts: Facts | None) -> Answer:
        version = claim.version
        if version is None:
            return Report(claim, NodeState.DONE)
        if version.action is Action.DELETE and version.status is Status.COMPLETE:
            # It paused after its end, and goes on now.
            return Report(claim, NodeState.DONE, version, removed=True)
        if version.physical_id is None and version.digest is None:
            if facts is None:
                return LookUp(version)
            if facts.physical_id is None:
                return _removed(claim, version, "nothing had been made")
            version = replace(version, physical_id=facts.physical_id)
        if version.deletion_policy is DeletionPolicy.RETAIN or version.external:
            return _removed(claim, version, "retained", retained=True)
        intent = _intent(version)
        if intent is not None and intent.action is Action.DELETE and intent.handled:
            return Continue(version, intent, None)
        wish = documents.Intent(Action.DELETE, claim.operation.id)
        begun = replace(
            version, action=Action.DELETE, status=Status.IN_PROGRESS, reason="", operation_id=claim.operation.id,
            intent=documents.encode(wish),
        )
        return Begin(Beginning(claim, begun, False, event(claim, begun)), wish, None)

    # Do to it what the operation does to every resource.

    def _visit(self, claim: Claim) -> Answer:
        version, action = claim.version, claim.operation.action
        if version is None:
            return Report(claim, NodeState.DONE)
        intent = _intent(version)
        if intent is not None and intent.handled:
            return Continue(version, intent, None)
        if intent is not None and intent.action is Action.ADOPT:
            return _not_now(claim, version)
        if intent is not None and intent.action not in VISITING:
            return _interrupted(claim, version, intent)
        if _is_so_already(version, action):
            kept = part(claim.operation.id, version, None) if action is Action.SNAPSHOT else None
            return Report(claim, NodeState.DONE, part=kept)
        if action is Action.SUSPEND and version.status is Status.FAILED and not version.suspended:
            return _not_now(claim, version)
        return _begin_visit(claim, version, action)


def _implementations(claim: Claim) -> list[str]:
    """The templates that this claim needs as types, if any: of the version that is there, and of the target."""
    found = [] if claim.version is None else [claim.version.implementation]
    if claim.kind is NodeKind.UPDATE and claim.definition is not None and IMPLEMENTATION in claim.definition:
        found.append(documents.decode(claim.definition, documents.Target).implementation)
    return [name for name in found if _is_template(name)]


def _interrupted(claim: Claim, version: Version, intent: documents.Intent) -> Report:
    """What an older operation was about to do may have been begun or not: the next update finds out, a visit does not."""
    reason = f"{intent.action.name} was interrupted"
    digest = None if intent.action is Action.UPDATE else version.digest
    failed = replace(version, status=Status.FAILED, reason=reason, intent=None, digest=digest)
    return Report(claim, NodeState.FAILED, failed, reason=reason, event=event(claim, failed))


def _is_to_be_adopted(version: Version, intent: documents.Intent | None, type_: str) -> bool:
    return intent is not None and intent.action is Action.ADOPT and version.type == type_


def _is_so_already(version: Version, action: Action) -> bool:
    if action is Action.CHECK:
        return False
    if version.external:
        return True  # somebody else's: not ours to put to rest, and none of our snapshot
    at_rest = version.suspended and version.action is Action.SUSPEND and version.status is Status.COMPLETE
    return at_rest if action is Action.SUSPEND else action is Action.RESUME and not version.suspended


def _not_now(claim: Claim, version: Version) -> Report:
    """As Heat has it: what failed is not suspended. The resource stays as it is."""
    state = f"{version.action.name}_{version.status.name}"
    action = claim.operation.action
    reason = f"Error: resources.{claim.name}: State {state} invalid for {action.name.lower()}"
    said = Event(claim.stack_id, claim.operation.id, claim.name, version.type, version.physical_id, action,
                 Status.FAILED, reason)
    return Report(claim, NodeState.FAILED, reason=reason, event=said)


def _begin_visit(claim: Claim, version: Version, action: Action, target: documents.Target | None = None) -> Begin:
    wish = documents.Intent(
        action, claim.operation.id, digest=version.digest,
        after=documents.decode(version.properties, dict[str, Any]), metadata=documents.decode_any(version.metadata),
        requires=documents.decode(version.requires, list[int]),
    )
    begun = replace(
        version, action=action, status=Status.IN_PROGRESS, reason="", intent=documents.encode(wish),
        # From this moment on it may be at rest, and is woken before anything else is done to it.
        suspended=version.suspended or action is Action.SUSPEND,
    )
    return Begin(Beginning(claim, begun, False, event(claim, begun)), wish, target)


def _is_new_to(claim: Claim) -> bool:
    """Whether an update meets the resource for the first time."""
    version, operation = claim.version, claim.operation
    return version is not None and operation.action is Action.UPDATE and version.operation_id != operation.id


def policy_of(definition: Any) -> DeletionPolicy:
    return DeletionPolicy[str(definition.deletion_policy).upper()]


def _no_parameter(name: str) -> object:
    raise errors.Bug(f"hidden parameter {name} was not looked up")


def _intent(version: Version | None) -> documents.Intent | None:
    return None if version is None or version.intent is None else documents.decode(version.intent, documents.Intent)


def _is_template(implementation: str) -> bool:
    return implementation.startswith(IMPLEMENTATION)


def _applied(
    version: Version | None, intent: documents.Intent | None, target: documents.Target
) -> decide.Applied | None:
    """What is known of the version. One that was made by a class is another thing than one made of a template."""
    if version is None or (intent is not None and intent.action is Action.CREATE and not intent.handled):
        return None
    uncertain = intent.changed if intent is not None and intent.action is Action.UPDATE else ()
    status = Status.COMPLETE if version.status is Status.IN_PROGRESS else version.status
    same_kind = _is_template(version.implementation) == _is_template(target.implementation)
    return decide.Applied(
        version.type if same_kind else version.implementation, version.action, status,
        documents.decode(version.properties, dict[str, Any]),
        documents.decode_any(version.metadata), uncertain, version.physical_id is not None, version.digest is not None,
    )


def _refuse(claim: Claim, target: documents.Target, resolved: Any, decision: decide.Decision) -> None:
    verdict = decision.verdict
    version = claim.version
    if version is not None and version.external != (resolved.external_id is not None):
        raise errors.UserError(f"Update to property external_id of {claim.name} ({version.type}) is not supported.",
                               kind="NotSupported")
    if version is not None and version.external and version.physical_id != resolved.external_id:
        raise errors.UserError(f"Update to property external_id of {claim.name} ({version.type}) is not supported.",
                               kind="NotSupported")
    if verdict.value in target.restricted:
        raise errors.UserError(f"{verdict.value} is restricted for resource.", kind="ResourceActionRestricted")


def _refused(claim: Claim, type_: str, error: errors.IsothermError) -> Report:
    """The resource stays as it is; the operation fails on it."""
    version = claim.version
    action = Action.CREATE if version is None else Action.UPDATE
    restricted = isinstance(error, errors.UserError) and error.kind == "ResourceActionRestricted"
    reason = str(error) if restricted else runner.describe(claim.name, error)
    said = Event(claim.stack_id, claim.operation.id, claim.name, type_, version.physical_id if version else None, action,
                 Status.FAILED, reason)
    return Report(claim, NodeState.FAILED, reason=reason, event=said)


def _nothing(claim: Claim, version: Version, wish: documents.Intent, target: documents.Target) -> Answer:
    settled = replace(
        version, digest=claim.digest, requires=documents.encode(wish.requires), operation_id=claim.operation.id,
        # It may be that a visit was about to begin, and never did.
        status=Status.COMPLETE, intent=None,
    )
    published = None if version.published is None else documents.decode(version.published, documents.Published)
    if published is None or not published.attributes.keys() >= set(target.exports):
        return Republish(settled, target)
    same = (settled.digest, settled.requires, None) == (version.digest, version.requires, version.intent)
    return Report(claim, NodeState.DONE, None if same else settled)


def _removed(claim: Claim, version: Version, reason: str, *, retained: bool = False) -> Report:
    gone = replace(version, action=Action.DELETE, status=Status.COMPLETE, reason=reason)
    return Report(claim, NodeState.DONE, gone, removed=True, retained=retained, event=event(claim, gone))


def part(snapshot_id: str, version: Version, own: object) -> Part:
    return Part(snapshot_id, version.name, version.implementation, papers.entry(version, own))


def event(claim: Claim, version: Version) -> Event:
    return Event(claim.stack_id, claim.operation.id, claim.name, version.type, version.physical_id, version.action,
                 version.status, version.reason)
