"""The user data of servers: its parts, and what they do on a guest."""

from __future__ import annotations

import asyncio
import email
import json
import os
import random
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import software, stack_users
from isotherm.resources.context.signal_urls import SignalUrls
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.openstack.nova.user_data import boot_parts, ignition, message
from isotherm.resources.openstack.nova.user_data.message import Part
from isotherm.resources.openstack.nova.user_data.server_user_data import ServerUserData
from isotherm.resources.reality.journal import MemoryReality
from isotherm.secrets.signing import Signer

CONFIG = "5b6a3dc3-7a24-4f6f-9f2c-0a8a0a6b5c11"
API = SignalUrls("http://api:8004", "p", Signer([b"k" * 32]))


class Clock:
    def now(self) -> float:
        return 1000.0


class Software:
    """One software config."""

    def __init__(self, config: Any) -> None:
        self._config = config

    async def config(self, stack_id: str, config_id: str) -> software.Config | None:
        return software.Config(config_id, "c", config=self._config) if config_id == CONFIG else None


class Users:
    """The stack users of a Keystone, in memory."""

    def __init__(self) -> None:
        self.made: dict[str, stack_users.StackUser] = {}

    def guarded(self, check: Any) -> Users:
        return self

    async def ensure(
        self, stack_id: str, token: str, resource: str, *, with_key: bool = False
    ) -> stack_users.StackUser:
        key = ("access", "secret") if with_key else ("", "")
        self.made[token] = stack_users.StackUser(
            f"s-{resource}", "user-id", "project-id", "domain-id", "http://keystone/v3", "one", "password", *key)
        return self.made[token]

    async def find(self, token: str) -> stack_users.StackUser | None:
        return self.made.get(token)

    async def set_enabled(self, token: str, enabled: bool) -> None:
        raise AssertionError(f"{token} is not suspended here")


def server(
    properties: Mapping[str, Any], metadata: Mapping[str, Any] | None = None, urls: SignalUrls = API, config: Any = None,
    users: Users | None = None, data: dict[str, Any] | None = None,
) -> Server:
    context = contract.Context(
        clock=Clock(), random=random.Random(1), reality=MemoryReality(), signal_urls=urls,
        software=Software(config), stack_users=users)  # type: ignore[arg-type]  # the parts that user data needs
    whole = {name: one.default for name, one in Server.properties_schema.items()} | dict(properties)
    state = contract.ResourceState(name="web", stack_name="s", stack_id="1d", token="t0k", properties=whole,
                                   metadata=metadata or {}, data={} if data is None else data)
    return Server(state, context)


def text_of(one: Server) -> str:
    async def built() -> str:
        await ServerUserData(one).prepare()
        return await ServerUserData(one).text()

    return asyncio.run(built())


def files(text: str) -> dict[str, str]:
    """Return the parts of a message by their names."""
    return {part.filename: part.content for part in message.parts_of(text)}


def test_raw_user_data_is_as_given() -> None:
    assert text_of(server({"user_data_format": "RAW", "user_data": "#!/bin/sh\nö"})) == "#!/bin/sh\nö"
    assert text_of(server({"user_data_format": "RAW"})) == ""


def test_the_id_of_a_config_stands_for_its_text() -> None:
    for format_ in ("RAW", "SOFTWARE_CONFIG"):
        assert "hello" in text_of(server({"user_data_format": format_, "user_data": CONFIG}, config="hello"))
    # An id of nothing is a text.
    other = CONFIG.replace("5", "6")
    assert text_of(server({"user_data_format": "RAW", "user_data": other}, config="hello")) == other
    with pytest.raises(errors.Permanent, match="is not a text"):
        text_of(server({"user_data_format": "RAW", "user_data": CONFIG}, config={"a": 1}))


def test_cfntools_get_their_files() -> None:
    found = files(text_of(server({"user_data": "#!/bin/sh\necho é"}, {"AWS::CloudFormation::Init": {"a": 1}})))
    assert found["cfn-userdata"] == "#!/bin/sh\necho é"
    assert json.loads(found["cfn-init-data"]) == {"AWS::CloudFormation::Init": {"a": 1}}
    # os-collect-config adds /v1/ to it.
    assert found["cfn-metadata-server"] == "http://api:8004/cfn"
    assert "is_secure = 0" in found["cfn-boto-cfg"]
    assert {"cloud-config", "boothook.sh", "part-handler.py", "loguserdata.py"} <= set(found)
    without = files(text_of(server({"user_data": "x"}, urls=SignalUrls())))
    assert not {"cfn-init-data", "cfn-metadata-server", "cfn-boto-cfg"} & set(without)


def test_the_same_server_gets_the_same_user_data() -> None:
    one = {"user_data_format": "SOFTWARE_CONFIG", "user_data": "x"}
    assert text_of(server(one)) == text_of(server(one))
    whole = email.message_from_string(text_of(server(one)))
    assert (whole.get_content_type(), whole.defects) == ("multipart/mixed", [])


def test_a_message_inside_is_taken_apart() -> None:
    inner = message.of([Part("#!/bin/sh", "x-shellscript", "a.sh"), Part("b: ü", "cloud-config")], "b0")
    found = list(message.parts_of(text_of(server({"user_data_format": "SOFTWARE_CONFIG", "user_data": inner}))))
    assert Part("#!/bin/sh", "x-shellscript", "a.sh") in found
    assert Part("b: ü", "cloud-config") in found


def agent(one: Server) -> Any:
    return json.loads(files(text_of(one))["cfn-init-data"])["os-collect-config"]


def test_agents_log_in_as_their_users() -> None:
    heat = {"user_data_format": "SOFTWARE_CONFIG", "software_config_transport": "POLL_SERVER_HEAT"}
    assert agent(server(heat, users=Users())) == {"collectors": ["ec2", "heat", "local"], "heat": {
        "user_id": "user-id", "password": "password", "auth_url": "http://keystone/v3", "project_id": "project-id",
        "stack_id": "s/1d", "resource_name": "web", "region_name": "one"}}
    cfn = agent(server({**heat, "software_config_transport": "POLL_SERVER_CFN"}, users=Users(),
                       data={"former_transports": ["POLL_SERVER_HEAT"]}))
    assert cfn["cfn"] == {"metadata_url": "http://api:8004/cfn/v1/", "access_key_id": "access",
                          "secret_access_key": "secret", "stack_name": "s/1d", "path": "web.Metadata"}
    # What the agent knew of the former transport is taken back.
    assert set(cfn["heat"].values()) == {None}


def test_without_stack_users_the_agent_reads_a_signed_url() -> None:
    for transport in ("POLL_SERVER_HEAT", "POLL_SERVER_CFN"):
        found = agent(server({"user_data_format": "SOFTWARE_CONFIG", "software_config_transport": transport}))
        assert found["collectors"] == ["ec2", "request", "local"]
        assert found["request"]["metadata_url"].startswith("http://api:8004/v1/p/metadata/1d/t0k?expires=")


def test_without_an_api_only_the_default_is_allowed() -> None:
    collected = {"user_data_format": "SOFTWARE_CONFIG"}
    assert agent(server(collected, urls=SignalUrls())) == {"collectors": ["ec2", "local"]}
    for transport, missing in (("POLL_SERVER_HEAT", "stack_user_domain_id"), ("POLL_TEMP_URL", "object store"),
                               ("ZAQAR_MESSAGE", "message queue")):
        with pytest.raises(errors.Permanent, match=missing):
            text_of(server({**collected, "software_config_transport": transport}, urls=SignalUrls()))


class TestIgnition:
    def test_metadata_are_files(self) -> None:
        given_ = {"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/a"}]}, "passwd": {}}
        text = text_of(server({"user_data_format": "SOFTWARE_CONFIG", "user_data": json.dumps(given_)}, {"m": "ä b"}))
        found = json.loads(text)
        first, *added = found["storage"]["files"]
        assert first == {"path": "/a"}
        assert [(one["path"], one["mode"]) for one in added] == [(path, 0o640) for path in ignition.PATHS]
        assert json.loads(unquote(added[0]["contents"]["source"].removeprefix("data:,")))["m"] == "ä b"

    @pytest.mark.parametrize("storage", [{"files": "x"}, {"files": [{"path": ignition.PATHS[0]}]}])
    def test_what_cannot_be_added_is_said(self, storage: Any) -> None:
        config = {"ignition": {"version": "3.0.0"}, "storage": storage}
        with pytest.raises(errors.Permanent, match="Ignition"):
            ignition.with_metadata(config, "{}")

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"ignition": {}}', '{"ignition": 3}'])
    def test_other_texts_are_not_of_ignition(self, text: str) -> None:
        assert ignition.parsed(text) is None


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=60))
def test_any_text_survives(text: str) -> None:
    built = message.of([Part(text, "x-cfninitdata", "a"), Part("b")], "b0undary")
    first, second = message.parts_of(built)
    # A message may end with a newline more.
    assert first.content.rstrip("\n") == text.rstrip("\n")
    assert second.content.rstrip("\n") == "b"


def on_guest(folder: Path, content: str) -> str:
    """Return a script with the places of a guest moved into a folder."""
    return content.replace(boot_parts.FOLDER, f"{folder}/cfn").replace("/var/log", str(folder))


def test_the_part_handler_stores_parts(tmp_path: Path) -> None:
    source = files(text_of(server({})))["part-handler.py"]
    names: dict[str, Any] = {}
    exec(compile(on_guest(tmp_path, source), "part-handler.py", "exec"), names)  # as cloud-init does
    assert names["list_types"]() == [f"text/{boot_parts.STORED}"]
    for ctype, name in (("__begin__", None), ("text/x-cfninitdata", "../../cfn-init-data"), ("__end__", None)):
        names["handle_part"](None, ctype, name, "sécret")
    stored = tmp_path / "cfn" / "cfn-init-data"
    assert stored.read_text() == "sécret"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600


@pytest.mark.parametrize(("script", "said", "code"), [
    ("#!/bin/sh\necho hello; exit 3\n", "hello", 3), ("echo no interpreter\n", "no interpreter", 0), ("", "", 0)])
def test_the_user_data_is_run_and_logged(tmp_path: Path, script: str, said: str, code: int) -> None:
    (tmp_path / "cfn").mkdir()
    (tmp_path / "cfn" / "cfn-userdata").write_text(script)
    source = files(text_of(server({})))["loguserdata.py"]
    done = subprocess.run([sys.executable, "-c", on_guest(tmp_path, source)], check=False, env={**os.environ})
    assert done.returncode == code
    log = tmp_path / "heat-provision.log"
    assert (log.exists(), (tmp_path / "cfn" / "provision-finished").exists()) == (bool(script), bool(script))
    assert said in (log.read_text() if script else "")


def test_the_scripts_are_well_formed(tmp_path: Path) -> None:
    found = files(text_of(server({})))
    assert yaml.safe_load(found["cloud-config"])["output"]
    assert found["cloud-config"].startswith("#cloud-config\n")
    hook = on_guest(tmp_path, found["boothook.sh"])
    assert subprocess.run(["sh", "-c", hook], check=False).returncode == 0
    assert stat.S_IMODE((tmp_path / "cfn").stat().st_mode) == 0o700
