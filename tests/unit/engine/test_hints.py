"""What notifications about reality mean, in our form and in others', and what garbage means: nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.observer import hints
from isotherm.store.watch.reality_hints import Hint

pytestmark = pytest.mark.ledger("S1.5")
UUID = "5a1b7a9e-6d0c-4b7e-9a0e-0d8f5f1f0c11"


@pytest.mark.parametrize(("what", "meant"), [
    ({"stack": "web"}, Hint("web")),
    ({"stack": "web", "project": "p"}, Hint("web", "p")),
    ({"stack": "web", "resource": "a"}, Hint("web", "", ("a",))),
    ({"stack": "web", "resources": ["a", "b", 5, None]}, Hint("web", "", ("a", "b"))),
    ({"physical_id": UUID}, Hint(objects=(UUID,))),
    ({"stack": "web", "physical_id": UUID, "v": 1}, Hint("web", "", (), (UUID,))),
    ({"event_type": "compute.instance.delete.end", "payload": {"instance_id": UUID}},
     Hint(objects=(UUID, "compute.instance.delete.end"))),
    ({"oslo.version": "2.0", "oslo.message": json.dumps({"payload": {"nova_object.data": {"uuid": UUID}}})},
     Hint(objects=(UUID, "2.0"))),
])
def test_what_a_message_means(what: dict[str, Any], meant: Hint) -> None:
    assert hints.read(what) == meant


@pytest.mark.parametrize("what", [
    {}, {"resource": "a"}, {"stack": 5}, {"stack": ["web"]}, {"stack": "x" * 5000}, {"resources": "abc"}, {"a": [1, None]},
    {"oslo.message": "{"}, {"stack": "", "physical_id": ""},
])
def test_what_makes_no_sense_means_nothing(what: dict[str, Any]) -> None:
    assert hints.read(what) is None


@given(st.dictionaries(st.sampled_from(["stack", "resource", "resources", "physical_id", "payload", "oslo.message"]),
                       st.recursive(st.none() | st.booleans() | st.floats() | st.text(),
                                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)))
def test_nothing_raises(what: dict[str, Any]) -> None:
    found = hints.read(what)
    assert found is None or found.stack or found.objects


def test_a_long_notification_is_not_read_to_its_end() -> None:
    found = hints.read({"payload": [f"{number}" for number in range(100_000)]})
    assert found is not None and len(found.objects) == 200
