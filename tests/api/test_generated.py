"""What schemathesis makes up from our own document, right and wrong: whatever is asked, nothing ends in a defect.

Each operation is asked with whatever path is made up, and then with that of things that there are, so that not all ends
with "there is no such stack". What is made up is the same each time.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.core import NotSet
from schemathesis.generation import GenerationMode

from isotherm.api.handlers import stream
from isotherm.api.openapi import document
from tests.api import things
from tests.api.conftest import ROOT, TOKEN, Api, fault

# So many for each operation, right and wrong, made-up path and real one. More are for a long night.
EXAMPLES = int(os.environ.get("ISOTHERM_EXAMPLES", "5"))
SCHEMA = schemathesis.openapi.from_dict(document.document())
OPERATIONS = {f"{one.method.upper()} {one.path}": one for one in (found.ok() for found in SCHEMA.get_all_operations())}
SETTINGS = hypothesis.settings(max_examples=EXAMPLES, database=None, deadline=None, derandomize=True,
                               phases=[hypothesis.Phase.generate],
                               suppress_health_check=list(hypothesis.HealthCheck))
# Nothing can be wrong where nothing is asked for.
PLAIN = ("/healthcheck", "/health/ready", "/metrics", document.PATH)
ASKED = [(name, mode) for name, one in OPERATIONS.items() for mode in GenerationMode
         if one.path not in PLAIN or mode is GenerationMode.POSITIVE]


@pytest.fixture(scope="module")
def known(shared: Api) -> dict[str, str]:
    return things.made(shared)


def asked(api: Api, case: Any) -> Any:
    """Ask what was made up, as the one who may ask everything."""
    given = case.as_transport_kwargs(base_url=ROOT)
    headers = {name: value for name, value in given["headers"].items() if name.lower() != "x-auth-token"}
    body = {"json": given["json"]} if "json" in given else {"content": given["data"]} if "data" in given else {}
    if isinstance(body.get("content"), NotSet):
        body = {}
    return api.ask(given["method"], given["url"], params=given["params"], headers={**headers, "X-Auth-Token": TOKEN},
                   **body)


def judge(case: Any, answer: Any) -> None:
    """Never a defect; and what is refused is refused in one form."""
    assert answer.status_code < 500, (case.method, case.formatted_path, case.query, case.body, answer.text)
    if answer.status_code >= 400 and answer.headers["content-type"] == "application/json":
        fault(answer)


@pytest.fixture(autouse=True)
def no_endless_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is read to its end here: it must have one."""
    async def nothing(*_: Any) -> Any:
        if False:
            yield b""
    monkeypatch.setattr(stream, "_lines", nothing)


def ask_all(api: Api, operation: Any, mode: GenerationMode, **given: Any) -> list[int]:
    """The statuses of the answers."""
    statuses = []

    @SETTINGS
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode, **given))
    def ask(case: Any) -> None:
        answer = asked(api, case)
        judge(case, answer)
        statuses.append(answer.status_code)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what schemathesis has to say of its own parts
        ask()
    return statuses


@pytest.mark.parametrize(("name", "mode"), ASKED, ids=lambda one: getattr(one, "value", one))
def test_nothing_that_can_be_asked_is_a_defect(shared: Api, known: dict[str, str], name: str, mode: GenerationMode) -> None:
    operation = OPERATIONS[name]
    ask_all(shared, operation, mode)
    inside = {one.name: known[one.name] for one in operation.path_parameters}
    if not inside or name.startswith("DELETE"):
        return
    statuses = ask_all(shared, operation, mode, path_parameters=inside)
    if name.startswith("GET") and mode is GenerationMode.POSITIVE:
        assert min(statuses) < 400, statuses
