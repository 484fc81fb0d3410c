"""The follower of a stack: reads its progress for a live display, in bounded queries.

The reader decides how often to read. A read costs the same for ten resources and for a hundred thousand, except the counts,
which are taken less often the longer they take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from isotherm.engine.queries import lists, views
from isotherm.states import ENDED, Action, NodeState, OperationState, Status
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import events, live, lookups, resource_list, tallies

if TYPE_CHECKING:
    from isotherm.resources import contract  # with the language of templates: a fifth of the start-up of the CLI

# The largest part of the time that counting may take.
_COUNTING = 0.05
# The most events that one read takes to learn start times; older events are not needed.
_EVENTS = 2000
# Nested stacks whose resources are counted. A stack with more of them shows no counts of what is nested.
_NESTED = 2000


@dataclass(frozen=True, slots=True)
class ResourceLine:
    """One resource in the display."""

    id: int
    name: str
    type: str
    state: NodeState
    action: Action
    status: Status
    # A superseded version, or a resource that the template does not have any more.
    unwanted: bool
    # Whether the newest operation visits the resource, and whether it has changed it.
    visited: bool
    touched: bool
    reason: str
    waits_for: Sequence[str] = ()
    waits_for_count: int = 0
    began_at: float | None = None
    ended_at: float | None = None
    # Of a nested stack: how many resources of its tree have ended, and how many it has.
    inner: tuple[int, int] | None = None

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "state": self.state.name, "action": self.action.name, "status": self.status.name}


@dataclass(frozen=True, slots=True)
class Frame:
    """The stack at one moment."""

    at: float
    stack: Mapping[str, Any]
    phase: OperationState
    began_at: float
    ended_at: float | None
    remaining: int
    counts: Mapping[NodeState, int]
    lines: Sequence[ResourceLine]
    # Whether the lines are all resources of the stack.
    whole: bool
    failures: Sequence[tuple[str, str]] = ()

    @property
    def ended(self) -> bool:
        return bool(self.stack["status"] != Status.IN_PROGRESS.name)

    def as_data(self) -> dict[str, Any]:
        """Return the frame as plain data, with states as words."""
        return {
            "at": self.at, "stack": self.stack, "phase": self.phase.name, "began_at": self.began_at,
            "ended_at": self.ended_at, "remaining": self.remaining,
            "counts": {state.name: number for state, number in self.counts.items()},
            "lines": [line.as_data() for line in self.lines], "whole": self.whole, "failures": list(self.failures),
        }


@dataclass(slots=True)
class _Times:
    """Start and end times by resource name, and failures, as far as the events show them."""

    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    last: int = 0
    operation_id: str = ""

    def take(self, happened: Sequence[lookups.Row], operation_id: str) -> None:
        if operation_id != self.operation_id:
            self.operation_id = operation_id
            self.failures.clear()
        for event in happened:
            self.last = event["id"]
            name = event["name"]
            if event["status"] == Status.IN_PROGRESS:
                self.began[name] = event["created_at"]
                self.ended.pop(name, None)
            else:
                self.ended[name] = event["created_at"]
                if event["status"] == Status.FAILED and name and event["operation_id"] == operation_id:
                    self.failures[name] = event["reason"]


class StackFollower:
    """Follows one stack."""

    def __init__(self, store: Store, clock: contract.Clock, stack_id: str) -> None:
        self._store = store
        self._clock = clock
        self.stack_id = stack_id
        self._times = _Times()
        # Of a big stack: the last picture that was counted. Lines and counts of a frame are of one moment.
        self._counted: live.Picture | None = None
        self._counts: Mapping[NodeState, int] = {}
        # By resource: the counts of the stack that is nested in it.
        self._inner: dict[str, tuple[int, int]] = {}
        self._count_at = 0.0
        self._phase: tuple[object, ...] = ()

    async def frame(self, lines: int) -> Frame:
        """Return the stack of this moment, with at most so many lines."""
        now = self._clock.now()
        # One transaction, so that all parts of the frame are of one moment.
        picture, happened = await self._store.read(lambda connection: self._read(connection, now, lines))
        self._times.take(happened, picture.stack["operation_id"])
        operation = picture.operation
        return Frame(
            now, views.stack(picture.stack), OperationState(operation["state"]) if operation else OperationState.COMPLETE,
            operation["created_at"] if operation else now, operation["ended_at"] if operation else now,
            operation["remaining"] if operation else 0, self._counts,
            [self._line(node, picture) for node in picture.nodes], picture.whole, list(self._times.failures.items()),
        )

    async def events(self, after: int, depth: int = 0) -> list[dict[str, Any]]:
        """Return the next events after an id, at most a thousand; those of nested stacks down to `depth` too."""
        return await lists.events_after(self._store, lists.StackInTree(self.stack_id, ""), after, depth)

    def _read(
        self, connection: Connection, now: float, lines: int
    ) -> tuple[live.Picture, Sequence[lookups.Row]]:
        picture = self._count(connection, live.picture(connection, self.stack_id, now, lines))
        return picture, events.newest(connection, self.stack_id, _EVENTS, self._times.last)

    def _count(self, connection: Connection, picture: live.Picture) -> live.Picture:
        """Count the resources, and return the picture that the counts belong to."""
        stack, operation = picture.stack, picture.operation
        phase = (stack["generation"], stack["status"], operation["state"] if operation else 0)
        began = time.monotonic()
        if began < self._count_at and phase == self._phase:
            if picture.whole:
                self._counts = _states(picture)
            return picture if picture.whole or self._counted is None else self._counted
        self._phase = phase
        self._counts = _states(picture) if picture.whole else lookups.counts(
            connection, self.stack_id, picture.stack["generation"])
        self._inner = _count_nested(connection, self.stack_id)
        self._counted = None if picture.whole else picture
        ended = time.monotonic()
        self._count_at = ended + (ended - began) / _COUNTING
        return picture

    def _line(self, node: Mapping[str, Any], picture: live.Picture) -> ResourceLine:
        state, name = node["state"], node["name"]
        visited = node["generation"] == picture.stack["generation"]
        unwanted = bool(node["superseded"]) or node["kind"].name == "CLEANUP"
        touched = node["operation_id"] == picture.stack["operation_id"]
        return ResourceLine(
            node["id"], name, node["type"] or "", state, Action(node["action"] or 0),
            Status(node["status"] or Status.IN_PROGRESS), unwanted, visited, touched,
            (node["version_reason"] if state is NodeState.FAILED else node["reason"]) or "",
            picture.waits_for.get(node["id"], ()), node["pending"] if state is NodeState.PENDING else 0,
            self._times.began.get(name), self._times.ended.get(name), None if unwanted else self._inner.get(name),
        )


def _states(picture: live.Picture) -> Mapping[NodeState, int]:
    """Count the nodes of the newest operation in a picture of the whole stack."""
    return Counter(node["state"] for node in picture.nodes if node["generation"] == picture.stack["generation"])


def _count_nested(connection: Connection, stack_id: str) -> dict[str, tuple[int, int]]:
    """Count the ended and all resources of the stacks nested in a stack, by the resource that contains each tree."""
    level = {one.id: one.resource for one in resource_list.inner(connection, [stack_id])}
    found: dict[str, tuple[int, int]] = {}
    stacks = 0
    while level and (stacks := stacks + len(level)) <= _NESTED:
        for id_, counts in tallies.by_stack(connection, list(level)).items():
            done, total = found.get(level[id_], (0, 0))
            ended = sum(number for state, number in counts.items() if state in ENDED)
            found[level[id_]] = done + ended, total + sum(counts.values())
        level = {one.id: level[one.around] for one in resource_list.inner(connection, list(level))}
    return {} if stacks > _NESTED else found
