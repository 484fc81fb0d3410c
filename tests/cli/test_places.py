"""Templates and environments from URLs, and the files that they name."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from isotherm.cli import codes
from isotherm.cli.client import places
from tests.cli.conftest import Run

TEMPLATE = """
heat_template_version: 2018-08-31
parameters: {colour: {type: string}}
resources:
  lamp: {type: OS::Heat::Value, properties: {value: {get_file: scripts/run.sh}}}
  inner: {type: parts/inner.yaml}
  own: {type: My::Type}
"""
INNER = """heat_template_version: 2018-08-31
resources: {v: {type: OS::Heat::Value, properties: {value: {get_file: x.sh}}}}
"""
ENVIRONMENT = "parameters: {colour: blue}\nresource_registry: {'My::Type': own.yaml}\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Serve a template with its files; return the URL of their folder."""
    folder = tmp_path / "served"
    for name, text in {"t.yaml": TEMPLATE, "scripts/run.sh": "echo", "parts/inner.yaml": INNER, "parts/x.sh": "inside",
                       "env/e.yaml": ENVIRONMENT, "env/own.yaml": INNER, "env/x.sh": "of the environment"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stack_from_urls(run: Run, home: Path, address: str) -> None:
    home.mkdir()
    (home / "isotherm.conf").write_text("[DEFAULT]\nallowed_fetch_networks = 127.0.0.0/8\n")
    assert run("validate", f"{address}/t.yaml", "-e", f"{address}/env/e.yaml").code == codes.OK
    ran = run("deploy", "web", "-t", f"{address}/t.yaml", "-e", f"{address}/env/e.yaml")
    assert (ran.code, ran.err) == (codes.OK, "")
    found = run("files", "web", "--json").data
    assert {name: text for name, text in found.items() if not name.endswith(".yaml")} == {
        "scripts/run.sh": "echo", "parts/x.sh": "inside", "env/x.sh": "of the environment"}
    assert "get_file: parts/x.sh" in found["parts/inner.yaml"]
    assert "get_file: env/x.sh" in found["env/own.yaml"]
    missing = run("deploy", "other", "-t", f"{address}/none.yaml")
    assert missing.code == codes.WRONG
    assert f"{address}/none.yaml" in missing.err
    assert "404" in missing.err


def test_a_private_address_is_refused_unless_it_is_allowed(run: Run, address: str) -> None:
    ran = run("deploy", "web", "-t", f"{address}/t.yaml")
    assert ran.code == codes.WRONG
    assert "allowed_fetch_networks" in ran.err


@pytest.mark.parametrize(("place", "base", "name"), [
    (Path("/a/b/c.yaml"), Path("/a"), "b/c.yaml"),
    (Path("/a/c.yaml"), Path("/a/b"), "../c.yaml"),
    ("https://h/a/b/c.yaml", "https://h/a/", "b/c.yaml"),
    ("https://h/c.yaml", "https://h/a/", "../c.yaml"),
    ("https://other/c.yaml", "https://h/a/", "https://other/c.yaml"),
    ("https://h/c.yaml?v=1", "https://h/", "https://h/c.yaml?v=1"),
    ("https://h/c.yaml", Path("/a"), "https://h/c.yaml"),
    (Path("/a/c.yaml"), "https://h/", "file:///a/c.yaml"),
])
def test_names_relative_to_the_template(place: places.Place, base: places.Place, name: str) -> None:
    assert places.relative(place, base) == name
