"""The reader of clouds.yaml, and the endpoints of catalogues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from isotherm import errors
from isotherm.resources.openstack.port import catalogue, clouds_yaml
from isotherm.resources.openstack.port.access import CloudAccess, Login, Named, Tls

AUTH = {"auth_url": "https://k:5000", "username": "ann", "password": 1234, "project_name": "p",
        "user_domain_name": "D", "project_domain_id": "d"}


def write(folder: Path, entry: dict[str, Any], **others: Any) -> dict[str, str]:
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": {"mine": entry, **others}}))
    return {"OS_CLIENT_CONFIG_FILE": str(folder / "clouds.yaml")}


def test_a_password(tmp_path: Path) -> None:
    entry = {"auth": AUTH, "region_name": "r", "interface": "internal", "cacert": "/c.pem", "verify": False,
             "network_endpoint_override": "https://n"}
    assert clouds_yaml.read("mine", write(tmp_path, entry)) == CloudAccess(
        "https://k:5000/v3", Login("password", Named("", "ann", "", "D"), "1234", project=Named("", "p", "d")), "r",
        "internal", Tls(False, "/c.pem"), (("network", "https://n"),), "mine")


@pytest.mark.parametrize(("auth", "kind", "login"), [
    ({"application_credential_id": "a", "application_credential_secret": "s"}, "v3applicationcredential",
     Login("application_credential", secret="s", application=Named("a"))),
    ({"token": "t"}, "token", Login("token", secret="t")),
    ({"token": "t", "project_id": "p"}, "v3token", Login("token", secret="t", project=Named("p"))),
    ({"user_id": "u", "password": "x", "trust_id": "t", "project_id": "p"}, None,
     Login("password", Named("u"), "x", trust="t")),
])
def test_other_logins(tmp_path: Path, auth: dict[str, str], kind: str | None, login: Login) -> None:
    entry = {"auth": {"auth_url": "http://k/identity/v3/", **auth}, **({"auth_type": kind} if kind else {})}
    found = clouds_yaml.read("mine", write(tmp_path, entry))
    assert (found.auth_url, found.login) == ("http://k/identity/v3", login)


def test_secrets_come_from_secure_yaml(tmp_path: Path) -> None:
    environment = write(tmp_path, {"auth": {**AUTH, "password": None}})
    (tmp_path / "secure.yaml").write_text(yaml.safe_dump({"clouds": {"mine": {"auth": {"password": "hidden"}}}}))
    assert clouds_yaml.read("mine", environment).login.secret == "hidden"


def test_the_folder_of_the_user_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config" / "openstack").mkdir(parents=True)
    write(tmp_path / "config" / "openstack", {"auth": AUTH})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert clouds_yaml.read("mine", {"XDG_CONFIG_HOME": str(tmp_path / "config")}).login.user.name == "ann"
    write(tmp_path / "here", {"auth": {**AUTH, "username": "bob"}})
    assert clouds_yaml.read("mine", {"XDG_CONFIG_HOME": str(tmp_path / "config")}).login.user.name == "bob"


@pytest.mark.parametrize(("entry", "words"), [
    ({"auth": {**AUTH, "password": None}}, ("mine", "password")),
    ({"auth": {**AUTH, "project_name": None}}, ("project_name or project_id",)),
    ({"auth": {"username": "ann"}}, ("auth_url",)),
    ({"auth": AUTH, "auth_type": "v3oidcpassword"}, ("v3oidcpassword", "not supported")),
    ({"region_name": "r"}, ("auth",)),
])
def test_an_entry_that_cannot_be_used_is_explained(tmp_path: Path, entry: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(errors.UserError) as refused:
        clouds_yaml.read("mine", write(tmp_path, entry))
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_an_entry_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match=r"no cloud other\. It has: mine, third"):
        clouds_yaml.read("other", write(tmp_path, {"auth": AUTH}, third={}))


def test_a_file_that_does_not_exist_is_named_with_the_places_that_were_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.UserError) as missing:
        clouds_yaml.read("mine", {"OS_CLIENT_CONFIG_FILE": str(tmp_path / "nowhere.yaml")})
    assert str(tmp_path / "nowhere.yaml") in str(missing.value)


def test_a_broken_file_is_named_by_its_line_and_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "clouds.yaml").write_text("clouds:\n  mine:\n    auth: {password: 'hidden\n")
    with pytest.raises(errors.UserError) as broken:
        clouds_yaml.read("mine", {"OS_CLIENT_CONFIG_FILE": str(tmp_path / "clouds.yaml")})
    assert "line" in str(broken.value)
    assert "hidden" not in str(broken.value)


@pytest.mark.parametrize(("service", "url", "versioned"), [
    ("network", "http://h:9696", "http://h:9696/v2.0"),
    ("network", "http://h/network/", "http://h/network/v2.0"),
    ("network", "http://h:9696/v2.0", "http://h:9696/v2.0"),
    ("compute", "http://h/compute/v2.1", "http://h/compute/v2.1"),
    ("compute", "http://h:8774/v2/p1", "http://h:8774/v2.1/p1"),
    ("image", "http://h:9292", "http://h:9292/v2"),
    ("block-storage", "http://h:8776/v3/p1", "http://h:8776/v3/p1"),
    ("load-balancer", "http://h:9876", "http://h:9876/v2/lbaas"),
    ("load-balancer", "http://h/load-balancer/v2.0", "http://h/load-balancer/v2/lbaas"),
    ("load-balancer", "http://h/load-balancer/v2/lbaas", "http://h/load-balancer/v2/lbaas"),
    ("identity", "http://h/identity", "http://h/identity/v3"),
    ("key-manager", "http://h:9311", "http://h:9311/v1"),
    ("dns", "http://h:9001/v2", "http://h:9001/v2"),
    ("object-store", "http://h:8080/v1/AUTH_p1", "http://h:8080/v1/AUTH_p1"),
    ("placement", "http://h/placement", "http://h/placement"),
])
def test_an_endpoint_has_the_version_of_its_service(service: str, url: str, versioned: str) -> None:
    assert catalogue.versioned(service, url) == versioned


@pytest.mark.parametrize(("asked", "has"), [
    ("block-storage", "volumev3"), ("volumev3", "block-storage"), ("volume", "volumev3"),
    ("shared-file-system", "sharev2"), ("sharev2", "shared-file-system"), ("workflow", "workflowv2"),
    ("workflowv2", "workflow"), ("container-infra", "container-infrastructure-management"),
])
def test_a_service_is_found_under_any_of_its_types(asked: str, has: str) -> None:
    found = catalogue.Catalogue.of([{"type": has, "endpoints": [{"interface": "public", "region": "r", "url": "http://h"}]}])
    assert found.endpoint(asked, CloudAccess("http://k/v3", Login("token"), "r")).startswith("http://h")
