"""Abuse cases 1 to 13, through the API: refused quickly, without delaying other requests.

What is refused, and by which limit, is tested where templates are read (tests/unit/template/test_abuse.py).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api import things
from tests.api.conftest import Api, fault, resource, serving, template

HEAD = "heat_template_version: 2021-04-16\n"
# Far above what it takes here on an idle machine, far below what each of these would take if it were let in.
# On a busy machine; without limits these requests would take minutes.
QUICK_S = 20.0
HEATS = {"max_template_size": 524_288, "max_json_body_size": 2_000_000, "max_resources_per_stack": 1000,
         "max_files_size": 1_048_576}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """With the limits that Heat has by default."""
    with serving(tmp_path_factory.mktemp("limited"), **HEATS) as it:
        yield it


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return HEAD + "\n".join(lines)


def many(section: str, entry: Any) -> dict[str, Any]:
    return {"template": template({}, **{section: {f"n{number}": entry for number in range(10_000)}})}


def including(*names: str) -> dict[str, Any]:
    """Each includes the next, and the last one the first."""
    files = {name: json.dumps(template({"r": {"type": names[(at + 1) % len(names)]}})) for at, name in enumerate(names)}
    return {"template": template({"r": {"type": names[0]}}), "files": files}


def deep(depth: int) -> dict[str, Any]:
    files = {f"{level}.yaml": json.dumps(template({"r": {"type": f"{level + 1}.yaml"}})) for level in range(depth)}
    files[f"{depth}.yaml"] = json.dumps(template({"r": resource()}))
    return {"template": template({"r": {"type": "0.yaml"}}), "files": files}


def doubled(levels: int) -> Any:
    value: Any = "xxxxxxxxxx"
    for _ in range(levels):
        value = {"str_replace": {"template": "aaaaaaaaaa", "params": {"a": value}}}
    return value


def joined(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"list_join": [value, ["", "", "", "", "", "", "", "", "", "", ""]]}
    return value


REPEAT = {"repeat": {"template": "a-b-c-d-e-f", "for_each": {letter: list(range(100)) for letter in "abcdef"}}}
NESTED = {"repeat": {"template": {"repeat": {"template": "%a%", "for_each": {"%a%": list(range(10_000))}}},
                     "for_each": {"%b%": list(range(10_000))}}}

CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "1: aliases": lambda: {"template": bomb()},
    "1: aliases in a file": lambda: {"template": template({"r": {"type": "b.yaml"}}), "files": {"b.yaml": bomb()}},
    "1: aliases in an environment": lambda: {"template": template({}), "environment": bomb()},
    "1: aliases in papers": lambda: {"adopt_stack_data": bomb()},
    "2: itself": lambda: {"template": f"{HEAD}resources: &a {{r: *a}}\n"},
    "3: deep JSON": lambda: {"template": '{"heat_template_version": ' + "[" * 20_000 + "]" * 20_000 + "}"},
    "3: deep YAML": lambda: {"template": HEAD + "resources: " + "- " * 20_000 + "x"},
    "3: deep, in an environment": lambda: {"template": template({}), "environment": "[" * 20_000},
    "4: tags": lambda: {"template": f"{HEAD}description: !!python/object/apply:os.system ['true']\n"},
    "5: twice the same key": lambda: {"template": f"{HEAD}resources: {{}}\nresources: {{}}\n"},
    "6: too long": lambda: {"template": HEAD + "#" * 524_289},
    "6: long files": lambda: {"template": template({}), "files": {f"{n}": "x" * 100_000 for n in range(12)}},
    "6: many files": lambda: {"template": template({}), "files": {f"{n}": "" for n in range(100_000)}},
    "8: NUL": lambda: {"template": f"{HEAD}description: a\0b\n"},
    "8: a lone surrogate": lambda: {"template": HEAD + 'description: "\\ud800"\n'},
    "9: a name": lambda: {"template": template({"../a": resource()})},
    "11: parameters": lambda: many("parameters", {"type": "string", "default": "x"}),
    "11: outputs": lambda: many("outputs", {"value": "x"}),
    "11: conditions": lambda: many("conditions", {"equals": ["a", "b"]}),
    "11: conditions in a cycle": lambda: {"template": template({}, conditions={"a": {"not": "b"}, "b": {"not": "a"}})},
    "12: itself inside": lambda: including("a.yaml"),
    "12: two inside each other": lambda: including("a.yaml", "b.yaml"),
    "12: too deep": lambda: deep(6),
    "13: a group": lambda: {"template": template({"g": {"type": "OS::Heat::ResourceGroup", "properties": {
        "count": 10**9, "resource_def": resource()}}})},
    "13: groups in groups": lambda: {"template": template({"g": {"type": "OS::Heat::ResourceGroup", "properties": {
        "count": 1000, "resource_def": {"type": "OS::Heat::ResourceGroup", "properties": {
            "count": 1000, "resource_def": resource()}}}}})},
    "13: repeat": lambda: {"template": template({"r": resource(REPEAT)})},
    "13: repeat in repeat": lambda: {"template": template({"r": resource(NESTED)})},
    "13: str_replace": lambda: {"template": template({"r": resource(doubled(20))})},
    "13: list_join": lambda: {"template": template({"r": resource(joined(20))})},
    "13: in an output": lambda: {"template": template({}, outputs={"o": {"value": doubled(20)}})},
    "16: yaql": lambda: {"template": template({"r": resource({"yaql": {
        "expression": "range(1000000000).select($ * 2).sum()", "data": {}}})})},
}


def meanwhile(api: Api, path: str, asked: dict[str, Any]) -> tuple[Any, float, float]:
    """Return the response, its duration, and the longest delay of another request meanwhile."""
    with things.waiting_meanwhile(api, "/build_info") as slowest:
        start = time.monotonic()
        answer = api.post(path, asked)
        took = time.monotonic() - start
    return answer, took, slowest[0]


@pytest.mark.parametrize("path", ["/validate", "/stacks/preview"])
def test_a_big_valid_template_delays_no_other_request(api: Api, path: str) -> None:
    text = json.dumps(template({f"r{number}": resource("http://x") for number in range(10_000)}))
    # On a busy machine a single measurement says little: the best of five counts.
    shares = []
    for _ in range(5):
        answer, took, slowest = meanwhile(api, path, {"stack_name": "x", "template": text})
        assert answer.status_code == 200
        shares.append(slowest / took)
        if shares[-1] < 0.5:
            break
    assert min(shares) < 0.5


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_is_quick_and_delays_no_other_request(shared: Api, name: str) -> None:
    answer, took, slowest = meanwhile(shared, "/stacks", {"stack_name": "x", **CASES[name]()})
    assert fault(answer)[0] == 400, answer.text
    assert took < QUICK_S
    assert slowest < QUICK_S
    assert len(answer.text) < 20_000
    assert shared.get("/stacks").json() == {"stacks": []}


def test_case_8_wide_characters_stay_as_they_are(api: Api) -> None:
    text = "\U0001f600 ö \u202e"
    path = api.create("s", template=template({"r": resource(text)}, description=text, outputs={
        "o": {"value": text, "description": text}}), parameters={}, tags=text)
    stack = api.get(path).json()["stack"]
    assert (stack["description"], stack["outputs"][0]["output_value"], stack["tags"]) == (text, text, [text])
    assert api.patch(f"{path}/resources/r", {"mark_unhealthy": True, "resource_status_reason": text}).status_code == 200
    assert api.get(f"{path}/resources/r").json()["resource"]["resource_status_reason"] == text


@pytest.mark.parametrize("name", ["../x", "%2e%2e", "a\nb", "a;b", "a'b", 'a"b', "x" * 10_000, "", "\0", "1a", "a/b", "ä"])
def test_case_9_names_of_stacks(shared: Api, name: str) -> None:
    answer = shared.post("/stacks", {"stack_name": name, "template": template({})})
    assert fault(answer)[:2] == (400, "StackValidationFailed")
    assert shared.get("/stacks").json() == {"stacks": []}


def test_case_10_markup_is_data(shared: Api) -> None:
    text = "<script>alert(1)</script>"
    answer = shared.post("/stacks/preview", {"stack_name": "x", "template": template({}, description=text)})
    assert answer.json()["stack"]["description"] == text
    assert (answer.headers["content-type"], answer.headers["x-content-type-options"]) == ("application/json", "nosniff")
    refused = shared.get(f"/stacks/{text}")
    assert refused.headers["content-type"] in ("application/json", "text/html; charset=utf-8")
    assert refused.headers["content-type"] == "application/json" or text not in refused.text
