"""openstacksdk for tests: what it can do with an orchestration service, and a watch on what was done."""

from __future__ import annotations

from typing import Any

from openstack.cloud._orchestration import OrchestrationCloudMixin
from openstack.connection import Connection
from openstack.orchestration.v1._proxy import Proxy


def calls() -> set[str]:
    """Every public call of the orchestration proxy, and of the layer above it."""
    return {f"{where}.{name}" for where, owner in (("proxy", Proxy), ("cloud", OrchestrationCloudMixin))
            for name, value in vars(owner).items() if callable(value) and not name.startswith("_")}


class Watched:
    """A connection, of which `proxy` and `cloud` remember what they were called for."""

    def __init__(self, connection: Connection) -> None:
        self.done: set[str] = set()
        self.proxy: Any = _Watch("proxy", connection.orchestration, self.done)
        self.cloud: Any = _Watch("cloud", connection, self.done)


class _Watch:
    def __init__(self, name: str, it: Any, done: set[str]) -> None:
        self._name, self._it, self._done = name, it, done

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._it, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._done.add(f"{self._name}.{name}")
            return found(*arguments, **named)

        return call
