"""From a claim to what is to be done about it. Pure: the answer is a value, and calling the cloud is somebody else's.

Bringing a resource to its definition, and deleting a version, are considered here; visits have a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import decide, fail_early, observe, visit
from isotherm.engine.steps.outcomes import Answer, Begin, Continue, Facts, LookUp, Republish, Types, event, intent_of
from isotherm.planning import documents
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract, properties, registry, runner
from isotherm.resources.nested import nested_stack
from isotherm.resources.nested.nested_stack import IMPLEMENTATION, is_forgotten, is_inside, is_template
from isotherm.resources.validation import custom_constraints
from isotherm.secrets import is_sealed, unreadable
from isotherm.states import KEPT, Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Beginning, Claim, Report, Version
from isotherm.template.model import definitions
from isotherm.template.parameters.schema import missing

# How often to look whether an older version has been deleted.
_LEAVING_S = 1.0
# Values that were not known when the template was accepted are judged now that they are.
_RULES = properties.Rules(custom=custom_constraints.LOCAL)


class Decider:
    """Considers claims. `types` finds the class of a type, `new_token` makes tokens that nobody else has.

    `tolerant`: what cannot be looked at is taken for what was last applied.
    """

    def __init__(self, types: Types, new_token: Callable[[], str], *, tolerant: bool = False) -> None:
        self._types = types
        self._new_token = new_token
        self._tolerant = tolerant

    def __call__(self, claim: Claim, facts: Facts | None = None) -> Answer:
        if claim.kind is not NodeKind.CLEANUP and (text := _sealed(claim)):
            return _unreadable(claim, text)
        if wish_to_learn := self._template(claim):
            return wish_to_learn
        if claim.kind is NodeKind.CLEANUP:
            return self._clean_up(claim, facts)
        if claim.kind is NodeKind.VISIT:
            return visit.consider(claim)
        return self._update(claim, facts)

    def _template(self, claim: Claim) -> LookUp | None:
        """A template that serves as a type and that has to be read. Of the one that is there, it is enough to know that its
        text is gone; the one that is wanted is needed, and may have come back."""
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

    # Bring the resource to its definition.

    def _update(self, claim: Claim, facts: Facts | None) -> Answer:
        if claim.definition is None:
            raise errors.Bug(f"node {claim.node_id} has no definition")
        target = documents.decode(claim.definition, documents.Target)
        version = claim.version
        intent = intent_of(version)
        if version is not None and intent is not None:
            if intent.handled and intent.action is not Action.DELETE:
                if not self._preempts(claim, version, intent):
                    return Continue(version, intent, target)
            elif _is_to_be_found(version, intent):
                found = _after_search(claim, version, intent, target, facts)
                if not isinstance(found, Claim):
                    return found
                claim = found
        return self._decide(claim, target, intent, facts)

    def _preempts(self, claim: Claim, version: Version, intent: documents.Intent) -> bool:
        """Whether what an older operation began need not be waited for: it can be changed while it is under way."""
        type_ = self._types(version.implementation)
        changes = nested_stack.is_stack(type_) or (type_.traits.only_waits and intent.digest != claim.digest)
        return changes and intent.operation_id != claim.operation.id

    def _decide(
        self, claim: Claim, target: documents.Target, intent: documents.Intent | None, facts: Facts | None
    ) -> Answer:
        definition = definitions.thaw(target.definition)
        if definition.secrets and (facts is None or facts.parameter is None):
            return LookUp(secrets=True, known=facts or Facts())
        parameter = facts.parameter if facts and facts.parameter else _no_parameter
        implementation = self._types(target.implementation)
        look = None if facts is None else facts.look
        seen = None
        try:
            resolved = definition.resolve(PublishedReferences(claim.inputs, parameter))
            given = decide.given(implementation, resolved.properties or {}, target.restored)
            after = registry.typed_properties(implementation, given, rules=_RULES, resolve=True)
            if claim.version is not None and _is_to_be_adopted(claim.version, intent, target):
                if wish_to_look := observe.first(claim, implementation, facts):
                    return wish_to_look
                if not observe.is_gone(facts):
                    return self._begin_adoption(claim, claim.version, after, resolved.metadata, target)
            applied, renew = _applied(claim.version, intent), _is_new_to(claim)
            decision = decide.decide(implementation, applied, after, resolved.metadata, renew=renew)
            if applied and claim.version and observe.is_worth_while(claim, implementation, decision):
                if look is None:
                    return LookUp(claim.version, live=True, known=facts or Facts())
                seen = observe.observation(implementation, claim.version, look, after)
                applied = observe.with_live(applied, look, tolerant=self._tolerant or not claim.operation.converge)
                decision = decide.decide(implementation, applied, after, resolved.metadata, renew=renew)
                decision = _unfinished(decision, intent)
                if decision.verdict is decide.Verdict.NOTHING:
                    seen = observe.as_wanted(seen)
            elif applied and look is None and observe.may_be_gone(claim, decision, self._types):
                return LookUp(claim.version, live=True, known=facts or Facts())
            _refuse(claim, target, resolved, decision)
        except errors.IsothermError as error:
            return observe.told(_refused(claim, error), seen)
        wish = documents.Intent(
            Action.UPDATE if decision.verdict is decide.Verdict.UPDATE else Action.CREATE, claim.operation.id,
            digest=claim.digest, after=after, metadata=resolved.metadata, changed=dict(decision.changed),
            update_policy=resolved.update_policy,
            requires=sorted({i.resource_id for i in claim.inputs if i.resource_id is not None}),
        )
        answer = self._answer(claim, (definition, resolved, target), wish, decision, intent)
        return observe.told(answer, seen, gone=observe.is_gone(facts))

    def _answer(
        self, claim: Claim, wanted: tuple[Any, Any, documents.Target], wish: documents.Intent,
        decision: decide.Decision, intent: documents.Intent | None,
    ) -> Answer:
        definition, resolved, target = wanted
        version = None if claim.version is None else replace(claim.version, type=definition.type)
        stays = decision.verdict in (decide.Verdict.NOTHING, decide.Verdict.UPDATE)
        if stays and claim.version is not None and self._sleeps(claim.version):
            return visit.begin(claim, claim.version, Action.RESUME, target)
        if decision.verdict is decide.Verdict.NOTHING and version is not None:
            if not self._is_to_be_told(claim, version, target, intent):
                return _nothing(claim, version, wish, target)
            wish.action = Action.UPDATE
            return self._begin_update(claim, version, wish, target)
        if version is not None and version.external:
            # Somebody else's object: all that can be done about it is to look.
            wish.action = Action.CHECK
            return self._begin_update(claim, version, wish, target)
        if decision.verdict is decide.Verdict.UPDATE and version is not None:
            return self._begin_update(claim, version, wish, target)
        return self._begin_create(claim, definition, resolved, wish, target)

    def _sleeps(self, version: Version) -> bool:
        """Whether it is at rest, as far as anybody knows, and stays so unless it is woken: an update of a stack inside
        wakes what is in there."""
        return version.suspended and not nested_stack.is_stack(self._types(version.implementation))

    def _is_to_be_told(
        self, claim: Claim, version: Version, target: documents.Target, intent: documents.Intent | None
    ) -> bool:
        """Whether a stack inside has to hear of this operation: what it is made of besides its properties may have
        changed, or it is to look at reality too."""
        if not nested_stack.is_stack(self._types(target.implementation)):
            return False
        looks = claim.operation.converge and version.operation_id != claim.operation.id
        return looks or intent is not None or version.digest != claim.digest

    def _begin_create(
        self, claim: Claim, definition: Any, resolved: Any, wish: documents.Intent, target: documents.Target
    ) -> Begin | Report:
        old = claim.version
        if target.implementation in claim.unsettled:
            # A type may give the new object the same id: the deletion that is under way would hit it.
            return Report(claim, NodeState.WAITING, wake_in_s=_LEAVING_S, reason="an older version is being deleted")
        # A row whose creation provably never began is used again, with its token.
        begun = intent_of(old)
        began = old is not None and begun is not None and not begun.handled and (
            old.action is Action.CREATE or (old.action is Action.ADOPT and old.physical_id is None))
        external = resolved.external_id
        unborn = old is not None and (began or (not old.token and external is None))
        if external is not None:
            wish.action = Action.CHECK
        version = Version(
            old.id if unborn and old else 0, claim.stack_id, claim.name, definition.type, target.implementation,
            (old.token if unborn and old else "") or self._new_token(), external, wish.action, Status.IN_PROGRESS, "",
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
        # Until the outcome is known it may use what it used before and what it will use (I9).
        may_use = sorted({*documents.decode(version.requires, list[int]), *wish.requires})
        begun = replace(
            version, action=wish.action, status=Status.IN_PROGRESS, reason="", requires=documents.encode(may_use),
            operation_id=claim.operation.id, intent=documents.encode(wish), implementation=target.implementation,
        )
        return Begin(Beginning(claim, begun, False, event(claim, begun)), wish, target)

    def _begin_adoption(
        self, claim: Claim, version: Version, after: dict[str, Any], metadata: Any, target: documents.Target
    ) -> Begin:
        """Whoever handed it in says that it is what his template says; a newer template has to be applied to it, and until
        then it uses what it used (I9)."""
        purpose = claim.operation.action is Action.ADOPT
        used = [] if purpose else documents.decode(version.requires, list[int])
        wish = documents.Intent(
            Action.ADOPT, claim.operation.id, after=after, digest=claim.digest if purpose else None,
            metadata=documents.decode_any(version.metadata) or metadata,
            requires=sorted({*used, *(i.resource_id for i in claim.inputs if i.resource_id is not None)}),
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
        begun = None if is_sealed(version.intent) else intent_of(version)
        if version.physical_id is None and version.digest is None:
            if not version.token or (begun is not None and begun.not_begun):
                return _removed(claim, version, "nothing had been made")
            if facts is None or facts.search is None:
                return LookUp(version)
            if isinstance(facts.search, contract.Absent):
                return _removed(claim, version, "nothing had been made")
            if isinstance(facts.search, contract.CannotTell):
                return _not_found(claim, version, facts.search)
            version = replace(version, physical_id=facts.search.physical_id)
        if self._is_kept(version):
            return _removed(claim, version, "retained", retained=True)
        # A deletion whose beginning cannot be read begins again, and so does that of an older operation: another version
        # may have an object of the same id by now, and the deletion would wait for that one to go.
        if begun is not None and begun.action is Action.DELETE and begun.handled and _is_of(claim, begun):
            return Continue(version, begun, None)
        if version.implementation in claim.unsettled:
            # A type may give the replacement the same id: the deletion would hit the object that is being made.
            return Report(claim, NodeState.WAITING, wake_in_s=_LEAVING_S, reason="its replacement is being made")
        wish = documents.Intent(Action.DELETE, claim.operation.id)
        doomed = replace(
            version, action=Action.DELETE, status=Status.IN_PROGRESS, reason="", operation_id=claim.operation.id,
            intent=documents.encode(wish),
        )
        return Begin(Beginning(claim, doomed, False, event(claim, doomed)), wish, None)

    def _is_kept(self, version: Version) -> bool:
        abandoned = version.deletion_policy is DeletionPolicy.ABANDON
        goes = abandoned and is_inside(self._types(version.implementation))
        return version.external or (version.deletion_policy in KEPT and not goes)


class CreationUnknown(errors.Permanent):
    """The answer to a creation was lost, and its type cannot search for the object."""

    def __init__(self, type_: str, search: contract.CannotTell) -> None:
        super().__init__(f"Whether it was made is not known: the answer was lost, and {type_} cannot search for it. Look "
                         f"for {search.look_for} and delete it if it is there.")


def _unknown(claim: Claim, version: Version, search: contract.CannotTell) -> Report:
    """Fail the resource, and close its intent: from now on the user knows, and what is asked next goes on without it."""
    reason = runner.describe(claim.name, CreationUnknown(version.type, search))
    failed = replace(version, status=Status.FAILED, reason=reason, intent=None)
    return Report(claim, NodeState.FAILED, failed, reason=reason, event=event(claim, failed))


def _not_found(claim: Claim, version: Version, search: contract.CannotTell) -> Report:
    """Remove the row of a creation that was told to have failed. The first to find out that its end is unknown fails."""
    if version.intent is not None:
        return _unknown(claim, replace(version, action=Action.DELETE, operation_id=claim.operation.id), search)
    return _removed(claim, version, str(CreationUnknown(version.type, search)))


def _is_of(claim: Claim, intent: documents.Intent) -> bool:
    return intent.operation_id == claim.operation.id


def _sealed(claim: Claim) -> str:
    """A text that the store could not open, if there is one: then nothing can be decided."""
    version = claim.version
    own = () if version is None else (version.properties, version.metadata, version.data, version.published, version.intent)
    texts = (claim.definition, *own, *(one.published for one in claim.inputs))
    return next((text for text in texts if text is not None and is_sealed(text)), "")


def _unreadable(claim: Claim, text: str) -> Report:
    """The object stays as it is; the operation fails on it."""
    return fail_early.failed(
        claim, runner.describe(claim.name, unreadable(text, "What is kept of it, or of what it needs,"))
    )


def _wanted_template(claim: Claim) -> str:
    """The template that this claim's target is made of, if it is one."""
    if claim.kind is NodeKind.UPDATE and claim.definition is not None and IMPLEMENTATION in claim.definition:
        found = documents.decode(claim.definition, documents.Target).implementation
        return found if is_template(found) else ""
    return ""


def _unfinished(decision: decide.Decision, intent: documents.Intent | None) -> decide.Decision:
    """It looks as it should, but nobody saw the end of what was begun: it may still be at work. It is asked once more, and
    waited for."""
    if decision.verdict is decide.Verdict.NOTHING and intent is not None and intent.action is Action.UPDATE:
        return decide.Decision(decide.Verdict.UPDATE, changed=intent.changed)
    return decision


def _is_to_be_found(version: Version, intent: documents.Intent) -> bool:
    """Whether an object may exist whose id is not known: its creation was begun, here or before the stack was adopted."""
    if intent.action is Action.ADOPT:
        return version.physical_id is None
    return intent.action is Action.CREATE and not intent.not_begun


def _after_search(
    claim: Claim, version: Version, intent: documents.Intent, target: documents.Target, facts: Facts | None
) -> Answer | Claim:
    """Go on with an object that was found by its token. The claim is returned where a decision is still to be made."""
    if facts is None or facts.search is None:
        return LookUp(version)
    search = facts.search
    if isinstance(search, contract.CannotTell) and not (search.repeat_is_harmless and _is_in_order(claim, intent)):
        return _unknown(claim, version, search)
    if isinstance(search, contract.Found):
        version = replace(version, physical_id=search.physical_id)
    if intent.action is Action.CREATE and not isinstance(search, contract.Absent):
        # The object may be there as the first request asked for it: the repeated one asks for the same. A newer operation
        # decides after that what to change.
        intent.handled, intent.repeated = isinstance(search, contract.Found), True
        return Continue(version, intent, target)
    return replace(claim, version=version)


def _is_in_order(claim: Claim, intent: documents.Intent) -> bool:
    """Tell whether the first request can be repeated now: all that it named comes before the node in this operation too.

    Anything else may be changing at this moment.
    """
    return {*intent.requires} <= {one.resource_id for one in claim.inputs}


def _is_to_be_adopted(version: Version, intent: documents.Intent | None, target: documents.Target) -> bool:
    same = decide.makes_the_same(version.implementation, target.implementation)
    return intent is not None and intent.action is Action.ADOPT and version.physical_id is not None and same


def _is_new_to(claim: Claim) -> bool:
    """Whether an update meets the resource for the first time."""
    version, operation = claim.version, claim.operation
    return version is not None and operation.action is Action.UPDATE and version.operation_id != operation.id


def policy_of(definition: Any) -> DeletionPolicy:
    return DeletionPolicy[str(definition.deletion_policy).upper()]


def _no_parameter(name: str) -> object:
    """A definition takes along what it may read, and one that reads secrets is looked up first: nobody has this one."""
    raise missing(name)


def _applied(version: Version | None, intent: documents.Intent | None) -> decide.Applied | None:
    """Tell what is known of the version. One without a token is nothing yet."""
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


def _refuse(claim: Claim, target: documents.Target, resolved: Any, decision: decide.Decision) -> None:
    verdict = decision.verdict
    # One without a token is nothing yet.
    version = claim.version if claim.version is not None and claim.version.token else None
    if version is not None and version.external != (resolved.external_id is not None):
        raise errors.UserError(f"Update to property external_id of {claim.name} ({version.type}) is not supported.",
                               kind="NotSupported")
    if version is not None and version.external and version.physical_id != resolved.external_id:
        raise errors.UserError(f"Update to property external_id of {claim.name} ({version.type}) is not supported.",
                               kind="NotSupported")
    if verdict.value in target.restricted:
        raise errors.UserError(f"{verdict.value} is restricted for resource.", kind="ResourceActionRestricted")


def _refused(claim: Claim, error: errors.IsothermError) -> Report:
    """The object stays as it is; the operation fails on it. As in Heat, a restricted action leaves the resource alone."""
    if isinstance(error, errors.UserError) and error.kind == "ResourceActionRestricted":
        return replace(fail_early.failed(claim, str(error)), version=None)
    return fail_early.failed(claim, runner.describe(claim.name, error))


def _nothing(claim: Claim, version: Version, wish: documents.Intent, target: documents.Target) -> Answer:
    # By a look at reality it may be found to be what is wanted, whatever was applied.
    applied = not observe.looks(claim) or documents.decode(version.properties, dict[str, Any]) == wish.after
    settled = replace(
        version, digest=claim.digest, properties=version.properties if applied else documents.encode(wish.after),
        requires=documents.encode(wish.requires), operation_id=claim.operation.id,
        # It may be that a visit was about to begin, and never did.
        status=Status.COMPLETE, intent=None,
    )
    if version.status is Status.FAILED:
        settled.reason = ""
    published = None if version.published is None else documents.decode(version.published, documents.Published)
    # Who looks at reality reads anew what others read of it. It may be that somebody put it right, and never said so.
    fresh = observe.looks(claim) and bool(target.exports or version.intent is not None)
    if not applied or fresh or published is None or not published.attributes.keys() >= set(target.exports):
        return Republish(settled, target)
    if version.status is Status.FAILED:
        return Report(claim, NodeState.DONE, settled, event=event(claim, settled))
    return Report(claim, NodeState.DONE, None if _is_recorded(settled, claim.version) else settled)


def _is_recorded(settled: Version, row: Version | None) -> bool:
    """Tell whether the row says already what is settled."""
    return row is not None and (
        (settled.type, settled.digest, settled.requires, None) == (row.type, row.digest, row.requires, row.intent))


def _removed(claim: Claim, version: Version, reason: str, *, retained: bool = False) -> Report:
    gone = replace(version, action=Action.DELETE, status=Status.COMPLETE, reason=reason)
    return Report(claim, NodeState.DONE, gone, removed=True, retained=retained, event=event(claim, gone))
