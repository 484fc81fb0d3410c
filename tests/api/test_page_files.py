"""The files of the built page: headers, caching, no path that leads out, and a service without a page."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from isotherm.api.browser import routes
from isotherm.config import Settings
from isotherm.web import files, headers
from tests.api.conftest import Api

PAGE = "http://127.0.0.1/ui/"
SCRIPT = "console.log('page');" * 200


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page like a built one, in the place where the service looks."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "app-1A2B3C4D.js").write_text(SCRIPT)
    (folder / "assets" / "plain.css").write_text("a{}")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr(files, "FOLDER", folder)
    return folder


def get(api: Api, path: str, **sent: str) -> httpx2.Response:
    return api.ask("GET", path if path.startswith("http") else PAGE + path,
                   headers={name.replace("_", "-"): value for name, value in sent.items()})


def raw(api: Api, path: bytes) -> tuple[int, bytes]:
    """Ask for a path as it stands: clients tidy paths up."""
    told: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        told.append(message)

    scope = {"type": "http", "method": "GET", "path": path.decode("latin-1"), "raw_path": path, "query_string": b"",
             "headers": [(b"host", b"127.0.0.1")], "scheme": "http", "server": ("127.0.0.1", 80), "client": None,
             "http_version": "1.1", "asgi": {"version": "3.0"}, "root_path": ""}
    api.run(api.app(scope, receive, send))  # type: ignore[arg-type]  # dicts for the typed messages
    body = b"".join(one.get("body", b"") for one in told)  # type: ignore[misc]  # bytes, all of them
    status = told[0]["status"]
    assert isinstance(status, int)
    return status, body


def test_every_answer_has_the_headers(shared: Api, built: Path) -> None:
    for path in ("", "assets/app-1A2B3C4D.js", "assets/none.js", "stacks/a/b/graph", "session", "../ui"):
        answer = get(shared, path)
        for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"):
            if path != "session" or name == "X-Content-Type-Options":
                assert answer.headers[name] == headers.SAFE[name], path
    policy = headers.SAFE["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert {"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} <= set(policy.split("; "))


def test_a_file_with_a_hash_is_kept_and_the_front_is_asked_for_again(shared: Api, built: Path) -> None:
    script = get(shared, "assets/app-1A2B3C4D.js")
    assert (script.status_code, script.text) == (200, SCRIPT)
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    for path in ("", "index.html", "favicon.svg", "assets/plain.css"):
        assert get(shared, path).headers["cache-control"] == "no-store", path
    tag = script.headers["etag"]
    again = get(shared, "assets/app-1A2B3C4D.js", If_None_Match=tag)
    assert (again.status_code, again.content) == (304, b"")


def test_large_texts_are_sent_compressed(shared: Api, built: Path) -> None:
    sent = get(shared, "assets/app-1A2B3C4D.js", Accept_Encoding="gzip")
    assert sent.headers["content-encoding"] == "gzip"
    assert int(sent.headers["content-length"]) == len(gzip.compress(SCRIPT.encode(), 9)) < len(SCRIPT)
    assert "content-encoding" not in get(shared, "assets/app-1A2B3C4D.js", Accept_Encoding="identity").headers


def test_the_addresses_of_the_page_lead_to_the_front(shared: Api, built: Path) -> None:
    for path in ("", "stacks/web/0123/graph?r=a.b", "create", "stacks/my.stack/1/resources", "stacks/a%2Fb/c"):
        answer = get(shared, path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path


@pytest.mark.parametrize("path", [
    b"/ui/../secret.txt", b"/ui/../../secret.txt", b"/ui/assets/../../secret.txt", b"/ui//etc/passwd",
    b"/ui/assets/..%2f..%2fsecret.txt", b"/ui/%2e%2e/secret.txt", b"/ui/..\\secret.txt", b"/ui/assets/link.txt",
    b"/ui/assets/\x00", b"/ui/assets/", b"/ui/.", b"/ui/" + b"a/" * 2000, b"/ui/assets/plain.css/", b"/ui/\xff\xfe"])
def test_no_path_leads_out(shared: Api, built: Path, path: bytes) -> None:
    status, body = raw(shared, path)
    assert status in (200, 404)
    assert b"secret" not in body
    assert b"root:" not in body
    assert status == 404 or b"<title>page</title>" in body


def test_only_reading(shared: Api, built: Path) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert shared.ask(method, PAGE).status_code == 405
    assert shared.ask("HEAD", PAGE).status_code == 200


def test_under_another_host_there_is_no_page(shared: Api, built: Path) -> None:
    for host in ("evil.example", "127.0.0.1.nip.io", "0.0.0.0"):
        answer = get(shared, "", Host=host)
        assert (answer.status_code, "page</title>" in answer.text) == (403, False)


def test_a_page_that_is_built_again_is_served_again(shared: Api, built: Path) -> None:
    assert "page" in get(shared, "").text
    (built / "assets" / "new-11111111.js").write_text("1")
    (built / "index.html").write_text("<!doctype html><title>the newer one</title>")
    assert "the newer one" in get(shared, "").text
    assert get(shared, "assets/new-11111111.js").text == "1"


def test_without_a_built_page_the_service_says_how_to_build_it(
    shared: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path / "none")
    answer = get(shared, "")
    assert answer.status_code == 503
    assert "make setup" in answer.text
    assert shared.get("/stacks").status_code == 200


def test_a_browser_is_sent_from_the_root_to_the_page(shared: Api) -> None:
    browser = shared.ask("GET", "http://127.0.0.1/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (browser.status_code, browser.headers["location"]) == (303, "/ui/")
    assert get(shared, "http://127.0.0.1/ui").headers["location"] == "/ui/"
    for accept in ("*/*", "application/json", ""):
        assert shared.ask("GET", "http://127.0.0.1/", headers={"Accept": accept}).status_code == 300


def test_hosts_of_the_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    built = files.BuiltPage()
    settings = Settings(auth_strategy="keystone", page_hosts=("orchestration.example",))

    async def ask(host: str) -> int:
        transport = httpx2.ASGITransport(_app(routes.PageFiles(settings, built)))
        async with httpx2.AsyncClient(transport=transport) as client:
            return (await client.get(f"http://{host}/ui/")).status_code

    assert asyncio.run(ask("orchestration.example")) == 503
    assert asyncio.run(ask("other.example")) == 403
    assert asyncio.run(ask("127.0.0.1")) == 403


def _app(page: routes.PageFiles) -> Starlette:
    return Starlette(routes=[Route("/ui/{path:path}", page.serve)])
