"""Operations of a stack, and the timeline of one: when each resource began and ended, and the critical path.

Spans come from events. Where old events were dropped, the timeline says that it is partial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from isotherm import errors
from isotherm.engine.overview import critical, grouping, words
from isotherm.engine.overview.graphs import GraphService
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.states import Action, NodeState, Status
from isotherm.store.database.writer import Connection
from isotherm.store.operations import history
from isotherm.store.reads import graphs, lookups, overview, spans

MOST_SPANS = 500
# The action of a span in which a resource waits for the user.
HOOK = "HOOK"
# Events that one query reads, and that a timeline is made of.
_PIECE, _MOST_EVENTS = 10_000, 400_000
# Steps of a critical path that one read goes back.
_STEPS = 50
_GROUPS = 200
_BUSY = 2000
# Events of the stack itself that tell of operations whose rows are gone.
_OWN_EVENTS = 400


@dataclass(slots=True)
class Span:
    """One attempt at a resource."""

    name: str
    type: str
    action: str
    began: float
    ended: float | None = None
    outcome: str = "IN_PROGRESS"

    def length(self, now: float) -> float:
        return (now if self.ended is None else self.ended) - self.began

    def as_list(self) -> list[Any]:
        return [self.name, self.type, self.action, None, self.began, None, self.ended, self.outcome]


class TimelineService:
    """Reads the operations of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._stacks = StackFinder(ports.store, requester.project)
        self._graphs = GraphService(ports, requester)

    async def operations(self, name_or_id: str, before: int | None = None, limit: int = 20) -> dict[str, Any]:
        """Return the operations of a stack before a generation, newest first; then those of which only events are left."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        found = await self._store.read(
            partial(overview.operations, stack_id=stack["id"], before=before, limit=limit))
        shown = [words.operation(row) for row in found]
        if before is None and len(found) < limit:
            own = await self._store.read(partial(spans.own, stack_id=stack["id"], most=_OWN_EVENTS))
            shown += _forgotten(own, {row["id"] for row in found})[:limit - len(found)]
        return {"now": self._ports.clock.now(), "operations": await self._with_history(stack, shown),
                "next": found[-1]["generation"] if len(found) == limit else None}

    async def timeline(self, name_or_id: str, operation_id: str = "", most: int = MOST_SPANS) -> dict[str, Any]:
        """Return the timeline of an operation of a stack; without an id, of the newest."""
        stack, now = await self._stacks.row(name_or_id, deleted=True), self._ports.clock.now()
        id_ = operation_id or stack["operation_id"]
        row = await self._store.read(partial(lookups.operation, operation_id=id_))
        found, own, is_cut = await self._spans(stack, id_)
        if row is not None and row["stack_id"] == stack["id"]:
            operation = words.operation(row)
        elif own:
            operation = _past(id_, own)
        else:
            raise errors.NotFound(f"The stack has no operation {id_} any more.", kind="EntityNotFound")
        operation, = await self._with_history(stack, [operation])
        if id_ == stack["operation_id"]:
            await self._mark_waiting(stack, found)
        path = await self._critical(stack, id_, found, now)

        def work() -> dict[str, Any]:
            return {"now": now, "operation": operation, "partial": is_cut or not own, "critical": path,
                    **_within(found, set(path), now, most)}

        return await self._ports.planning.compute(len(found) * 100, work)

    async def _with_history(self, stack: lookups.Row, shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return operations with what the history knows of each."""
        past = await self._store.read(partial(history.of_stack, stack_id=stack["id"]))
        kept = {row["operation_id"]: row for row in past}
        return [{**one, **_of_history(kept.get(one["id"]))} for one in shown]

    async def _spans(
        self, stack: lookups.Row, operation_id: str
    ) -> tuple[list[Span], list[tuple[Action, Status, float]], bool]:
        """Return the spans, the events of the stack itself, and whether there were too many events.

        The first event of an operation is the stack's own: without it, older ones were deleted.
        """
        found: list[Span] = []
        own: list[tuple[Action, Status, float]] = []
        opened: dict[str, Span] = {}
        after, read = 0, 0
        while read < _MOST_EVENTS:
            rows = await self._store.read(partial(
                spans.window, stack_id=stack["id"], operation_id=operation_id, after=after, most=_PIECE))
            for _, name, type_, action, status, at, paused in rows:
                if not name:
                    own.append((Action(action), Status(status), at))
                elif paused:
                    _pause(found, opened, Span(name, type_, HOOK, at, outcome="WAITING"))
                else:
                    _take(found, opened, Span(name, type_, Action(action).name, at), Status(status), at)
            read += len(rows)
            if len(rows) < _PIECE:
                break
            after = rows[-1][0]
        return found, own, read >= _MOST_EVENTS

    async def _mark_waiting(self, stack: lookups.Row, found: Sequence[Span]) -> None:
        busy = await self._store.read(partial(graphs.busy, stack_id=stack["id"], most=_BUSY))
        waiting = {name for _, name, state in busy if state is NodeState.WAITING}
        for span in found:
            if span.ended is None and span.name in waiting:
                span.outcome = "WAITING"

    async def _critical(self, stack: lookups.Row, operation_id: str, found: Sequence[Span], now: float) -> list[str]:
        if operation_id == stack["operation_id"] and stack["status"] == Status.IN_PROGRESS:
            return await self._graphs.critical_names(stack)
        ended = {span.name: now if span.ended is None else span.ended for span in found}
        path: list[str] = []
        more = True
        while more and len(path) < MOST_SPANS:
            piece = await self._store.read(partial(_back, stack_id=stack["id"], ended=ended, path=path))
            more = len(piece) == _STEPS
            path = [*piece, *path]
        return path[-MOST_SPANS:]


def _back(connection: Connection, *, stack_id: str, ended: Mapping[str, float], path: Sequence[str]) -> list[str]:
    """Return the next steps back of a critical path: only the edges that lead to its resources are read."""

    def before(name: str) -> list[str]:
        return [src for src, _ in spans.edges(connection, stack_id, [name]) if src not in path]

    if not path:
        return critical.back(ended, before, _STEPS)
    return critical.back(ended, before, _STEPS + 1, path[0])[:-1]


def _of_history(row: lookups.Row | None) -> dict[str, Any]:
    """Return what the history adds to an operation: that its input is kept, under which generation, and who asked."""
    if row is None:
        return {"kept": False, "requested_by": None}
    return {"kept": True, "requested_by": row["username"], "generation": row["last_generation"]}


def _forgotten(own: Sequence[tuple[str, int, int, float]], known: set[str]) -> list[dict[str, Any]]:
    """Return the operations that are not known, from the stack's own events, newest first."""
    by_id: dict[str, list[tuple[Action, Status, float]]] = {}
    for id_, action, status, at in own:
        if id_ not in known:
            by_id.setdefault(id_, []).insert(0, (Action(action), Status(status), at))
    return [_past(id_, events) for id_, events in by_id.items()]


def _past(operation_id: str, own: Sequence[tuple[Action, Status, float]]) -> dict[str, Any]:
    """Return an operation whose row is gone, as far as the events of the stack tell."""
    (action, _, began), (_, status, ended) = own[0], own[-1]
    state = {Status.COMPLETE: "COMPLETE", Status.FAILED: "FAILED"}.get(status, "SUPERSEDED")
    return {"id": operation_id, "generation": None, "action": action.name, "state": state, "running": False, "began": began,
            "deadline": None, "ended": ended, "remaining": 0, "cancelled": False, "failure": None}


def _take(found: list[Span], opened: dict[str, Span], span: Span, status: Status, at: float) -> None:
    """Add an event: it begins a span, or ends the one that is open for its resource."""
    before = opened.pop(span.name, None)
    if before is not None and before.action == HOOK:
        before.ended, before.outcome = at, "COMPLETE"
        if status is not Status.IN_PROGRESS:
            return
    if status is Status.IN_PROGRESS:
        opened[span.name] = span
        found.append(span)
        return
    if before is None:
        found.append(span)
        before = span
    before.ended, before.outcome = at, status.name


def _pause(found: list[Span], opened: dict[str, Span], span: Span) -> None:
    """Add a pause at a hook. It ends with the next event of the resource: that the hook is cleared."""
    found.append(span)
    opened[span.name] = span


def _within(found: Sequence[Span], path: set[str], now: float, most: int) -> dict[str, Any]:
    """Return the critical path and the longest spans, and the rest by group."""
    ranked = sorted(found, key=lambda span: (span.name not in path, -span.length(now), span.name))
    shown, others = ranked[:most], ranked[most:]
    return {"spans": [one.as_list() for one in sorted(shown, key=lambda span: (span.began, span.name))],
            "groups": _groups(others), "left_out": len(others)}


def _groups(spans: Sequence[Span]) -> list[dict[str, Any]]:
    grouped: dict[tuple[str, str], list[Span]] = {}
    for span in spans:
        grouped.setdefault((grouping.pattern(span.name), span.type), []).append(span)
    largest = sorted(grouped.items(), key=lambda one: -len(one[1]))[:_GROUPS]
    return [_group(name, type_, members) for (name, type_), members in largest]


def _group(name: str, type_: str, members: Sequence[Span]) -> dict[str, Any]:
    ends: list[float | None] = [one.ended for one in members]
    outcomes: Mapping[str, int] = Counter(one.outcome for one in members)
    return {"name": name, "type": type_, "n": len(members), "began": min(one.began for one in members),
            "ended": None if None in ends else max(one for one in ends if one is not None), "outcomes": dict(outcomes)}
