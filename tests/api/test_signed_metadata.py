"""Metadata at signed URLs and the CloudFormation API, for a service without stack users."""

from __future__ import annotations

from typing import Any

import pytest

from tests import patience
from tests.api.conftest import ROOT, Api
from tests.api.test_signed import anybody, refused

SERVER = {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_CFN"}}


def metadata(api: Api, path: str) -> Any:
    return api.get(f"{path}/resources/server/metadata").json()["metadata"]


def test_an_agent_reads_the_metadata_of_its_server(api: Api) -> None:
    """The URL is for one version of one resource and one method, and good as long as that version is there."""
    whole = {"server": {**SERVER, "metadata": {"a": 1}}, "other": SERVER}
    path = api.create("s", whole)
    shown = metadata(api, path)
    agent = shown["os-collect-config"]
    assert agent["collectors"] == ["request", "local"]
    url = agent["request"]["metadata_url"]
    assert url.startswith(f"{ROOT}/v1/default/metadata/")
    answer = anybody(api, "GET", url)
    assert (answer.status_code, answer.json()) == (200, shown)
    assert shown["a"] == 1
    assert shown["deployments"] == []

    other = api.get(f"{path}/resources/other/metadata").json()["metadata"]["os-collect-config"]["request"]["metadata_url"]
    mixed = other.partition("?")[0] + "?" + url.partition("?")[2]
    for bad in (mixed, url[:-1] + ("0" if url[-1] != "0" else "1"), url.partition("?")[0], url + "&x=1"):
        assert refused(api, "GET", bad)
    assert anybody(api, "POST", url, {}).status_code in (403, 405)

    api.patch(f"{path}/resources/server", {"mark_unhealthy": True})
    replaced = api.put(path, {"template": {"heat_template_version": "2021-04-16", "resources": whole}})
    assert replaced.status_code == 202, replaced.text
    api.end(path)
    assert anybody(api, "GET", url).status_code == 404
    after = metadata(api, path)["os-collect-config"]["request"]["metadata_url"]
    assert anybody(api, "GET", after).status_code == 200
    api.delete(path)
    patience.until(lambda: anybody(api, "GET", after).status_code == 404)


@pytest.mark.parametrize(("query", "status", "code"), [
    ("", 400, "InvalidAction"),
    ("?Action=DeleteStack&StackName=s", 400, "InvalidAction"),
    ("?Action=DescribeStackResource", 403, "AccessDenied"),
    ("?Action=DescribeStackResource&StackName=s/1&LogicalResourceId=a&AWSAccessKeyId=k&Signature=s", 403, "AccessDenied"),
    ("?Action=DescribeStackResource&StackName=%00%FF&LogicalResourceId=..%2F&AWSAccessKeyId=&Signature=", 403,
     "AccessDenied"),
])
def test_without_stack_users_the_call_is_refused(shared: Api, query: str, status: int, code: str) -> None:
    answer = anybody(shared, "GET", f"{ROOT}/cfn/v1/{query}")
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, "application/xml")
    assert f"<Code>{code}</Code>" in answer.text
    assert anybody(shared, "POST", f"{ROOT}/cfn/v1/", content="x" * 20_000).status_code == 413
