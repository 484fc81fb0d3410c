"""Isotherm behind a real Keystone: callers, roles, and a Keystone that does not answer."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest
from starlette.requests import Request

from isotherm import errors
from isotherm.api.auth.keystone import Keystone as Authenticator
from isotherm.api.http import faults
from isotherm.api.policy.enforcer import Enforcer
from isotherm.config import files
from isotherm.engine.process.home_files import DATABASE
from isotherm.identity.caller import Caller
from isotherm.secrets import SEALED
from tools import instance
from tools.identity import seed
from tools.keystone import Keystone, started

Ask = Callable[..., httpx2.Response]


@pytest.fixture(scope="module")
def service(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[instance.Isotherm]:
    """`isotherm up`, which uses that Keystone and is in its catalogue."""
    with instance.isotherm(tmp_path_factory.mktemp("home"), instance.with_keystone(keystone.options())) as it:
        keystone.point(it.url)
        yield it


@pytest.fixture(scope="module")
def ask(keystone: Keystone, service: instance.Isotherm) -> Ask:
    """Send a request as one of the seeded users, in their project or in `project`."""

    def ask(method: str, path: str, who: str, *, project: str = "", **options: Any) -> httpx2.Response:
        project = keystone.project(project or seed.PEOPLE[who].project)
        headers = {"X-Auth-Token": keystone.token(who), **options.pop("headers", {})}
        return httpx2.request(method, f"{service.url}/v1/{project}{path}", headers=headers, trust_env=False, **options)

    return ask


class TestService:
    def test_a_member_makes_a_stack_that_a_reader_sees(self, ask: Ask) -> None:
        body = {"stack_name": "mine", "template": {"heat_template_version": "2021-04-16"}}
        assert ask("POST", "/stacks", "demo", json=body).status_code == 201
        assert [one["stack_name"] for one in ask("GET", "/stacks", "reader").json()["stacks"]] == ["mine"]
        assert ask("GET", "/stacks", "other").json() == {"stacks": []}

    def test_a_reader_makes_none(self, ask: Ask) -> None:
        body = {"stack_name": "no", "template": {"heat_template_version": "2021-04-16"}}
        answer = ask("POST", "/stacks", "reader", json=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "Forbidden")
        assert answer.json()["error"]["message"] == "You are not authorized to use stacks:create."

    def test_a_user_that_stands_for_a_resource_lists_nothing(self, ask: Ask) -> None:
        assert ask("GET", "/stacks", "machine").status_code == 403

    def test_another_project_is_none_of_ones_business(self, ask: Ask) -> None:
        answer = ask("GET", "/stacks", "other", project="demo")
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "HTTPForbidden")

    def test_an_administrator_uses_any_project(self, ask: Ask) -> None:
        assert ask("GET", "/stacks", "admin", project="demo").status_code == 200

    def test_without_a_token_one_is_told_where_to_get_one(self, keystone: Keystone, service: instance.Isotherm) -> None:
        answer = httpx2.get(f"{service.url}/v1/x/stacks", trust_env=False)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.v3}"'
        assert answer.json() == {"error": {"code": 401, "title": "Unauthorized",
                                           "message": "The request you have made requires authentication."}}

    def test_what_the_middleware_would_say_cannot_be_said_by_a_client(self, ask: Ask) -> None:
        forged = {"X-Roles": "admin,member", "X-Project-Id": "x", "X-Identity-Status": "Confirmed",
                  "X-Is-Admin-Project": "True"}
        assert ask("GET", "/services", "machine", headers=forged).status_code in (403, 404)
        assert ask("GET", "/stacks", "machine", headers=forged).status_code == 403


@pytest.fixture
def conf(keystone: Keystone, tmp_path: Path) -> Callable[..., Any]:
    """Return the options of a service that uses this Keystone, and those of the test."""

    def conf(**others: str) -> Any:
        instance.write_options(tmp_path / "x.conf", {"keystone_authtoken": {**keystone.options(), **others}})
        return files.opened([str(tmp_path / "x.conf")])

    return conf


def request(token: str, path: str = "/v1/p/stacks", method: str = "GET") -> Request:
    return Request({"type": "http", "method": method, "path": path, "query_string": b"", "scheme": "http",
                    "server": ("isotherm.test", 80), "headers": [(b"x-auth-token", token.encode("latin-1"))]})


def judge(authenticator: Authenticator, *requests: Request) -> list[Caller | BaseException]:
    """Send the requests concurrently; return their outcomes."""

    async def all_of_them() -> list[Caller | BaseException]:
        return await asyncio.gather(*map(authenticator.authenticate, requests), return_exceptions=True)

    try:
        return asyncio.run(all_of_them())
    finally:
        authenticator.close()


class TestAuthenticator:
    def test_it_tells_all_that_keystone_knows(self, keystone: Keystone, conf: Callable[..., Any]) -> None:
        token = keystone.token("demo")
        (caller,) = judge(Authenticator(conf(), Enforcer()), request(token))
        assert caller == Caller(keystone.project("demo"), keystone.user("demo"), "demo", frozenset({"member", "reader"}),
                                False, "demo", True, token, services=frozenset({"identity"}))
        assert token not in repr(caller)

    def test_the_policy_decides_about_administrators(self, keystone: Keystone, conf: Callable[..., Any],
                                                     tmp_path: Path) -> None:
        (tmp_path / "policy.yaml").write_text('"context_is_admin": "role:reader"\n')
        (caller,) = judge(Authenticator(conf(), Enforcer(tmp_path / "policy.yaml")), request(keystone.token("reader")))
        assert isinstance(caller, Caller)
        assert caller.is_admin

    @pytest.mark.parametrize("token", ["", "x", "ü", "x" * 20_000, "gAAAAABlies", "a\tb"])
    def test_a_malformed_token_is_refused(self, conf: Callable[..., Any], token: str) -> None:
        (error,) = judge(Authenticator(conf(), Enforcer()), request(token))
        assert isinstance(error, faults.Unauthorized)

    def test_a_token_without_a_project_belongs_to_none(self, keystone: Keystone, conf: Callable[..., Any]) -> None:
        (caller,) = judge(Authenticator(conf(), Enforcer()), request(unscoped(keystone)))
        assert isinstance(caller, Caller)
        assert (caller.project, caller.roles, caller.is_admin) == ("", frozenset(), False)

    def test_wrong_credentials_of_the_service_admit_no_caller(self, keystone: Keystone, conf: Callable[..., Any]) -> None:
        (error,) = judge(Authenticator(conf(password="wrong"), Enforcer()), request(keystone.token("demo")))
        assert isinstance(error, faults.Fault)
        assert error.status == 503

    def test_without_options_it_does_not_start(self) -> None:
        with pytest.raises(errors.UserError, match="auth_type"):
            Authenticator(files.opened([]), Enforcer())

    def test_an_application_credential_is_good_for_its_paths_only(self, keystone: Keystone,
                                                                   conf: Callable[..., Any]) -> None:
        token = restricted(keystone, "/v1/*/stacks")
        found = judge(Authenticator(conf(), Enforcer()), request(token), request(token, "/v1/p/services"),
                      request(token), request(token, method="POST"))
        assert [type(one) for one in found] == [Caller, faults.Unauthorized, Caller, faults.Unauthorized]


class TestOutage:
    def test_known_callers_are_let_in_for_a_while_and_others_are_told_to_wait(self, tmp_path: Path) -> None:
        with started(tmp_path / "keystone") as keystone:
            instance.write_options(tmp_path / "x.conf", {"keystone_authtoken": keystone.options()})
            authenticator = Authenticator(files.opened([str(tmp_path / "x.conf")]), Enforcer())
            known, unknown = keystone.token("demo"), keystone.token("reader")
            judge_again(authenticator, known)
        caller, *refused = judge(authenticator, request(known), request(unknown), request(unknown))
        assert isinstance(caller, Caller)
        assert [one.status for one in refused if isinstance(one, faults.Fault)] == [503, 503]

    def test_what_is_remembered_ends_with_the_token(self, keystone: Keystone, conf: Callable[..., Any],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
        authenticator = Authenticator(conf(), Enforcer())
        asked = count(authenticator, monkeypatch)
        token = keystone.token("demo")
        judge_again(authenticator, token)
        judge_again(authenticator, token)
        assert len(asked) == 1
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 301)
        judge_again(authenticator, token)
        assert len(asked) == 2
        authenticator.close()

    def test_many_requests_with_one_token_ask_once(self, keystone: Keystone, conf: Callable[..., Any],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
        authenticator = Authenticator(conf(), Enforcer())
        asked = count(authenticator, monkeypatch)
        found = judge(authenticator, *[request(keystone.token("demo"))] * 50)
        assert {type(one) for one in found} == {Caller}
        assert len(asked) == 1

    def test_memory_is_bounded(self, keystone: Keystone, conf: Callable[..., Any],
                               monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("isotherm.api.auth.keystone._MOST_CALLERS", 3)
        authenticator = Authenticator(conf(), Enforcer())
        judge(authenticator, *[request(keystone.token("demo")) for _ in range(6)])
        assert len(authenticator._known) == 3


def count(authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each question that really goes to Keystone."""
    asked: list[Any] = []
    judge = authenticator._judge

    def noted(question: Any) -> Any:
        asked.append(question)
        return judge(question)

    monkeypatch.setattr(authenticator, "_judge", noted)
    return asked


def judge_again(authenticator: Authenticator, token: str) -> None:
    assert isinstance(asyncio.run(authenticator.authenticate(request(token))), Caller)


def unscoped(keystone: Keystone) -> str:
    user = {"name": "demo", "password": seed.PASSWORD, "domain": {"id": "default"}}
    return log_in(keystone, {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": "unscoped"})


def restricted(keystone: Keystone, path: str) -> str:
    """Return a token of an application credential whose access rules allow one GET only."""
    api = seed.Api(keystone.v3, keystone.token("demo"))
    made = api.call("POST", f"/users/{keystone.user('demo')}/application_credentials", {"application_credential": {
        "name": f"for {time.monotonic_ns()}", "access_rules": [{"path": path, "method": "GET",
                                                                "service": "orchestration"}]}})
    credential = made["application_credential"]
    return log_in(keystone, {"identity": {"methods": ["application_credential"], "application_credential": {
        "id": credential["id"], "secret": credential["secret"]}}})


def log_in(keystone: Keystone, auth: dict[str, Any]) -> str:
    answer = httpx2.post(f"{keystone.v3}/auth/tokens", content=json.dumps({"auth": auth}), trust_env=False,
                         headers={"Content-Type": "application/json"})
    assert answer.status_code == 201, answer.text
    return answer.headers["X-Subject-Token"]


class TestPage:
    """The page's login: a password of Keystone begins a session, whose token never enters the browser."""

    HEADERS: ClassVar = {"X-Isotherm-Page": "1"}

    def log_in(self, service: instance.Isotherm, who: str, **changes: Any) -> httpx2.Response:
        form = {"user": who, "password": seed.PASSWORD, "project": seed.PEOPLE[who].project, **changes}
        return httpx2.post(f"{service.url}/ui/session", json=form, headers=self.HEADERS, trust_env=False)

    def test_a_password_begins_a_session_in_the_project(
        self, keystone: Keystone, service: instance.Isotherm, ask: Ask
    ) -> None:
        answer = self.log_in(service, "demo")
        assert answer.status_code == 201, answer.text
        told = answer.json()["session"]
        assert (told["user"], told["project"], told["operator"]) == ("demo", keystone.project("demo"), False)
        (name, cookie), = answer.cookies.items()
        assert not cookie.startswith("gAAAA")
        assert "token" not in answer.text
        with httpx2.Client(trust_env=False, headers={**self.HEADERS, "Cookie": f"{name}={cookie}"}) as page:
            stacks = page.get(f"{service.url}/v1/{told['project']}/stacks")
            assert stacks.status_code == 200
            assert page.get(f"{service.url}/v1/{keystone.project('other')}/stacks").status_code == 403
            assert page.get(f"{service.url}/ui/session").json()["session"]["user"] == "demo"
            assert page.delete(f"{service.url}/ui/session").status_code == 204
            assert page.get(f"{service.url}/v1/{told['project']}/stacks").status_code == 401

    def test_an_administrator_is_an_operator(self, service: instance.Isotherm) -> None:
        assert self.log_in(service, "admin").json()["session"]["operator"] is True

    @pytest.mark.parametrize("changes", [
        {"password": "wrong"}, {"user": "nobody-at-all"}, {"project": "no-such-project"}, {"user_domain": "nowhere"},
        {"project_domain": "nowhere"}, {"password": "'; --"}])
    def test_what_keystone_refuses_begins_nothing(self, service: instance.Isotherm, changes: dict[str, str]) -> None:
        answer = self.log_in(service, "reader", **changes)
        assert (answer.status_code, dict(answer.cookies)) == (401, {})

    @pytest.mark.parametrize("changes", [{"password": ""}, {"password": 7}, {"user": None}, {"project": "x" * 2000}])
    def test_what_is_no_form_is_not_sent_to_keystone(self, service: instance.Isotherm, changes: dict[str, Any]) -> None:
        assert self.log_in(service, "reader", **changes).status_code == 400

    def test_guessing_is_slowed_down_for_the_user_and_address(self, service: instance.Isotherm) -> None:
        statuses = [self.log_in(service, "other", password="guess").status_code for _ in range(6)]
        assert statuses == [401] * 5 + [429]
        # With the right password too, until the minute is over.
        assert self.log_in(service, "other").status_code == 429

    def test_the_token_of_a_session_is_sealed(self, service: instance.Isotherm) -> None:
        assert self.log_in(service, "colleague").status_code == 201
        with sqlite3.connect(service.home / DATABASE) as connection:
            tokens = [row[0] for row in connection.execute("SELECT token FROM page_sessions")]
        assert tokens
        assert all(token.startswith(SEALED) for token in tokens)
