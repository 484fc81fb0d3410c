"""The API over a whole engine on a scratch folder, and helpers to call it.

The engine runs on a loop of its own in a thread, as in a service; tests ask one thing after the other.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from isotherm.api import app
from isotherm.api.auth import standalone
from isotherm.api.browser.access import PageAccess
from isotherm.api.browser.logins import CodeLogin
from isotherm.api.http import faults
from isotherm.api.request.service import ApiPorts
from isotherm.config import Settings
from isotherm.engine.process import gauges, service_list, service_load
from isotherm.engine.process.embedded import Embedded
from isotherm.identity.caller import Caller
from isotherm.identity.page_sessions import SessionStore
from tests import databases, of_one_database
from tests.engine.conftest import PATHS
from tests.engine.differences import DIFFERENCES
from tools import keystone as identity

# Nothing in these tests takes longer on an idle machine than a second; on a busy one, patience costs nothing.
PATIENCE_S = 240.0
ROOT = "http://isotherm.test"
TOKEN = "a-token-for-tests"
PROJECT = "default"


class Rules:
    """A policy that allows all rules except those that a test forbids by name, and records the checks."""

    def __init__(self) -> None:
        self.forbidden: set[str] = set()
        self.asked: list[str] = []

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None:
        self.asked.append(rule)
        if rule in self.forbidden:
            raise faults.forbidden(f"You are not authorized to use {rule}.", "Forbidden")

    def allows(self, rule: str, caller: Caller, target: Mapping[str, str]) -> bool:
        self.asked.append(rule)
        return rule not in self.forbidden

    def check_type(self, type_: str, caller: Caller) -> None:
        self.check(f"resource_types:{type_}", caller, {})

    def allows_type(self, type_: str, caller: Caller) -> bool:
        return self.allows(f"resource_types:{type_}", caller, {})


class Doorkeeper:
    """Authenticates the user of standalone mode, and the callers that a test adds."""

    def __init__(self) -> None:
        self._owner = standalone.Standalone(TOKEN)
        self.others: dict[str, Caller] = {}

    async def authenticate(self, request: Request) -> Caller:
        other = self.others.get(request.headers.get("x-auth-token", ""))
        return other or await self._owner.authenticate(request)


class Api:
    """A client with the token of standalone mode. Paths are below `/v1/<project>` unless they begin with `http`."""

    def __init__(self, engine: Embedded, settings: Settings, loop: asyncio.AbstractEventLoop, policy: Any = None) -> None:
        self.engine = engine
        self.rules = policy or Rules()
        self.doorkeeper = Doorkeeper()
        self.project = PROJECT
        self.token: str | None = TOKEN
        self._loop = loop
        service = ApiPorts(
            engine.orchestrator_for,
            engine.types,
            settings,
            lambda: service_list.engines(engine),
            engine.feed,
            signer=engine.signer,
            gauges=lambda: gauges.gauge(engine),
            load=lambda: service_load.read(engine),
            key_ring=engine.ring,
        )
        self.sessions = SessionStore(engine.store, engine.clock)
        self._login = CodeLogin(self.sessions)
        self.app = app.build(service, self.doorkeeper, self.rules, PageAccess(self.sessions, self._login))
        self._client = httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app))

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> httpx2.Response:
        headers = {**({"X-Auth-Token": self.token} if self.token else {}), **options.pop("headers", {})}
        url = path if path.startswith("http") else f"{ROOT}/v1/{self.project}{path}"
        if body is not None:
            options["json"] = body
        answer: httpx2.Response = self.run(self._client.request(method, url, headers=headers, **options))
        return answer

    def get(self, path: str, **query: Any) -> httpx2.Response:
        return self.ask("GET", path, **({"params": query} if query else {}))

    def post(self, path: str, body: Any = None, **query: Any) -> httpx2.Response:
        return self.ask("POST", path, body, **({"params": query} if query else {}))

    def put(self, path: str, body: Any = None, **query: Any) -> httpx2.Response:
        return self.ask("PUT", path, body, **({"params": query} if query else {}))

    def patch(self, path: str, body: Any = None, **query: Any) -> httpx2.Response:
        return self.ask("PATCH", path, body, **({"params": query} if query else {}))

    def delete(self, path: str) -> httpx2.Response:
        return self.ask("DELETE", path)

    @contextmanager
    def somebody(self, project: str, *, admin: bool = False, roles: tuple[str, ...] = ("member", "reader"),
                 **known: Any) -> Iterator[Caller]:
        """Act as another caller inside the block, in that caller's project."""
        caller = Caller(project, "u1", "somebody", frozenset(roles), admin, project, **known)
        before = (self.token, self.project)
        self.token, self.project = f"token-of-{project}", project
        self.doorkeeper.others[self.token] = caller
        try:
            yield caller
        finally:
            self.token, self.project = before

    def forget_cookies(self) -> None:
        """Forget what the client keeps by itself: tests of cookies send their own."""
        self._client.cookies.clear()

    def throttle_nobody(self) -> None:
        """Forget the attempts to log in."""
        self._login.throttle.clear()

    # Stacks.

    def create(self, name: str, resources: Mapping[str, Any] | None = None, *, wait: bool = True, **body: Any) -> str:
        """Create a stack of these resources; return its path."""
        body.setdefault("template", template(resources or {}))
        answer = self.post("/stacks", {"stack_name": name, **body})
        assert answer.status_code == 201, answer.text
        path = f"/stacks/{name}/{answer.json()['stack']['id']}"
        if wait:
            self.end(path)
        return path

    def end(self, path: str) -> dict[str, Any]:
        """Wait until nothing is under way on the stack."""
        until = time.monotonic() + PATIENCE_S
        while True:
            stack: dict[str, Any] = self.get(path, resolve_outputs=False).json()["stack"]
            if not stack["stack_status"].endswith("IN_PROGRESS"):
                return stack
            assert time.monotonic() < until, stack
            time.sleep(0.02)

    async def close(self) -> None:
        await self._client.aclose()


def template(resources: Mapping[str, Any], **sections: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", **sections, "resources": dict(resources)}


def resource(value: Any = "x", **properties: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": value, **properties}}


def fault(answer: httpx2.Response) -> tuple[int, str, Any]:
    """Return status, type and message of an error; assert the keys of its envelope."""
    told = answer.json()
    assert set(told) - {"problems"} == {"code", "title", "explanation", "error"}, told
    assert told["code"] == answer.status_code
    return answer.status_code, told["error"]["type"], told["error"].get("message")


@contextmanager
def serving(folder: Path, policy: Any = None, **options: Any) -> Iterator[Api]:
    """Serve the API over a running engine with these options; the policy allows everything unless the test gives one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    engine = Embedded(folder)
    engine.settings = dataclasses.replace(engine.settings, **options)
    engine.service_ports = dataclasses.replace(engine.service_ports, settings=engine.settings)
    engine.address = ROOT
    api = Api(engine, engine.settings, loop, policy)
    stack = AsyncExitStack()
    try:
        api.run(stack.enter_async_context(engine.on_bus()))
        api.run(stack.enter_async_context(engine.driving()))
        yield api
    finally:
        api.run(stack.aclose())
        api.run(api.close())
        engine.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# What these are about is done by an engine: each of their tests is asked on both paths.
BOTH = frozenset({"test_actions", "test_events", "test_export", "test_outputs", "test_resources", "test_snapshots",
                  "test_software", "test_stacks"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module, test = metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__
    for fixture in {"api", "shared"} & set(metafunc.fixturenames):
        if module in BOTH and test not in DIFFERENCES:
            paths = of_one_database.paths(databases.ON, PATHS)
            metafunc.parametrize(fixture, paths, indirect=True, scope="function" if fixture == "api" else "module")


def _on(request: pytest.FixtureRequest) -> dict[str, bool]:
    """Return the option that chooses the path of new stacks."""
    return {"convergence_engine": getattr(request, "param", "convergence") == "convergence"}


@pytest.fixture
def api(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Api]:
    with serving(tmp_path, **_on(request)) as it:
        yield it


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Api]:
    """Yield one API per module, for tests that only read or use names of their own."""
    with serving(tmp_path_factory.mktemp("shared"), **_on(request)) as it:
        yield it


@pytest.fixture
def with_options(tmp_path: Path) -> Iterator[Callable[..., Api]]:
    """Yield a function that serves an API with given options."""
    opened = []

    def serve(**options: Any) -> Api:
        made = serving(tmp_path, **options)
        opened.append(made)
        return made.__enter__()

    yield serve
    for one in opened:
        one.__exit__(None, None, None)


@pytest.fixture(scope="session")
def keystone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[identity.Keystone]:
    """Yield a real Keystone, shared by the tests of this process; tools/identity/seed.py has users and passwords."""
    with identity.started(tmp_path_factory.mktemp("keystone")) as it:
        yield it
