"""`converge` in an update through the API: reality is observed, and drift is repaired."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from isotherm.resources.reality.journal import JournalReality
from tests.api.conftest import Api, resource, template

WANTED = {"a": resource("one")}


def reality(api: Any) -> Any:
    return contextlib.closing(JournalReality(api.engine.path / "reality.journal"))


def meddle(api: Any, path: str) -> str:
    """Change the object of `a` behind the engine's back; return its id."""
    id_: str = api.get(f"{path}/resources/a").json()["resource"]["physical_resource_id"]
    with reality(api) as world:
        assert api.run(world.update(id_, {"value": "meddled"}))
    return id_


def value(api: Any, id_: str) -> str:
    with reality(api) as world:
        return str(world.objects[id_]["properties"]["value"])


@pytest.mark.ledger("S1.4")
@pytest.mark.parametrize(("method", "body"), [
    ("PUT", {"template": template(WANTED), "converge": True}), ("PATCH", {"converge": "true"}),
])
def test_an_update_looks_if_it_is_asked_to(shared: Api, method: Any, body: Any) -> None:
    path = shared.create(f"looks-{method}", WANTED)
    id_ = meddle(shared, path)
    assert shared.ask(method, path, {**body, "converge": False}).status_code == 202
    shared.end(path)
    assert value(shared, id_) == "meddled"
    assert shared.ask(method, path, body).status_code == 202
    assert shared.end(path)["stack_status"] == "UPDATE_COMPLETE"
    assert value(shared, id_) == "one"


def test_what_is_no_boolean_is_refused(shared: Api) -> None:
    path = shared.create("unsure", WANTED)
    answer = shared.put(path, {"template": template(WANTED), "converge": "perhaps"})
    assert answer.status_code == 400
    assert "converge" in answer.text


def test_a_preview_looks_at_nothing(shared: Api) -> None:
    path = shared.create("previewed", WANTED)
    meddle(shared, path)
    told = shared.put(f"{path}/preview", {"template": template(WANTED), "converge": True}).json()["resource_changes"]
    assert [one["resource_name"] for one in told["unchanged"]] == ["a"]
