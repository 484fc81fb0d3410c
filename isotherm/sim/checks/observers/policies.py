"""The policy and mode of every resource (I19), worked out from the clients' requests alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.checks.protection import Protections
from isotherm.sim.histories.history import Request, Verb

# From the weakest to the strongest.
MODES = ("active", "maintenance", "paused")


@dataclass(slots=True)
class _Setting:
    """Policies and mode that clients have set on a stack."""

    policy: str = ""
    mode: str = "active"
    overrides: dict[str, str] = field(default_factory=dict)


class WatchPolicies:
    """Policies and modes of the stacks, their resources and the project."""

    def __init__(self, evidence: Evidence, default: str, protections: Protections) -> None:
        self._database = evidence.database
        self._cloud = evidence.cloud
        self._protections = protections
        self._default = default
        self._settings: dict[str, _Setting] = {}
        self._project_mode = "active"

    def set(self, request: Request, stack_id: str) -> bool:
        """Record a request; return whether it is about the whole project."""
        if request.verb is Verb.PROJECT:
            self._project_mode = request.word
            return True
        setting = self._settings.setdefault(stack_id, _Setting())
        if request.verb is Verb.OVERRIDE:
            setting.overrides[request.resource] = request.word
        elif request.word in MODES:
            setting.mode = request.word
        else:
            setting.policy = request.word
        return False

    def policy(self, row: Any, stacks: dict[str, Any]) -> str:
        """Return the policy of a resource: of its override, its metadata, its stack, then of the outer stacks."""
        version, inner = row, ""
        for stack_id, name in locations(row, stacks):
            if inner:
                version = next((one for one in self._database.read_table("resources") if one.physical_id == inner), None)
            setting = self._settings.get(stack_id, _Setting())
            if name in setting.overrides:
                return setting.overrides[name]
            metadata = {} if version is None else msgspec.json.decode(version.metadata) or {}
            if "isotherm" in metadata:
                return str(metadata["isotherm"]["drift"])
            if setting.policy:
                return setting.policy
            inner = stack_id
        return self._default

    def mode(self, stack_id: str, stacks: dict[str, Any]) -> str:
        """Return the strongest mode of the stack, its outer stacks and the project."""
        modes = [self._settings[id_].mode for id_ in with_owners(stack_id, stacks) if id_ in self._settings]
        return max([self._project_mode, *modes], key=MODES.index)

    def is_to_repair(self, row: Any, stacks: dict[str, Any]) -> bool:
        wanted = self.policy(row, stacks) == "repair" and self.mode(row.stack_id, stacks) == "active" and not row.external
        return wanted and not self._is_forbidden(row, stacks)

    def _is_forbidden(self, row: Any, stacks: dict[str, Any]) -> bool:
        """Return whether a protection forbids any change of the object, or of an outer stack as a nested one.

        An object that is gone can be made again.
        """
        if row.physical_id in self._cloud.things and self._protections.forbids_change(row):
            return True
        around = {stacks[id_].id for id_ in with_owners(row.stack_id, stacks)}
        return any(one.physical_id in around and self._protections.forbids_change(one)
                   for one in self._database.read_table("resources"))


def with_owners(stack_id: str | None, stacks: dict[str, Any]) -> Iterator[str]:
    """Yield the ids of the stack and of its outer stacks."""
    while stack_id is not None and stack_id in stacks:
        yield stack_id
        stack_id = stacks[stack_id].owner_id


def locations(row: Any, stacks: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the stack and the name of a resource, then those of each resource that contains it."""
    stack, name = stacks[row.stack_id], row.name
    yield stack.id, name
    while (around := stacks.get(stack.owner_id)) is not None:
        stack, name = around, stack.name.removeprefix(f"{around.name}-").rpartition("-")[0]
        yield stack.id, name


def top(row: Any, stacks: dict[str, Any]) -> tuple[str, str]:
    """Return the outermost stack, and the name of its resource that is, or contains, this resource."""
    *_, outermost = locations(row, stacks)
    return outermost
