"""Templates and files that a request names by URL (cases 19 to 24), through the API."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isotherm.api.request import remote_files
from tests.api.conftest import Api, fault, resource, template

REFUSED = "The URL cannot be fetched by this service."
LOOPBACK = ("127.0.0.1/32",)


class Site(http.server.ThreadingHTTPServer):
    """A web site on loopback. What is asked for and not there is a 404."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.pages: dict[str, str] = {}
        self.asked: list[str] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        text = self.server.pages.get(self.path)
        self.send_response(404 if text is None else 200)
        content = (text or "").encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Any]:
    it = Site()
    thread = threading.Thread(target=it.serve_forever)
    thread.start()
    yield it
    it.shutdown()
    thread.join()
    it.server_close()


@pytest.fixture
def api(with_options: Callable[..., Api]) -> Any:
    return with_options(allowed_fetch_networks=LOOPBACK)


def created(api: Any, **body: Any) -> Any:
    answer = api.post("/stacks", {"stack_name": "s", **body})
    assert answer.status_code == 201, answer.text
    path = f"/stacks/s/{answer.json()['stack']['id']}"
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    return path


def test_a_template_by_url(api: Any, site: Any) -> None:
    site.pages["/t.yaml"] = json.dumps(template({"a": resource("fetched")}))
    path = created(api, template_url=f"{site.url}/t.yaml")
    assert api.get(f"{path}/template").json()["resources"]["a"]["properties"]["value"] == "fetched"
    assert site.asked == ["/t.yaml"], "once"


def test_files_by_url(api: Any, site: Any) -> None:
    inner = template({"i": resource({"get_file": f"{site.url}/b.txt"})})
    site.pages.update({"/a.txt": "text-a", "/b.txt": "text-b", "/inner.yaml": json.dumps(inner),
                       "/mapped.yaml": json.dumps(template({"m": resource("mapped")}))})
    outer = template({"f": resource({"get_file": f"{site.url}/a.txt"}), "n": {"type": f"{site.url}/inner.yaml"},
                      "m": {"type": "My::Type"}})
    path = created(api, template=outer, environment={"resource_registry": {"My::Type": f"{site.url}/mapped.yaml"}})
    files = api.get(f"{path}/files").json()
    assert files[f"{site.url}/a.txt"] == "text-a"
    assert files[f"{site.url}/b.txt"] == "text-b"
    assert sorted(site.asked) == ["/a.txt", "/b.txt", "/inner.yaml", "/mapped.yaml"], "each once"
    # The request is complete, so the state of the site has no effect any more.
    site.pages.clear()
    assert api.patch(path, {"parameters": {}}).status_code == 202
    assert api.end(path)["stack_status"] == "UPDATE_COMPLETE"


def test_what_the_client_sent_is_not_fetched(api: Any, site: Any) -> None:
    url = f"{site.url}/a.txt"
    created(api, template=template({"f": resource({"get_file": url})}), files={url: "sent"})
    assert site.asked == []


@pytest.mark.parametrize("way", ["template_url", "get_file", "type", "registry"])
@pytest.mark.parametrize("url", [
    "http://169.254.169.254/latest/x.yaml", "http://127.0.0.2:1/x.yaml", "http://[::1]/x.yaml",
    "http://user:MARKER@127.0.0.1/x.yaml"])
def test_what_may_not_be_fetched_is_refused_and_nothing_remains(api: Any, way: Any, url: Any) -> None:
    body = {
        "template_url": {"template_url": url},
        "get_file": {"template": template({"a": resource({"get_file": url})})},
        "type": {"template": template({"a": {"type": url}})},
        "registry": {"template": template({"a": {"type": "T"}}), "environment": {"resource_registry": {"T": url}}},
    }[way]
    for path in ("/stacks", "/stacks/preview", "/validate"):
        answer = api.post(path, {"stack_name": "s", **body})
        assert fault(answer) == (400, "HTTPBadRequest", REFUSED)
        assert "MARKER" not in answer.text
    assert api.get("/stacks").json()["stacks"] == []
    files = [file for file in api.engine.path.rglob("*") if file.is_file()]
    assert not [file for file in files if b"MARKER" in file.read_bytes()], "not stored, not logged"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://x/", "/dev/zero", "ftp://127.0.0.1/x.yaml"])
def test_other_schemes_are_refused_in_the_same_words(api: Any, url: Any) -> None:
    assert fault(api.post("/stacks", {"stack_name": "s", "template_url": url})) == (400, "HTTPBadRequest", REFUSED)


def test_one_request_does_not_become_thousands(api: Any, site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "MOST", 5)
    site.pages.update({f"/{n}.txt": "x" for n in range(10)})
    many = template({f"r{n}": resource({"get_file": f"{site.url}/{n}.txt"}) for n in range(10)})
    assert fault(api.post("/stacks", {"stack_name": "s", "template": many}))[1] == "RequestLimitExceeded"
    assert len(site.asked) == 5


def test_a_template_that_includes_itself_is_fetched_once(api: Any, site: Any) -> None:
    url = f"{site.url}/self.yaml"
    site.pages["/self.yaml"] = json.dumps(template({"a": {"type": url}}))
    assert api.post("/stacks", {"stack_name": "s", "template_url": url}).status_code == 400
    assert site.asked.count("/self.yaml") <= 2, "as the template, and as the file that it names"


def test_all_together_they_are_limited(with_options: Callable[..., Api], site: Any) -> None:
    api = with_options(allowed_fetch_networks=LOOPBACK, max_files_size=1000)
    site.pages.update({f"/{n}.txt": "x" * 400 for n in range(10)})
    many = template({f"r{n}": resource({"get_file": f"{site.url}/{n}.txt"}) for n in range(10)})
    status, kind, text = fault(api.post("/stacks", {"stack_name": "s", "template": many}))
    assert (status, kind) == (400, "RequestLimitExceeded")
    assert "(1000 bytes)" in text
    assert len(site.asked) == 3


def test_a_fetched_text_is_not_visible_to_other_users(api: Any, site: Any) -> None:
    """Case 24: no cache, no list of types and no error reveals it."""
    site.pages["/MARKER.yaml"] = json.dumps(template({"a": resource()}))
    created(api, template=template({"n": {"type": f"{site.url}/MARKER.yaml"}}))
    with api.somebody("other"):
        assert "MARKER" not in api.get("/resource_types").text
        api.post("/stacks", {"stack_name": "t", "template": template({"n": {"type": f"{site.url}/MARKER.yaml"}})})
    assert site.asked == ["/MARKER.yaml"] * 2
