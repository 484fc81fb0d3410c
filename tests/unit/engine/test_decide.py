"""What to do with a resource, decided without touching anything."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.engine.steps.decide import Applied, Verdict, decide
from isotherm.resources import contract, schema
from isotherm.states import Action, Status


class Thing(contract.Resource):
    TYPE = "Test::Thing"
    properties_schema: ClassVar = {
        "soft": schema.Schema(schema.STRING, "Changes in place.", update_allowed=True),
        "hard": schema.Schema(schema.STRING, "Cannot be changed."),
        "fixed": schema.Schema(schema.STRING, "Must not be changed.", immutable=True),
    }

    def needs_replace(self, before: Any, after: Any, changed: Any) -> Any:
        return "soft" if after.get("soft") == "too much" else None


class Sturdy(Thing):
    def needs_replace_failed(self) -> Any:
        return False


def applied(status: Any = Status.COMPLETE, action: Any = Action.CREATE, uncertain: Any = (), **properties: Any) -> Any:
    return Applied("Test::Thing", action, status, properties, {}, uncertain)


@pytest.mark.parametrize(("was", "after", "verdict", "cause"), [
    (None, {"soft": "1"}, Verdict.CREATE, ""),
    (applied(soft="1"), {"soft": "1"}, Verdict.NOTHING, ""),
    (applied(soft="1"), {"soft": "2"}, Verdict.UPDATE, ""),
    (applied(soft="1"), {"soft": "too much"}, Verdict.REPLACE, "soft"),
    (applied(soft="too much"), {"soft": "too much"}, Verdict.NOTHING, ""),
    (applied(hard="1"), {"hard": "2"}, Verdict.REPLACE, "hard"),
    (applied(status=Status.FAILED, soft="1"), {"soft": "1"}, Verdict.REPLACE, "CREATE had failed"),
    (applied(action=Action.DELETE), {}, Verdict.REPLACE, "its deletion had begun"),
    (applied(soft="1", uncertain=("soft",)), {"soft": "1"}, Verdict.UPDATE, ""),
])
def test_verdicts(was: Any, after: Any, verdict: Any, cause: Any) -> None:
    decision = decide(Thing, was, after, {})
    assert (decision.verdict, decision.cause) == (verdict, cause)


class Other(Thing):
    TYPE = "Test::Other"


class Inside(Thing):
    TYPE = "template:2"


def test_another_class_is_another_thing() -> None:
    assert decide(Other, applied(), {}, {}).cause == "type"
    assert decide(Inside, applied(), {}, {}).cause == "type"


def test_another_template_is_an_update_of_the_nested_stack() -> None:
    was = dataclasses.replace(applied(soft="1"), implementation="template:1")
    assert decide(Inside, was, {"soft": "2"}, {}).verdict is Verdict.UPDATE
    assert decide(Thing, was, {"soft": "2"}, {}).cause == "type"


def test_an_update_that_never_began_is_no_reason_to_make_it_anew() -> None:
    failed = applied(status=Status.FAILED, action=Action.UPDATE, soft="1")
    assert decide(Thing, failed, {"soft": "1"}, {}).verdict is Verdict.NOTHING
    assert decide(Thing, failed, {"soft": "2"}, {}).changed == {"soft": "2"}
    unknown = dataclasses.replace(failed, proven=False)
    assert decide(Thing, unknown, {"soft": "1"}, {}).verdict is Verdict.REPLACE


def test_a_type_may_mend_what_failed() -> None:
    failed = dataclasses.replace(applied(status=Status.FAILED, action=Action.UPDATE, soft="1"), proven=False)
    assert decide(Sturdy, failed, {"soft": "1"}, {}).verdict is Verdict.UPDATE
    checked = applied(status=Status.FAILED, action=Action.CHECK, soft="1")
    assert decide(Sturdy, checked, {"soft": "1"}, {}).verdict is Verdict.REPLACE, "it is not there"


def test_what_is_immutable_is_refused() -> None:
    with pytest.raises(errors.UserError) as refused:
        decide(Thing, applied(fixed="1"), {"fixed": "2"}, {})
    assert refused.value.kind == "NotSupported"
    assert str(refused.value) == f"Update to property fixed of {Thing.TYPE} is not supported."


def test_metadata_alone_is_an_update_without_changed_properties() -> None:
    decision = decide(Thing, applied(soft="1"), {"soft": "1"}, {"new": True})
    assert decision.verdict is Verdict.UPDATE
    assert decision.changed == {}


@pytest.mark.ledger("S1.2", "S1.3")
@pytest.mark.parametrize(("was", "live", "after", "verdict", "changed"), [
    ({"soft": "1"}, contract.Gone(), {"soft": "1"}, Verdict.REPLACE, set()),
    ({"soft": "1"}, contract.Seen({"soft": "1"}), {"soft": "1"}, Verdict.NOTHING, set()),
    ({"soft": "1"}, contract.Seen({"soft": "9"}), {"soft": "1"}, Verdict.UPDATE, {"soft"}),
    ({"soft": "1"}, contract.Seen({"soft": "2"}), {"soft": "2"}, Verdict.NOTHING, set()),
    ({"hard": "1"}, contract.Seen({"hard": "9"}), {"hard": "1"}, Verdict.REPLACE, {"hard"}),
    ({"hard": "1"}, contract.Seen({"hard": "2"}), {"hard": "2"}, Verdict.NOTHING, set()),
    ({"fixed": "1"}, contract.Seen({"fixed": "9"}), {"fixed": "1"}, Verdict.REPLACE, {"fixed"}),
    ({"soft": "1"}, contract.Seen({}), {"soft": "2"}, Verdict.UPDATE, {"soft"}),
])
def test_what_was_seen_is_what_counts(was: Any, live: Any, after: Any, verdict: Any, changed: Any) -> None:
    decision = decide(Thing, dataclasses.replace(applied(**was), live=live), after, {})
    assert (decision.verdict, set(decision.changed)) == (verdict, changed)


def test_a_look_takes_away_doubt() -> None:
    """How an update ended is not known, or how far one came that failed: reality knows, as far as it can be seen."""
    was = dataclasses.replace(applied(soft="1", uncertain=("soft",)), live=contract.Seen({"soft": "2"}))
    assert decide(Thing, was, {"soft": "2"}, {}).verdict is Verdict.NOTHING
    unseen = dataclasses.replace(was, live=contract.Seen({}))
    assert decide(Thing, unseen, {"soft": "2"}, {}).verdict is Verdict.UPDATE
    failed = dataclasses.replace(was, proven=False, uncertain=())
    assert decide(Thing, failed, {"soft": "2"}, {}).verdict is Verdict.NOTHING
