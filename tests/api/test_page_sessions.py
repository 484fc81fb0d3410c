"""The page's sessions: login by code, the cookie, and requests of other pages, which get nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from isotherm.api import routes
from isotherm.api.browser import logins
from isotherm.identity import page_sessions
from tests import databases
from tests.api import things
from tests.api.conftest import PROJECT, Api

HOST = "http://127.0.0.1"
SESSION = f"{HOST}/ui/session"
PAGE = {"X-Isotherm-Page": "1"}
STACKS = f"{HOST}/v1/{PROJECT}/stacks"


class Browser:
    """A client that has a cookie, and no token."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, url: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Ask as a browser: `page=""` leaves the page's header out."""
        sent = dict(PAGE) if headers.pop("page", "1") else {}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        token, self.api.token = self.api.token, None
        try:
            answer = self.api.ask(method, url, body, headers=sent)
        finally:
            self.api.token = token
            self.api.forget_cookies()
        for one in answer.headers.get_list("set-cookie"):
            name, _, value = one.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        return answer

    def log_in(self) -> httpx2.Response:
        answer = self.ask("POST", SESSION, {"code": self.code()})
        assert answer.status_code == 201, answer.text
        return answer

    def code(self) -> str:
        code: str = self.api.run(self.api.sessions.new_code(PROJECT))
        return code


@pytest.fixture
def browser(shared: Api) -> Iterator[Browser]:
    yield Browser(shared)


def test_a_code_begins_a_session_once(browser: Browser) -> None:
    code = browser.code()
    answer = browser.ask("POST", SESSION, {"code": code})
    assert answer.status_code == 201
    told = answer.json()["session"]
    assert (told["project"], told["user"], told["operator"]) == (PROJECT, "isotherm", True)
    assert browser.ask("GET", STACKS).status_code == 200
    again = Browser(browser.api)
    assert again.ask("POST", SESSION, {"code": code}).status_code == 401
    assert again.cookies == {}
    assert again.ask("GET", STACKS).status_code == 401


def test_of_two_logins_with_one_code_one_gets_in(browser: Browser) -> None:
    code = browser.code()
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(browser.api.ask("POST", SESSION, {"code": code}, headers=PAGE).status_code)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    browser.api.forget_cookies()
    assert sorted(statuses) == [201, 401, 401, 401]


def test_a_code_is_over_after_a_minute(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_sessions, "CODE_S", -1.0)
    assert browser.ask("POST", SESSION, {"code": browser.code()}).status_code == 401


@pytest.mark.parametrize("body", [{}, {"code": 7}, {"code": None}, {"code": ["x"]}, {"code": ""}, {"code": "x" * 10_000},
                                  {"code": "\u0000'; DROP TABLE page_sessions; --"}, {"user": "a", "password": "b"}])
def test_a_wrong_code_gives_no_session(browser: Browser, body: dict[str, Any]) -> None:
    browser.api.throttle_nobody()
    assert browser.ask("POST", SESSION, body).status_code in (400, 401)
    assert browser.cookies == {}


def test_a_cookie_is_no_code_and_a_code_no_cookie(browser: Browser) -> None:
    browser.log_in()
    (name, value), = browser.cookies.items()
    other = Browser(browser.api)
    assert other.ask("POST", SESSION, {"code": value}).status_code == 401
    other.cookies = {name: other.code()}
    assert other.ask("GET", STACKS).status_code == 401


def test_the_flags_of_the_cookie(browser: Browser) -> None:
    answer = browser.log_in()
    flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert "secure" not in flags
    assert not any(one.startswith("domain") for one in flags)
    assert answer.headers["cache-control"] == "no-store"


def test_under_https_the_cookie_is_bound_to_the_host(browser: Browser) -> None:
    answer = browser.ask("POST", SESSION.replace("http:", "https:"), {"code": browser.code()})
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == "__Host-isotherm"
    assert "secure" in rest.lower()


def test_a_cookie_that_was_planted_is_not_taken_over(browser: Browser) -> None:
    """Fixation: the value after the login is another one, and the one before is worth nothing."""
    browser.log_in()
    (name, value), = browser.cookies.items()
    victim = Browser(browser.api)
    victim.cookies = {name: "chosen-by-an-attacker"}
    victim.log_in()
    assert victim.cookies[name] not in ("chosen-by-an-attacker", value)
    attacker = Browser(browser.api)
    attacker.cookies = {name: "chosen-by-an-attacker"}
    assert attacker.ask("GET", STACKS).status_code == 401


def test_a_second_login_ends_the_session_before_it(browser: Browser) -> None:
    browser.log_in()
    before = dict(browser.cookies)
    browser.log_in()
    assert browser.cookies != before
    old = Browser(browser.api)
    old.cookies = before
    assert old.ask("GET", STACKS).status_code == 401
    assert browser.ask("GET", STACKS).status_code == 200


def test_logging_out_ends_the_session_on_the_server(browser: Browser) -> None:
    browser.log_in()
    kept = dict(browser.cookies)
    assert browser.ask("DELETE", SESSION).status_code == 204
    browser.cookies = kept
    assert browser.ask("GET", STACKS).status_code == 401
    assert browser.ask("GET", SESSION).json()["session"] is None
    assert browser.ask("DELETE", SESSION).status_code == 204


def test_a_session_ends_by_itself(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    browser.log_in()
    clock = browser.api.engine.clock
    now = clock.now() + page_sessions.SESSION_S + 1
    monkeypatch.setattr(clock, "now", lambda: now)
    assert browser.ask("GET", STACKS).status_code == 401


def test_a_session_is_not_in_the_database_in_clear(browser: Browser) -> None:
    code = browser.code()
    browser.log_in()
    everything = str(databases.rows(browser.api.engine.path)["page_sessions"])
    assert everything != "[]"
    assert code not in everything
    assert not [value for value in browser.cookies.values() if value in everything]


@pytest.mark.parametrize("headers", [
    {"page": ""}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1.evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
    {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example"}, {"Host": "localhost.evil.example:80"}, {"Host": ""}])
def test_the_cookie_is_worth_nothing_to_another_page(browser: Browser, headers: dict[str, str]) -> None:
    browser.log_in()
    for method, url in (("GET", STACKS), ("POST", STACKS), ("GET", f"{HOST}/v1/{PROJECT}/events/stream")):
        assert browser.ask(method, url, {} if method == "POST" else None, **headers).status_code == 401
    assert browser.ask("DELETE", SESSION, **headers).status_code == 403
    assert Browser(browser.api).ask("POST", SESSION, {"code": browser.code()}, **headers).status_code == 403
    assert browser.ask("GET", STACKS).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8004", "LOCALHOST", "[::1]:8004", "127.0.0.1:9"])
def test_the_page_is_served_on_loopback(browser: Browser, host: str) -> None:
    answer = browser.ask("POST", SESSION, {"code": browser.code()}, Host=host, Origin=f"http://{host}")
    assert answer.status_code == 201
    assert browser.ask("GET", STACKS, Host=host, Origin=f"http://{host}".lower()).status_code == 200


def test_cors_is_never_granted(browser: Browser) -> None:
    for url in (STACKS, SESSION, f"{HOST}/ui/"):
        answer = browser.ask("OPTIONS", url, Origin="http://evil.example", Access_Control_Request_Method="GET",
                             Access_Control_Request_Headers="x-isotherm-page")
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_token_works_as_ever_and_wins(browser: Browser) -> None:
    browser.log_in()
    assert browser.api.ask("GET", STACKS).status_code == 200
    assert browser.ask("GET", STACKS, X_Auth_Token="wrong").status_code == 401


def test_answers_to_a_cookie_are_not_kept_by_the_browser(browser: Browser) -> None:
    browser.log_in()
    assert browser.ask("GET", STACKS).headers["cache-control"] == "no-store"
    assert "cache-control" not in browser.api.ask("GET", STACKS).headers


def test_every_route_wants_the_header_of_the_page(browser: Browser) -> None:
    browser.log_in()
    known = dict.fromkeys((name for route in routes.TABLE for name in things.names(route)), "none")
    for route in routes.TABLE:
        place = things.place(route, {**known, "project": PROJECT})
        assert browser.ask(route.method, f"{HOST}/v1/{PROJECT}{place}", page="").status_code == 401, route


def test_attempts_are_limited(browser: Browser) -> None:
    browser.api.throttle_nobody()
    statuses = [browser.ask("POST", SESSION, {"code": "x"}).status_code for _ in range(logins.ATTEMPTS + 1)]
    assert statuses == [401] * logins.ATTEMPTS + [429]
    assert int(browser.ask("POST", SESSION, {"code": "x"}).headers["retry-after"]) > 0
    browser.api.throttle_nobody()


def test_logins_that_succeed_are_not_counted(browser: Browser) -> None:
    browser.api.throttle_nobody()
    for _ in range(logins.ATTEMPTS * 2):
        browser.log_in()


def test_a_large_body_is_refused(browser: Browser) -> None:
    assert browser.ask("POST", SESSION, {"code": "x" * 100_000}).status_code == 400
