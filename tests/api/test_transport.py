"""What holds for every request: versions, methods, bodies, envelopes, who may ask."""

from __future__ import annotations

from tests.api.conftest import resource


def test_a_stack_from_its_creation_to_its_end(api):
    path = api.create("s", {"a": resource()})
    assert api.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert api.delete(path).status_code == 204
    assert api.end(path)["stack_status"] == "DELETE_COMPLETE"
