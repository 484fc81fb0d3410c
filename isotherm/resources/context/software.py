"""Software configs and their deployments to servers, and the port through which types use them.

They have an API of their own, as in Heat, and resources are only one kind of user: fields that the API does not require
may be None. A config never changes. A deployment says which config a server applies, and its result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

UNGROUPED, COMPONENT = "Heat::Ungrouped", "component"
IN_PROGRESS, COMPLETE, FAILED = "IN_PROGRESS", "COMPLETE", "FAILED"
STDOUT, STDERR, STATUS_CODE = "deploy_stdout", "deploy_stderr", "deploy_status_code"

_NAMESPACE = uuid.UUID("5d7c1c0e-8a5b-4f0e-9a43-6f4a5a0b6d11")


class Config(msgspec.Struct, frozen=True):
    """A config: its tool (`group`), content, inputs and outputs."""

    id: str
    name: str | None
    group: str | None = UNGROUPED
    config: Any = None
    inputs: Sequence[Mapping[str, Any]] = ()
    outputs: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] | None = None
    created_at: float = 0.0


class Deployment(msgspec.Struct, frozen=True):
    """A config that is deployed to a server, and its result."""

    id: str
    server_id: str | None
    config_id: str
    action: str | None
    status: str | None
    status_reason: str
    input_values: Mapping[str, Any] | None = None
    output_values: Mapping[str, Any] | None = None
    created_at: float = 0.0
    updated_at: float | None = None


class SoftwareTarget(msgspec.Struct, frozen=True):
    """A resource that software is deployed to."""

    token: str
    data: dict[str, Any]
    metadata: Any


class Software(Protocol):
    """The configs and deployments of a stack's project. All methods are idempotent."""

    def guarded(self, check: Callable[[], None]) -> Software:
        """Return the same port; each change calls `check` first."""
        ...

    async def create_config(self, stack_id: str, config: Config) -> None: ...

    async def config(self, stack_id: str, config_id: str) -> Config | None: ...

    async def delete_config(self, stack_id: str, config_id: str) -> None: ...

    async def put_deployment(self, stack_id: str, deployment: Deployment) -> None:
        """Create or update a deployment."""
        ...

    async def deployment(self, stack_id: str, deployment_id: str) -> Deployment | None: ...

    async def delete_deployment(self, stack_id: str, deployment_id: str) -> None: ...

    async def deployed(self, stack_id: str, server_id: str) -> Sequence[Config]:
        """Return the configs that a server has to apply, by name."""
        ...

    async def server(self, stack_id: str, server_id: str) -> SoftwareTarget | None:
        """Return the resource of the stack's project with this physical id; None if there is none any more."""
        ...


def shown(one: Config) -> dict[str, Any]:
    """Return a config in the form of Heat's API."""
    return {
        "id": one.id, "name": one.name, "group": one.group, "creation_time": _time(one.created_at), "config": one.config,
        "inputs": list(one.inputs), "outputs": list(one.outputs), "options": one.options,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def id_for(token: str, *what: object) -> str:
    """Return an id derived from a token: the same for each call."""
    return str(uuid.uuid5(_NAMESPACE, "/".join([token, *map(str, what)])))


def outcome(outputs: Sequence[Mapping[str, Any]], details: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return the meaning of a server's signal: status, reason, and output values."""
    values: dict[str, Any] = {}
    wrong: dict[str, Any] = {}
    code = details.get(STATUS_CODE)
    if code and str(code) != "0":
        wrong[STATUS_CODE] = f"Deployment exited with non-zero status code: {code}"
    for output in outputs:
        name = output["name"]
        if name in details:
            values[name] = details[name]
            if output.get("error_output"):
                wrong[name] = details[name]
    values.update({name: details.get(name) for name in (STDOUT, STDERR, STATUS_CODE)})
    if wrong:
        return FAILED, ", ".join(f"{name} : {value}" for name, value in wrong.items())[:1000], values
    return COMPLETE, "Outputs received", values
