"""Stacks through the API: made, shown, changed, deleted; and what is refused, in which words."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

SHOWN = {"id", "links", "stack_name", "description", "template_description", "creation_time", "updated_time",
         "deletion_time", "stack_status", "stack_status_reason", "parameters", "outputs", "disable_rollback",
         "timeout_mins", "stack_owner", "parent", "stack_user_project_id", "tags", "capabilities", "notification_topics",
         # Not in Heat's answer.
         "protected", "generation", "operation_id", "timeout_s"}
GENERIC = "The server could not comply with the request since it is either malformed or otherwise incorrect."
TYPED = template(
    {"a": resource({"get_param": "word"}), "off": {**resource(), "condition": "never"}},
    description="What it is",
    parameters={"word": {"type": "string", "default": "w"}, "number": {"type": "number", "default": 7},
                "flag": {"type": "boolean", "default": True}, "items": {"type": "comma_delimited_list", "default": "a,b"},
                "data": {"type": "json", "default": {"k": [1]}},
                "secret": {"type": "string", "default": "s", "hidden": True},
                "fixed": {"type": "string", "default": "f", "immutable": True}},
    conditions={"never": {"equals": [1, 2]}},
    outputs={"o": {"value": {"get_attr": ["a", "output"]}}, "told": {"value": 1, "description": "One"},
             "gone": {"value": 2, "condition": "never"}})


# What a create answers, and a show.


def test_the_answer_to_a_create(shared: Api) -> None:
    answer = shared.post("/stacks", {"stack_name": "made", "template": TYPED})
    assert answer.status_code == 201
    id_ = answer.json()["stack"]["id"]
    href = f"http://isotherm.test/v1/default/stacks/made/{id_}"
    assert answer.json() == {"stack": {"id": id_, "links": [{"href": href, "rel": "self"}]}}
    assert answer.headers["Location"] == href


def test_all_that_a_show_tells(shared: Api) -> None:
    path = shared.create("shown", template=TYPED, timeout_mins="5", tags="x,y")
    stack = shared.get(path).json()["stack"]
    assert set(stack) == SHOWN
    assert stack["stack_status"] == "CREATE_COMPLETE"
    assert stack["stack_status_reason"] == "Stack CREATE completed successfully"
    assert stack["description"] == stack["template_description"] == "What it is"
    assert stack["parameters"] == {
        "OS::stack_id": stack["id"], "OS::stack_name": "shown", "OS::project_id": "default", "word": "w", "number": "7",
        "flag": "True", "items": "a,b", "data": '{"k": [1]}', "secret": "******", "fixed": "f"}
    assert sorted(stack["outputs"], key=lambda one: one["output_key"]) == [
        {"output_key": "gone", "description": "No description given", "output_value": None},
        {"output_key": "o", "description": "No description given", "output_value": "w"},
        {"output_key": "told", "description": "One", "output_value": 1}]
    assert (stack["disable_rollback"], stack["timeout_mins"], stack["tags"]) == (True, 5, ["x", "y"])
    assert (stack["parent"], stack["stack_user_project_id"]) == (None, None)
    assert (stack["capabilities"], stack["notification_topics"], stack["stack_owner"]) == ([], [], "isotherm")


def test_progress_and_drift_are_told_when_they_are_asked_for(shared: Api) -> None:
    path = shared.create("asked", template=TYPED)
    stack = shared.get(path, with_progress="true", resolve_outputs="false").json()["stack"]
    assert set(stack) == SHOWN - {"outputs"} | {"progress", "retained", "left_out", "drift"}
    assert stack["progress"]["states"] == {"DONE": 1}
    assert (stack["retained"], stack["drift"]) == ([], {"drifted": 0, "given_up": 0})
    listed = shared.get("/stacks", name="asked", with_drift="true").json()["stacks"][0]
    assert (listed["drift"], listed["template_description"]) == ({"drifted": 0, "given_up": 0}, "What it is")


def test_an_unknown_parameter_is_an_error_if_it_is_asked_for(shared: Api) -> None:
    path = shared.create("strict", template=TYPED)
    body = {"parameters": {"wrod": "x"}}
    assert shared.patch(path, {**body, "strict": True}).json()["error"]["type"] == "UnknownUserParameter"
    assert shared.patch(path, body).status_code == 202
    shared.end(path)


def test_what_was_not_asked_for(shared: Api) -> None:
    path = shared.create("bare", timeout_mins=0)
    stack = shared.get(path).json()["stack"]
    assert (stack["timeout_mins"], stack["tags"], stack["updated_time"]) == (None, [], None)
    assert stack["description"] == "No description"


def test_outputs_are_left_out_on_request(shared: Api) -> None:
    path = shared.create("quiet", template=TYPED)
    assert "outputs" not in shared.get(path, resolve_outputs="False").json()["stack"]
    assert fault(shared.get(path, resolve_outputs="no")) == (
        400, "HTTPBadRequest", 'Unrecognized value "no" for "resolve_outputs", acceptable values are: true, false.')


def test_both_name_and_id_must_be_right(shared: Api) -> None:
    path = shared.create("right")
    id_ = path.rpartition("/")[2]
    assert fault(shared.get(f"/stacks/wrong/{id_}"))[:2] == (404, "EntityNotFound")
    assert fault(shared.get("/stacks/right/4f2b7cde-0000-4000-8000-000000000000"))[:2] == (404, "EntityNotFound")


def test_a_deleted_stack_can_still_be_looked_at_by_its_id(shared: Api) -> None:
    path = shared.create("ended", {"a": resource()}, files={"f": "x"})
    assert shared.delete(path).status_code == 204
    assert shared.end(path)["stack_status"] == "DELETE_COMPLETE"
    stack = shared.get(path).json()["stack"]
    assert stack["deletion_time"]
    assert "outputs" not in stack
    for part in ("template", "environment", "files"):
        assert shared.get(f"{path}/{part}").status_code == 200
    assert fault(shared.delete(path))[0] == 404
    assert fault(shared.put(path, {"template": template({})}))[0] == 404
    assert fault(shared.get("/stacks/ended"))[0] == 404
    assert shared.get(f"/stacks/{path.rpartition('/')[2]}").status_code == 302


def test_the_same_name_twice(shared: Api) -> None:
    shared.create("twice")
    assert fault(shared.post("/stacks", {"stack_name": "twice", "template": template({})})) == (
        409, "StackExists", "The Stack (twice) already exists.")


# The body.


@pytest.mark.parametrize(("body", "expected"), [
    ({"template": {}}, ("HTTPBadRequest", "No stack name specified")),
    ({"stack_name": "x"}, ("HTTPBadRequest", "No template specified")),
    ({"stack_name": "x", "template": None}, ("HTTPBadRequest", "No template specified")),
    ({"stack_name": "x", "template": [1]}, ("HTTPBadRequest", GENERIC)),
    ({"stack_name": 3, "template": {}}, ("HTTPBadRequest", GENERIC)),
    ({"stack_name": "x", "template": "a: b"},
     ("HTTPBadRequest", "Template not in valid format: Template format version not found.")),
    ({"stack_name": "x", "template": {"a": "b"}},
     ("InvalidTemplateVersion", "The template version is invalid: Template version was not provided")),
    ({"stack_name": "1x", "template": template({})}, ("StackValidationFailed", (
        'Invalid stack name 1x must contain only alphanumeric or "_-." characters, must start with alpha and must be 255 '
        "characters or less."))),
    ({"timeout_mins": "soon"}, ("HTTPBadRequest", "Only integer is acceptable by 'timeout_mins'.")),
    ({"timeout_mins": -1},
     ("HTTPBadRequest", "Value '-1' is invalid for 'timeout_mins' which only accepts non-negative integer.")),
    ({"tags": ["a", 1]}, ("AttributeError", "tags must be a text, with commas between the tags.")),
    ({"tags": "x" * 81}, ("HTTPBadRequest", f'Invalid tag, "{"x" * 81}" is longer than 80 characters')),
    ({"converge": True}, ("HTTPBadRequest", "converge flag only supported in stack update (or update preview) request.")),
    ({"stack_name": "x", "template": template({}), "disable_rollback": "perhaps"}, (
        "ValueError", 'Unrecognized value "perhaps" for "disable_rollback", acceptable values are: true, false.')),
    ({"stack_name": "x", "template": template({}), "parameters": None}, ("HTTPBadRequest", GENERIC)),
    ({"stack_name": "x", "template": template({}), "parameters": {"p": 1}},
     ("UnknownUserParameter", "The Parameter (p) was not defined in template.")),
    ({"stack_name": "x", "template": template({}), "files": ["f"]}, ("HTTPBadRequest", GENERIC)),
    ({"stack_name": "x", "template": template({}), "environment": {"nonsense": {}}},
     ("HTTPBadRequest", 'Environment not in valid format: environment has wrong section "nonsense"')),
    ({"stack_name": "x", "template": template({}), "environment": "parameters:"},
     ("HTTPBadRequest", 'Environment not in valid format: environment has empty section "parameters"')),
    ({"stack_name": "x", "template": template({}), "environment_files": ["missing"]},
     ("KeyError", "The environment file missing is not among the files.")),
    ({"stack_name": "x", "template": template({}, parameters={"p": {"type": "string"}})},
     ("UserParameterMissing", "The Parameter (p) was not provided.")),
    ({"stack_name": "x", "template": template({"r": resource({"get_param": "missing"})})}, ("StackValidationFailed", (
        "Property error: : resources.r.properties.value: : The Parameter (missing) was not provided."))),
    ({"stack_name": "x", "template_url": "file:///etc/passwd"}, ("HTTPBadRequest", None)),
    ({"stack_name": "x", "adopt_stack_data": {"template": {}}}, ("HTTPBadRequest", GENERIC)),
    ({"stack_name": "x", "adopt_stack_data": "{}"}, ("HTTPBadRequest", "Invalid adopt data: 'template'")),
    ({"stack_name": "x", "template": template({}), "files_container": "c"}, (
        "NotSupported", "files_container names a container of Swift, and the request names no cloud.")),
])
def test_what_is_refused(shared: Api, body: Any, expected: Any) -> None:
    status, kind, message = fault(shared.post("/stacks", body))
    assert (status, kind) == (400, expected[0])
    assert expected[1] is None or message == expected[1]
    assert fault(shared.get("/stacks/x/x"))[0] == 404


def test_a_template_that_cannot_be_read(shared: Api) -> None:
    status, kind, message = fault(shared.post("/stacks", {"stack_name": "x", "template": "{"}))
    assert (status, kind) == (400, "HTTPBadRequest")
    assert message.startswith("Template not in valid format: Error parsing template [root stack] ")


def test_a_circle(shared: Api) -> None:
    circle = {"a": {**resource(), "depends_on": "b"}, "b": {**resource(), "depends_on": "a"}}
    status, kind, message = fault(shared.post("/stacks", {"stack_name": "x", "template": template(circle)}))
    assert (status, kind) == (400, "CircularDependencyException")
    assert message.startswith("Circular Dependency Found: ")


def test_no_body_or_one_that_does_not_count(shared: Api) -> None:
    assert fault(shared.post("/stacks")) == (400, "HTTPBadRequest", GENERIC)
    assert fault(shared.ask("POST", "/stacks", content=b"[1]")) == (400, "HTTPBadRequest", GENERIC)
    assert fault(shared.ask("POST", "/stacks", content=b"{}", headers={"Content-Type": "text/xml"}))[2] == GENERIC
    assert fault(shared.ask("POST", "/stacks", content=b"{]"))[:2] == (400, "HTTPBadRequest")


@pytest.mark.parametrize("text", [json.dumps(TYPED), "heat_template_version: 2021-04-16\nresources: {}\n"])
def test_a_template_as_text(shared: Api, text: Any) -> None:
    name = f"text{len(text)}"
    path = shared.create(name, template=text)
    assert shared.get(f"{path}/template").json()["heat_template_version"] == "2021-04-16"


@contextmanager
def served(text: Any) -> Iterator[Any]:
    """Yield the URL of a server that answers every request with this text."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if text else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/t.yaml"
        server.shutdown()
        thread.join()


def test_a_template_by_its_address(with_options: Callable[..., Api]) -> None:
    api = with_options(allowed_fetch_networks=("127.0.0.0/8",))
    with served(json.dumps(ONE)) as url:
        path = api.create("fetched", template_url=url, template=ONE)
        assert api.get(f"{path}/template").json() == ONE  # the one in the body, if there is one
        answer = api.post("/stacks", {"stack_name": "again", "template_url": url, "parameters": {"p": "q"}})
        assert answer.status_code == 201
        assert api.get(f"/stacks/again/{answer.json()['stack']['id']}/template").json() == ONE
        assert api.patch(path, {"template_url": url}).status_code == 202
    with served("") as url:
        status, kind, message = fault(api.post("/stacks", {"stack_name": "x", "template_url": url}))
        assert (status, kind) == (400, "HTTPBadRequest")
        assert message.startswith("Could not retrieve template: ")
    for url in (None, 7):
        assert fault(api.post("/stacks", {"stack_name": "x", "template_url": url}))[0] == 400


def test_an_address_that_is_none_of_our_business(shared: Api) -> None:
    with served(json.dumps(ONE)) as url:
        assert fault(shared.post("/stacks", {"stack_name": "x", "template_url": url}))[0] == 400


def test_an_empty_tag_is_a_tag(shared: Api) -> None:
    assert shared.get(shared.create("tagged", tags="")).json()["stack"]["tags"] == [""]


# Where values come from.


ONE = template({"a": resource({"get_param": "p"})}, parameters={"p": {"type": "string", "default": "template"}})


@pytest.mark.parametrize(("body", "value"), [
    ({}, "template"),
    ({"environment": {"parameter_defaults": {"p": "default"}}}, "default"),
    ({"environment": "parameters: {p: environment}"}, "environment"),
    ({"environment": {"parameters": {"p": "environment"}}, "parameters": {"p": "request"}}, "request"),
    ({"environment": {"parameters": {"p": "environment"}}, "parameters": {"p": "request"}, "environment_files": ["e"],
      "files": {"e": "parameters: {p: file}"}}, "file"),
    ({"environment_files": ["e", "f"], "files": {"e": "parameters: {p: first}", "f": "parameters: {p: second}"}}, "second"),
    ({"environment": {"parameters": {"p": "environment"}}, "environment_files": []}, "environment"),
    ({"parameters": {"p": None}}, "template"),
])
def test_the_later_source_of_a_value_wins(shared: Api, body: Any, value: Any) -> None:
    name = f"wins{abs(hash(json.dumps(body)))}"
    path = shared.create(name, template=ONE, **body)
    assert shared.get(path).json()["stack"]["parameters"]["p"] == value


def test_environment_files_may_say_how_to_merge(shared: Api) -> None:
    wanted = template({}, parameters={"items": {"type": "comma_delimited_list"}})
    merging = "parameters: {items: 'b'}\nparameter_merge_strategies: {items: merge}"
    path = shared.create("merging", template=wanted, parameters={"items": "a"}, environment_files=["e"],
                         files={"e": merging})
    assert shared.get(path).json()["stack"]["parameters"]["items"] == "a,b"


# Updates.


def test_an_update_says_everything_anew(shared: Api) -> None:
    path = shared.create("anew", template=ONE, parameters={"p": "1"}, tags="t", timeout_mins=9, disable_rollback=False,
                         files={"f": "text"}, environment={"parameter_defaults": {"p": "d"}})
    answer = shared.put(path, {"template": ONE})
    assert answer.status_code == 202
    assert answer.headers["content-type"].startswith("text/html")
    stack = shared.end(path)
    assert stack["stack_status"] == "UPDATE_COMPLETE"
    assert (stack["parameters"]["p"], stack["tags"], stack["timeout_mins"], stack["disable_rollback"]) == (
        "template", [], 9, False)
    assert stack["updated_time"]
    assert shared.get(f"{path}/files").json() == {}
    assert fault(shared.put(path, {})) == (400, "HTTPBadRequest", "No template specified")
    assert fault(shared.put(path, {"template": ONE, "parameters": {"q": "1"}}))[1] == "UnknownUserParameter"


def test_a_patch_keeps_what_it_does_not_mention(shared: Api) -> None:
    two = template({"a": resource({"get_param": "p"})}, parameters={
        "p": {"type": "string", "default": "template"}, "q": {"type": "string", "default": "template"}})
    path = shared.create("kept", template=two, parameters={"p": "1", "q": "2"}, tags="t", files={"f": "text"})
    assert shared.patch(path, {"parameters": {"q": "3", "unknown": "x"}, "files": {"g": "more"}}).status_code == 202
    stack = shared.end(path)
    assert (stack["parameters"]["p"], stack["parameters"]["q"], stack["tags"]) == ("1", "3", ["t"])
    assert shared.get(f"{path}/files").json() == {"f": "text", "g": "more"}
    assert shared.patch(path, {"clear_parameters": ["p"], "tags": "u", "parameters": {"q": None}}).status_code == 202
    stack = shared.end(path)
    assert (stack["parameters"]["p"], stack["parameters"]["q"], stack["tags"]) == ("template", "template", ["u"])
    assert fault(shared.patch(path, {"clear_parameters": "p"})) == (400, "HTTPBadRequest", GENERIC)


@pytest.mark.parametrize(("body", "rule"), [
    ({}, "stacks:update_no_change"), ({"parameters": {}, "files": {}}, "stacks:update_no_change"),
    ({"parameters": {"p": "2"}}, "stacks:update_patch"), ({"tags": "x"}, "stacks:update_patch"),
])
def test_doing_it_again_has_a_rule_of_its_own(shared: Api, body: Any, rule: Any) -> None:
    path = shared.create(f"again{abs(hash(str(body)))}", template=ONE)
    shared.rules.asked.clear()
    assert shared.patch(path, body).status_code == 202
    assert ("stacks:update_patch" in shared.rules.asked) == (rule == "stacks:update_patch")
    shared.end(path)


def test_what_may_not_change(shared: Api) -> None:
    path = shared.create("fixed", template=TYPED)
    message = "The following parameters are immutable and may not be updated: fixed"
    for ask in (shared.put, shared.patch):
        assert fault(ask(path, {"template": TYPED, "parameters": {"fixed": "other"}})) == (
            400, "ImmutableParameterModified", message)
    assert fault(shared.put(f"{path}/preview", {"template": TYPED, "parameters": {"fixed": "other"}}))[2] == message


def test_an_update_calls_a_delete_off(api: Api) -> None:
    path = api.create("going", {"a": resource("1"), "b": resource("2", action_wait_secs={"delete": 600})})
    assert api.delete(path).status_code == 204
    assert api.put(path, {"template": template({"a": resource("3")})}).status_code == 202
    assert api.get(path).json()["stack"]["stack_status"] == "UPDATE_IN_PROGRESS"


# What belongs to a stack.


def test_template_environment_and_files(shared: Api) -> None:
    inner = "heat_template_version: 2021-04-16\nparameters: {v: {type: string, hidden: true}}\n"
    wanted = template({"child": {"type": "inner.yaml", "properties": {"v": {"get_param": "secret"}}}},
                      parameters={"secret": {"type": "string", "hidden": True}})
    path = shared.create("papers", template=wanted, files={"inner.yaml": inner}, environment={
        "parameters": {"secret": "a-marker"}, "resource_registry": {"My::Type": "OS::Heat::None"}})
    assert shared.get(f"{path}/template").json() == wanted
    assert shared.get(f"{path}/files").json() == {"inner.yaml": inner}
    assert shared.get(f"{path}/environment").json() == {
        "parameters": {"secret": "******"}, "parameter_defaults": {}, "event_sinks": [], "encrypted_param_names": [],
        "resource_registry": {"resources": {}, "My::Type": "OS::Heat::None", "inner.yaml": "inner.yaml"}}
