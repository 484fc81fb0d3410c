"""Key pairs and server groups on a real cloud: created, replaced under the same name, repaired, deleted."""

from __future__ import annotations

import base64
import struct
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519

from tests import patience
from tests.clouds import CloudProject

KEY = """
heat_template_version: 2021-04-16
resources:
  key: {type: OS::Nova::KeyPair, properties: {name: one, %s}}
outputs:
  public: {value: {get_attr: [key, public_key]}}
  private: {value: {get_attr: [key, private_key]}}
  name: {value: {get_resource: key}}
"""
GROUP = """
heat_template_version: 2021-04-16
resources:
  plain: {type: OS::Nova::ServerGroup}
  apart: {type: OS::Nova::ServerGroup, properties: {name: apart, policies: [%s]%s}}
  server:
    type: OS::Nova::Server
    properties: {image: cirros, flavor: m1.nano, networks: [{allocate_network: none}],
                 scheduler_hints: {group: {get_resource: apart}}}
"""
RULES = ", rules: {max_server_per_host: 3}"


def _public_key(number: int) -> str:
    """Return a public key of ssh; the same number gives the same key."""
    raw = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)).public_key().public_bytes_raw()
    parts = (b"ssh-ed25519", raw)
    return "ssh-ed25519 " + base64.b64encode(b"".join(struct.pack(">I", len(one)) + one for one in parts)).decode()


def test_a_key_is_replaced_under_its_name(run: Any, cloud_project: CloudProject) -> None:
    compute = cloud_project.sdk.compute
    first, second = _public_key(1), _public_key(2)
    assert first in run("deploy", "s", template=KEY % f"public_key: '{first}'")
    assert compute.get_keypair("one").public_key == first
    assert "1 in sync" in run("observe", "s")

    assert second in run("update", "s", template=KEY % f"public_key: '{second}'")
    assert [one.name for one in compute.keypairs()] == ["one"]
    assert compute.get_keypair("one").public_key == second
    assert "1 in sync" in run("observe", "s")

    # Another key under the name is drift, and so is none.
    compute.delete_keypair("one")
    compute.create_keypair(name="one", public_key=first)
    assert "public_key" in run("observe", "s")
    run("converge", "s")
    assert compute.get_keypair("one").public_key == second
    compute.delete_keypair("one")
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert compute.get_keypair("one").public_key == second

    # A generated key, whose private key is kept, and is another one than that of the next pair.
    assert "PRIVATE KEY" in run("update", "s", template=KEY % "save_private_key: true")
    assert "1 in sync" in run("observe", "s")
    assert "PRIVATE KEY" not in run("update", "s", template=KEY % "save_private_key: false")
    run("delete", "s", "--yes")
    assert list(compute.keypairs()) == []


def test_a_rollback_brings_the_former_key_back(run: Any, cloud_project: CloudProject) -> None:
    compute = cloud_project.sdk.compute
    first, second = _public_key(1), _public_key(2)
    run("deploy", "s", template=KEY % f"public_key: '{first}'")
    failing = KEY.replace("outputs:", "  late:\n    type: OS::Nova::KeyPair\n    depends_on: key\n"
                          "    properties: {name: other, public_key: nonsense}\noutputs:")
    run("update", "s", "--rollback", template=failing % f"public_key: '{second}'", code=5)
    assert {one.name: one.public_key for one in compute.keypairs()} == {"one": first}
    assert "1 in sync" in run("observe", "s")
    run("delete", "s", "--yes")
    assert list(compute.keypairs()) == []


def test_a_key_of_another_user_is_left_alone(run: Any, cloud_project: CloudProject) -> None:
    compute = cloud_project.sdk.compute
    compute.create_keypair(name="one", public_key=_public_key(1))
    # Nova tells ages in whole seconds: a key of this moment could be that of a request whose answer was lost.
    made = time.monotonic()
    patience.until(lambda: time.monotonic() - made > 5.0)
    failed = run("deploy", "s", template=KEY % f"public_key: '{_public_key(1)}'", code=5)
    assert "already exists" in failed
    run("delete", "s", "--yes")
    assert compute.get_keypair("one").public_key == _public_key(1)
    compute.delete_keypair("one")


def test_groups_are_replaced_and_servers_are_in_them(run: Any, cloud_project: CloudProject) -> None:
    compute = cloud_project.sdk.compute
    run("deploy", "s", template=GROUP % ("soft-affinity", ""))
    groups = {one.name: one for one in compute.server_groups()}
    [server] = compute.servers()
    assert (groups["apart"].policy, groups["apart"].member_ids) == ("soft-affinity", [server.id])
    [plain] = [one for name, one in groups.items() if name.startswith("s-plain-")]
    assert (plain.policy, plain.rules) == ("anti-affinity", {})
    assert "3 in sync" in run("observe", "s")

    run("update", "s", template=GROUP % ("anti-affinity", RULES))
    groups = {one.name: one for one in compute.server_groups()}
    assert (len(groups), groups["apart"].policy, groups["apart"].rules) == (2, "anti-affinity", {"max_server_per_host": 3})
    assert len(groups["apart"].member_ids) == 1
    compute.delete_server_group(groups["apart"].id)
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert sorted(one.name for one in compute.server_groups()) == sorted(groups)
    run("delete", "s", "--yes")
    assert list(compute.server_groups()) == []
