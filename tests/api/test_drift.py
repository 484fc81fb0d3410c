"""Drift over HTTP: views of a stack and a resource, policies, hints, pauses, events and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from isotherm.observer.service import Tuning
from tests.api.conftest import PATIENCE_S, ROOT, Api, fault, serving

pytestmark = pytest.mark.ledger("S1.5")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Api]:
    """Serve an API with an observer whose interval is so long that only hints cause observations."""
    with serving(tmp_path, observer_interval=3600.0) as api:
        stack = AsyncExitStack()
        api.run(stack.enter_async_context(api.engine.observing(Tuning(idle_s=0.02, enrol_s=0.05))))
        try:
            yield api
        finally:
            api.run(stack.aclose())


def file(content: str = "right", **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Local::File", "properties": {"path": "a.txt", "content": content}, **more}


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def drift(api: Api, path: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"{path}/drift", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["drift"]
    return found


def test_a_hint_leads_to_a_look_and_the_look_is_shown(watched: Api) -> None:
    path = watched.create("s", {"f": file()})
    place = watched.engine.path / "local" / "a.txt"
    until(lambda: drift(watched, path)["drift"] == "in_sync")
    place.write_text("wrong")
    assert drift(watched, path)["drift"] == "in_sync", "nobody has looked"
    answer = watched.post(f"{path}/resources/f/observe")
    assert (answer.status_code, answer.json()) == (202, None)
    until(lambda: drift(watched, path)["drift"] == "drifted")
    found = drift(watched, f"{path}/resources/f")
    assert (found["drift"], found["resource_name"], found["policy"]) == ("drifted", "f", "report")
    [one] = found["properties"]
    assert one == {"property": "content", "wanted": "right", "applied": "right", "live": "wrong", "change_pending": False}
    assert (found["applied"]["path"], found["applied"]["content"]) == ("a.txt", "right")
    # Drift is no step of the operation: no time and no path of it changes.
    operation, = watched.get(f"{path}/operations").json()["operations"]
    line = watched.get(f"{path}/operations/{operation['id']}/timeline").json()["timeline"]
    assert [span[2] for span in line["spans"]] == ["CREATE"]
    why = watched.get(f"{path}/resources/f/why").json()["why"]
    assert ([one["action"] for one in why["attempts"]], why["resource"]["since"]) == (["CREATE"], line["spans"][0][6])
    place.unlink()
    assert watched.post(f"{path}/observe").status_code == 202
    until(lambda: drift(watched, path)["counts"]["gone"] == 1)
    numbers = watched.get(f"{ROOT}/metrics").text
    assert "isotherm_drifted_resources 1.0" in numbers and "isotherm_watched_stacks 1.0" in numbers


@pytest.mark.parametrize(("below", "body"), [("", None), ("", {"resources": ["f"]}), ("/resources/f", None)])
def test_an_observation_can_be_waited_for(api: Api, below: str, body: Any) -> None:
    """No observer runs: the request itself observes."""
    path = api.create("s", {"f": file()})
    (api.engine.path / "local" / "a.txt").write_text("wrong")
    assert api.post(f"{path}{below}/observe?wait=true", body).status_code == 202
    assert drift(api, path)["drift"] == "drifted"


def test_under_repair_it_heals_and_events_tell(watched: Api) -> None:
    path = watched.create("s", {"f": file()})
    place = watched.engine.path / "local" / "a.txt"
    answer = watched.put(f"{path}/drift", {"policy": "repair", "interval": 0.05})
    assert (answer.json()["drift"]["policy"], answer.json()["drift"]["interval"]) == ("repair", 0.05)
    place.unlink()
    until(place.exists)
    until(lambda: drift(watched, path)["drift"] == "in_sync")
    assert _told(watched, path) == ["Drift seen: it is gone", "Drift is gone"]
    assert watched.end(path)["stack_status"] == "UPDATE_COMPLETE"


def _told(api: Api, path: str) -> list[str]:
    found = api.get(f"{path}/events", sort_dir="asc").json()["events"]
    return [one["resource_status_reason"] for one in found if one["resource_status"] == "OBSERVE_COMPLETE"]


def test_what_is_said_of_a_resource_comes_first(watched: Api) -> None:
    path = watched.create("s", {"f": file(metadata={"isotherm": {"drift": "ignore"}})})
    assert drift(watched, f"{path}/resources/f")["policy"] == "ignore"
    assert watched.put(f"{path}/resources/f/drift", {"policy": "repair"}).json()["drift"]["policy"] == "repair"
    assert watched.put(f"{path}/drift", {"policy": "ignore"}).status_code == 200
    assert drift(watched, f"{path}/resources/f")["policy"] == "repair"
    assert watched.put(f"{path}/resources/f/drift", {"policy": None}).json()["drift"]["policy"] == "ignore"


def test_a_project_can_be_paused(watched: Api) -> None:
    path = watched.create("s", {"f": file()})
    assert watched.get("/drift").json() == {"drift": {"mode": "active"}}
    assert watched.put("/drift", {"mode": "maintenance"}).json() == {"drift": {"mode": "maintenance"}}
    assert drift(watched, path)["mode"] == "maintenance"
    assert watched.put("/drift", {"mode": "active"}).status_code == 200
    assert drift(watched, path)["mode"] == "active"
    assert watched.put(f"{path}/drift", {"mode": "paused"}).json()["drift"]["mode"] == "paused"


@pytest.mark.parametrize(("where", "body"), [
    ("/drift", {"policy": "mend"}), ("/drift", {"policy": 5}), ("/drift", {"interval": -1}), ("/drift", {"interval": "x"}),
    ("/drift", {"mode": None}), ("/drift", {"other": 1}), ("/drift", {}), ("/resources/f/drift", {"mode": "paused"}),
])
def test_what_makes_no_sense_is_refused(api: Api, where: str, body: Any) -> None:
    path = api.create("s", {"f": file()})
    assert fault(api.put(f"{path}{where}", body))[0] == 400


def test_what_is_not_there_is_not_found(api: Api) -> None:
    path = api.create("s", {"f": file()})
    assert fault(api.get(f"{path}/resources/nobody/drift"))[:2] == (404, "ResourceNotFound")
    assert fault(api.post(f"{path}/resources/nobody/observe"))[0] == 404
    assert fault(api.put(f"{path}/resources/nobody/drift", {"policy": "report"}))[0] == 404
    with api.somebody("another"):
        assert fault(api.get(f"{path}/drift"))[0] == 404


def test_secrets_are_not_told(watched: Api) -> None:
    path = watched.create("s", template={
        "heat_template_version": "2021-04-16", "parameters": {"p": {"type": "string", "hidden": True}},
        "resources": {"f": {"type": "Isotherm::Local::File",
                            "properties": {"path": "a.txt", "content": {"get_param": "p"}}}}},
        parameters={"p": "sesame-open"})
    (watched.engine.path / "local" / "a.txt").write_text("sesame-open and more")
    watched.post(f"{path}/observe")
    until(lambda: drift(watched, path)["drift"] == "drifted")
    assert "sesame" not in watched.get(f"{path}/drift").text
    assert "sesame" not in watched.get(f"{path}/events").text
