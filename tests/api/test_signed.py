"""Signals at signed URLs: cases 52 to 57. A URL is good for one version of one resource, and for nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from isotherm.api import routes
from isotherm.api.handlers import signed_signals
from isotherm.secrets import key_ring
from isotherm.secrets.signing import Signer
from tests import patience
from tests.api.conftest import PATIENCE_S, ROOT, Api, fault, resource, template

SUCCESS = {"status": "SUCCESS"}


def waiting(count: int = 1, **handle: Any) -> dict[str, Any]:
    return {
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": handle},
        "wait": {"type": "OS::Heat::WaitCondition", "properties": {
            "handle": {"get_resource": "handle"}, "timeout": 600, "count": count}},
    }


def attributes(api: Any, path: str, name: str = "handle") -> dict[str, Any]:
    """Wait until a resource is created; return its attributes."""
    until = time.monotonic() + PATIENCE_S
    while True:
        found = api.get(f"{path}/resources/{name}").json()["resource"]
        if found["resource_status"] == "CREATE_COMPLETE":
            attributes: dict[str, Any] = found["attributes"]
            return attributes
        assert time.monotonic() < until, found
        time.sleep(0.02)


def anybody(api: Any, method: str, url: str, body: Any = None, **options: Any) -> Any:
    """Send a request without a token."""
    api.token = None
    try:
        return api.ask(method, url, body, **options)
    finally:
        api.token = "a-token-for-tests"


def refused(api: Any, method: str, url: str) -> bool:
    answer = anybody(api, method, url, SUCCESS)
    assert fault(answer) == (403, "Forbidden", "The URL has no valid signature for this request, or has expired."), url
    return True


def signals(api: Any, path: str, name: str = "handle") -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{path}/resources/{name}/metadata").json()["metadata"]
    return found


def test_a_handle_has_an_address_that_takes_signals(api: Api) -> None:
    path = api.create("s", waiting(2), wait=False)
    found = attributes(api, path)
    url = found["endpoint"]
    assert url.startswith(f"{ROOT}/v1/default/signal/")
    assert url.endswith(f"&signature={found['token']}")
    assert found["curl_cli"].endswith(f" '{url}'") and found["curl_cli"].startswith("curl -i -X POST ")
    assert anybody(api, "POST", url).status_code == 200  # nothing said: that is a success
    # As curl sends it by itself: not called JSON.
    answer = anybody(api, "POST", url, content=json.dumps({**SUCCESS, "id": "two", "data": 7}),
                     headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status_code, answer.content) == (200, b"null")
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert signals(api, path)["two"] == {"status": "SUCCESS", "reason": "Signal 2 received", "data": 7}


def test_after_all_have_come_no_more_do(api: Api) -> None:
    """Case 52: replayed after completion, and after the stack is gone."""
    path = api.create("s", waiting(), wait=False)
    url = attributes(api, path)["endpoint"]
    assert anybody(api, "POST", url, SUCCESS).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    before, events = signals(api, path), len(api.get(path + "/events").json()["events"])
    status, kind, message = fault(anybody(api, "POST", url, SUCCESS))
    assert (status, kind) == (409, "Conflict") and "No resource waits" in message
    assert anybody(api, "POST", url, {"status": "FAILURE"}).status_code == 409
    assert signals(api, path) == before
    assert len(api.get(path + "/events").json()["events"]) == events
    assert api.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    api.delete(path)
    api.end(path)
    assert anybody(api, "POST", url, SUCCESS).status_code == 404


def test_a_failure_ends_the_wait(api: Api) -> None:
    path = api.create("s", waiting(3), wait=False)
    url = attributes(api, path)["endpoint"]
    assert anybody(api, "POST", url, {"status": "FAILURE", "reason": "no disk"}).status_code == 200
    assert "no disk" in api.end(path)["stack_status_reason"]
    assert anybody(api, "POST", url, SUCCESS).status_code == 409


def test_a_signature_is_for_one_resource_one_method_and_one_spelling(api: Api) -> None:
    """Case 53."""
    two = {**waiting(), "handle2": {"type": "OS::Heat::WaitConditionHandle"}}
    path = api.create("s", two, wait=False)
    one, other = attributes(api, path)["endpoint"], attributes(api, path, "handle2")["endpoint"]
    query, there = urlsplit(one).query, other.partition("?")[0]
    here = one.partition("?")[0]
    stack_id = path.rsplit("/", 1)[1]
    assert refused(api, "POST", f"{there}?{query}")
    assert refused(api, "PUT", one)
    assert refused(api, "POST", one.replace(stack_id, stack_id.upper()))
    assert refused(api, "POST", one.replace(stack_id, "%" + format(ord(stack_id[0]), "x") + stack_id[1:]))
    assert refused(api, "POST", one.replace("/v1/", "/v1.0/"))
    assert refused(api, "POST", one.replace("/default/", "/other/"))
    assert refused(api, "POST", one.replace("/default/", "/%64efault/"))
    assert refused(api, "POST", f"{here}?{query}&more=1")
    assert refused(api, "POST", f"{here}?{query}&{query}")
    for method in ("GET", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        assert anybody(api, method, one).status_code == 403
    # It is no token either, and a token makes nothing good.
    signature = parse_qs(query)["signature"][0]
    assert api.ask("GET", path, headers={"X-Auth-Token": signature}).status_code == 401
    assert api.ask("POST", here, SUCCESS).status_code == 403
    assert signals(api, path) == {}
    assert anybody(api, "POST", one, SUCCESS).status_code == 200


def test_a_signature_ends(api: Api) -> None:
    """Case 54: shifted, expired, missing, empty."""
    path = api.create("s", waiting(), wait=False)
    url = attributes(api, path)["endpoint"]
    here, query = url.partition("?")[0], parse_qs(urlsplit(url).query)
    until, signature = int(query["expires"][0]), query["signature"][0]
    left = until - time.time()
    assert 29 * 24 * 3600 < left <= 30 * 24 * 3600
    over = int(time.time()) - 1
    expired = api.engine.signer.sign("POST", urlsplit(url).path, over)
    for wrong in (
        "", "expires=&signature=", f"signature={signature}", f"expires={until}",
        f"expires={until + 1}&signature={signature}",
        f"expires=0{until}&signature={signature}", f"expires=%2B{until}&signature={signature}",
        f"expires={until}&signature={signature[:-1]}", f"expires={until}&signature={signature.upper()}",
        f"expires={until}&signature=%C3%A9", f"expires={over}&signature={expired}", "expires=x&signature=y",
        f"expires={'9' * 400}&signature={signature}", f"expires=%D9%A3&signature={signature}",
    ):
        assert refused(api, "POST", f"{here}?{wrong}")
    assert signals(api, path) == {}


def test_lifetime_and_address_are_set(with_options: Callable[..., Api]) -> None:
    api = with_options(signal_url_lifetime=60, heat_waitcondition_server_url="https://cloud.example/heat/v1/waitcondition")
    path = api.create("s", waiting(), wait=False)
    url = attributes(api, path)["endpoint"]
    assert url.startswith("https://cloud.example/heat/v1/default/signal/")
    assert int(parse_qs(urlsplit(url).query)["expires"][0]) <= time.time() + 60
    # A proxy may remove a part of the path before /v1.
    answer = anybody(api, "POST", ROOT + url.removeprefix("https://cloud.example/heat"), SUCCESS)
    assert answer.status_code == 200, answer.text


def test_an_address_stays_the_same(api: Api) -> None:
    """The URL stays the same between two reads."""
    path = api.create("s", waiting(), wait=False)
    first = attributes(api, path)["endpoint"]
    second = int(time.time())
    patience.until(lambda: int(time.time()) > second)
    assert attributes(api, path)["endpoint"] == first


def test_too_much_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 56: too long, too deep, no object, too often."""
    path = api.create("s", waiting(500), wait=False)
    url = attributes(api, path)["endpoint"]
    assert fault(anybody(api, "POST", url, {"data": "x" * 10_000_000}))[:2] == (413, "RequestLimitExceeded")
    for depth in (100, 100_000):
        text = '{"data": ' + "[" * depth + "]" * depth + "}"
        assert anybody(api, "POST", url, content=text).status_code == 400
    for text in ("[]", "nonsense", "7", '{"status": "PERHAPS"}', '{"more": 1}', '{"unset_hook": "pre-create"}'):
        assert anybody(api, "POST", url, content=text).status_code == 400, text
    assert signals(api, path) == {}
    monkeypatch.setattr(signed_signals, "RATE", signed_signals.SignalRate())
    monkeypatch.setattr(signed_signals, "BURST", 20)
    monkeypatch.setattr(signed_signals, "EACH_SECOND", 0)
    statuses = [anybody(api, "POST", url, SUCCESS).status_code for _ in range(25)]
    assert statuses == [200] * 20 + [429] * 5
    assert len(signals(api, path)) == 20
    # Other resources are not held up.
    other = api.create("t", waiting(), wait=False)
    assert anybody(api, "POST", attributes(api, other)["endpoint"], SUCCESS).status_code == 200


def test_one_limit_holds_for_signals_with_a_signature_and_with_a_token(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = api.create("s", waiting(500), wait=False)
    url = attributes(api, path)["endpoint"]
    monkeypatch.setattr(signed_signals, "RATE", signed_signals.SignalRate())
    monkeypatch.setattr(signed_signals, "BURST", 10)
    monkeypatch.setattr(signed_signals, "EACH_SECOND", 0)
    with_token = [api.post(f"{path}/resources/handle/signal", SUCCESS) for _ in range(6)]
    with_signature = [anybody(api, "POST", url, SUCCESS) for _ in range(6)]
    assert [one.status_code for one in with_token] == [200] * 6
    assert [one.status_code for one in with_signature] == [200] * 4 + [429] * 2
    refused = api.post(f"{path}/resources/handle/signal", SUCCESS)
    assert fault(refused)[:2] == (429, "RequestLimitExceeded")
    assert refused.headers["retry-after"]
    assert len(signals(api, path)) == 10
    # A resource that has no version yet is counted by its name; the others of the stack are not held up.
    missing = [fault(api.post(f"{path}/resources/none/signal", SUCCESS))[0] for _ in range(12)]
    assert missing == [404] * 10 + [429] * 2


def test_a_hook_is_not_cleared_by_a_signed_signal(api: Api) -> None:
    environment = {"resource_registry": {"resources": {"wait": {"hooks": "pre-create"}}}}
    path = api.create("s", waiting(), wait=False, environment=environment)
    url = attributes(api, path)["endpoint"]
    assert anybody(api, "POST", url, {"unset_hook": "pre-create"}).status_code == 400
    assert anybody(api, "POST", url, SUCCESS).status_code == 200  # it came before the wait, and counts
    assert api.post(f"{path}/resources/wait/signal", {"unset_hook": "pre-create"}).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"


def test_a_replaced_resource_takes_nothing_at_its_old_address(api: Api) -> None:
    """Case 57. Each update replaces a handle of this kind; its reference is the URL, and the method is PUT."""
    resources = {
        "handle": {"type": "OS::Heat::UpdateWaitConditionHandle"},
        "wait": {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "handle"}, "timeout": 600}},
        "sees": resource({"get_resource": "handle"}),
    }
    said = {"Status": "SUCCESS", "Reason": "r", "UniqueId": "1", "Data": "d"}
    outputs = {"url": {"value": {"get_resource": "handle"}}}
    body = {"template": {"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs}}
    path = api.create("s", wait=False, **body)
    attributes(api, path, "sees")
    first = api.get(f"{path}/outputs/url").json()["output"]["output_value"]
    assert anybody(api, "POST", first, said).status_code == 403
    assert anybody(api, "PUT", first, said).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert api.put(path, body).status_code == 202
    until = time.monotonic() + PATIENCE_S
    # While the new version is being created, its name identifies it.
    while (second := api.get(f"{path}/outputs/url").json()["output"]["output_value"]) in (first, "handle"):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert anybody(api, "PUT", first, said).status_code == 404
    assert anybody(api, "PUT", second, said).status_code == 200
    assert api.end(path)["stack_status"] == "UPDATE_COMPLETE"


def test_the_types_of_cloudformation_take_signals_too(api: Api) -> None:
    handle = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
    wait = {"Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "handle"}, "Timeout": 600, "Count": 2}}
    outputs = {"url": {"Value": {"Ref": "handle"}}, "data": {"Value": {"Fn::GetAtt": ["wait", "Data"]}}}
    given = {"HeatTemplateFormatVersion": "2012-12-12", "Resources": {"handle": handle, "wait": wait}, "Outputs": outputs}
    path = api.create("s", wait=False, template=given)
    until = time.monotonic() + PATIENCE_S
    while not (url := api.get(f"{path}/outputs/url").json()["output"]["output_value"] or "").startswith("http"):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert anybody(api, "PUT", url, {"Status": "SUCCESS"}).status_code == 400
    for number in ("1", "2"):
        said = {"Status": "SUCCESS", "Reason": "r", "UniqueId": number, "Data": f"d{number}"}
        assert anybody(api, "PUT", url, said).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert api.get(f"{path}/outputs/data").json()["output"]["output_value"] == '{"1": "d1", "2": "d2"}'
    assert anybody(api, "PUT", url, said).status_code == 409


@pytest.mark.parametrize("change", ["delete", "update"])
def test_signals_race_with_what_happens_to_the_stack(api: Api, change: Any) -> Any:
    """Case 57: each is taken or refused as a whole, and the stack reaches the state that was requested."""
    path = api.create("s", waiting(1000), wait=False)
    url = attributes(api, path)["endpoint"]

    def send(number: int) -> int:
        return api.ask("POST", url, {**SUCCESS, "id": f"n{number}"}).status_code

    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(send, number) for number in range(60)]
        if change == "delete":
            assert api.delete(path).status_code == 204
        else:
            assert api.put(path, {"template": template(waiting(1))}).status_code == 202
        statuses = [one.result() for one in sent]
    assert set(statuses) <= {200, 400, 404, 409}
    ended = api.end(path)["stack_status"]
    assert ended == ("DELETE_COMPLETE" if change == "delete" else "UPDATE_COMPLETE")
    if change == "update":
        assert len(signals(api, path)) == statuses.count(200) > 0
    assert anybody(api, "POST", url, SUCCESS).status_code == (404 if change == "delete" else 409)


def test_older_keys_are_known_and_strange_ones_are_not() -> None:
    old, new, both = (Signer(key_ring(keys).signing_keys()) for keys in (["o" * 32], ["n" * 32], ["n" * 32, "o" * 32]))
    signature = old.sign("POST", "/v1/p/signal/s/t", 7)
    assert both.is_good("POST", b"/v1/p/signal/s/t", 7, signature)
    assert not new.is_good("POST", b"/v1/p/signal/s/t", 7, signature)
    assert both.sign("POST", "/x", 7) == new.sign("POST", "/x", 7)


def test_a_server_answers_for_its_deployment(api: Api) -> None:
    """CFN_SIGNAL, Heat's default, needs nothing but this."""
    path = api.create("s", {
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "x", "outputs": [{"name": "o"}]}},
        "server": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": {"get_resource": "config"}, "server": {"get_resource": "server"}}},
    }, wait=False)
    until = time.monotonic() + PATIENCE_S
    while not (found := api.get("/software_deployments").json()["software_deployments"]):
        assert time.monotonic() < until, api.get(path).text
        time.sleep(0.02)
    (told,) = api.get(f"/software_deployments/metadata/{found[0]['server_id']}").json()["metadata"]
    inputs = {one["name"]: one["value"] for one in told["inputs"]}
    assert (inputs["deploy_signal_transport"], inputs["deploy_signal_verb"]) == ("CFN_SIGNAL", "POST")
    answer = {"o": 1, "deploy_status_code": 0}
    assert anybody(api, "POST", inputs["deploy_signal_id"], answer).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert anybody(api, "POST", inputs["deploy_signal_id"], {"deploy_status_code": 1}).status_code == 409


@pytest.mark.parametrize("transport", ["CFN_SIGNAL", "HEAT_SIGNAL"])
def test_other_transports_tell_the_address_too(api: Api, transport: Any) -> None:
    path = api.create("s", waiting(signal_transport=transport), wait=False)
    url = json.loads(attributes(api, path)["signal"])["alarm_url"]
    assert anybody(api, "POST", url, SUCCESS).status_code == 200
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"


def test_an_alarm_scales_a_group(api: Api) -> None:
    path = api.create("s", {
        "group": {"type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 0, "max_size": 3, "desired_capacity": 1, "resource": resource()}},
        "policy": {"type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": {"get_resource": "group"}, "scaling_adjustment": 1,
            "adjustment_type": "change_in_capacity"}},
    })
    found = attributes(api, path, "policy")
    assert anybody(api, "POST", found["alarm_url"]).status_code == 200
    assert anybody(api, "POST", found["signal_url"]).status_code == 401
    until = time.monotonic() + PATIENCE_S
    while attributes(api, path, "group")["current_size"] != 2:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_needs_no_token_is_declared(shared: Api) -> None:
    """Every route that is open without one stands in one list, and asks for a signature."""
    for route in routes.SIGNED:
        url = f"{ROOT}/v1/default{route.path.format(stack_id='x', token='y')}"
        assert anybody(shared, route.method, url).status_code == 403
    assert {route.handler for route in routes.SIGNED} == {signed_signals.signal, signed_signals.metadata}
    assert not {(route.method, route.path) for route in routes.SIGNED} & {(r.method, r.path) for r in routes.TABLE}
