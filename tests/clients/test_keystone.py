"""`openstack` as the people of a cloud use it: a password, a real Keystone, its catalogue and its roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.command import Loaded, OpenStack, Refused, resource, template
from tools import instance
from tools import keystone as identity

As = Callable[[str], OpenStack]


@pytest.fixture(scope="module")
def keystone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[identity.Keystone]:
    """Yield a real Keystone whose catalog has an Isotherm that uses it."""
    with identity.started(tmp_path_factory.mktemp("keystone")) as it, \
            instance.isotherm(tmp_path_factory.mktemp("home"), instance.with_keystone(it.options())) as service:
        it.point(service.url)
        yield it


@pytest.fixture
def people(keystone: identity.Keystone, loaded: Loaded, tmp_path: Path) -> As:
    """Return a client of a seeded user, configured with the password and Keystone's URL only."""
    (tmp_path / "small.yaml").write_text(json.dumps(template({"a": resource("one")})))
    return lambda who: OpenStack(loaded, (), keystone.variables(who), tmp_path)


@pytest.mark.ledger("S2.2")
def test_a_member_a_reader_and_a_user_without_a_role(people: As) -> None:
    member, reader, other = people("demo"), people("reader"), people("other")
    made = member.ask("stack create", "-t", "small.yaml", "--wait", "--poll", 1, "mine")
    assert made["stack_status"] == "CREATE_COMPLETE"
    shown = member.ask("stack show", "mine")
    assert (shown["id"], shown["stack_owner"]) == (made["id"], "demo")

    assert [one["Stack Name"] for one in reader.ask("stack list")] == ["mine"]
    assert reader.ask("stack show", "mine")["id"] == made["id"]
    with pytest.raises(Refused, match=r"ERROR: You are not authorized to use stacks:create\."):
        reader("stack create", "-t", "small.yaml", "not-mine")
    with pytest.raises(Refused, match="Forbidden: mine"):
        reader("stack delete", "--yes", "mine")

    assert other.ask("stack list") == []
    for known in ("mine", made["id"]):
        with pytest.raises(Refused, match=f"Stack not found: {known}"):
            other("stack show", known)
        with pytest.raises(Refused, match=f"Stack not found: {known}"):
            other("stack delete", "--yes", known)
    assert other.ask("stack create", "-t", "small.yaml", "--wait", "mine")["id"] != made["id"], "names are a project's own"

    member("stack delete", "--yes", "--wait", "mine")
    assert member.ask("stack list") == reader.ask("stack list") == []
    assert member.ask("stack show", made["id"])["stack_status"] == "DELETE_COMPLETE"
    assert [one["Stack Name"] for one in other.ask("stack list")] == ["mine"]


def test_what_is_for_administrators(people: As) -> None:
    (worker,) = people("admin").ask("orchestration service list")
    assert worker["Status"] == "up"
    with pytest.raises(Refused, match=r"You are not authorized to use service:index\."):
        people("demo")("orchestration service list")
    with pytest.raises(Refused, match=r"You are not authorized to use stacks:index\."):
        people("machine")("stack list")


def test_a_wrong_password(keystone: identity.Keystone, loaded: Loaded, tmp_path: Path) -> None:
    nobody = OpenStack(loaded, (), {**keystone.variables("demo"), "OS_PASSWORD": "wrong"}, tmp_path)
    with pytest.raises(Refused, match="HTTP 401"):
        nobody("stack list")
