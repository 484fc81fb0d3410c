"""Changes of a stack since the last look, in bounded reads: for the live view of the page.

Nodes in progress are found through the index of the work queue, and ended ones by their events. A change that fits neither
is seen with the next counts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isotherm import errors
from isotherm.engine.overview import words
from isotherm.engine.overview.graphs import Drawn, GraphQuery, GraphService
from isotherm.engine.overview.tallies import Tallies
from isotherm.engine.queries.follow import StackFollower
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.states import NodeState, Status
from isotherm.store.database.writer import Connection
from isotherm.store.reads import graphs, lookups, overview, spans

# Most nodes of one delta. More: the view is to be read again.
MOST = 500
# The shortest time between two requests to read the view again while a burst of changes goes on.
_BURST_S = 2.5
# Newest events that tell since when resources are in their states.
_EVENTS = 2000
_IN_PROGRESS = (NodeState.RUNNING, NodeState.WAITING)
_Found = list[tuple[int, str, NodeState]]


@dataclass(slots=True)
class StreamedView:
    """The state of the stack as one reader knows it."""

    stack_id: str
    query: GraphQuery | None
    drawn: Drawn | None = None
    states: dict[int, NodeState] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    # When each resource came into its state, as far as events tell.
    since: dict[str, float] = field(default_factory=dict)
    generation: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    operation: dict[str, Any] | None = None
    events: int = 0
    # In a burst of changes, the reader gets counts only; after it, a request to read the view again, by the moment of which
    # the next one is delayed. Then the view is taken anew, with the first delta that there is to send.
    burst: bool = False
    renew: bool = False
    asked_again: float = field(default_factory=time.monotonic)
    # Resources with events since the picture was drawn.
    missed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Look:
    stack: lookups.Row
    operation: lookups.Row | None
    found: _Found
    busy: set[int]
    events: int
    gone: set[int]


class LiveService:
    """Follows stacks for their readers."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._graphs = GraphService(ports, requester)
        self._tallies = Tallies(ports.memory)

    async def begin(self, stack_id: str, query: GraphQuery | None) -> tuple[StreamedView, dict[str, Any]]:
        """Return a view, and the message that its reader gets first."""
        stack = await self._store.read(partial(_stack, stack_id=stack_id))
        view = StreamedView(stack_id, query, generation=stack["generation"])
        await self._take(view, stack)
        digest = None if view.drawn is None else view.drawn.answer["digest"]
        return view, {"now": self._ports.clock.now(), "generation": stack["generation"], "digest": digest}

    def follower(self, stack_id: str) -> StackFollower:
        """Return a follower of a stack, which reads whole frames."""
        return StackFollower(self._store, self._ports.clock, stack_id)

    async def _take(self, view: StreamedView, stack: lookups.Row) -> None:
        """Take the view anew: from the picture that its reader has just read too, if there is one.

        What has changed since that picture was drawn is found by its events.
        """
        view.renew = False
        if view.query is None:
            view.since = await self._store.read(partial(spans.since, stack_id=view.stack_id, most=_EVENTS))
            return
        view.drawn = await self._graphs.recent(stack, view.query)
        view.states, view.since = dict(view.drawn.states), dict(view.drawn.since)
        after = view.drawn.answer["version"]
        view.missed = await self._store.read(
            partial(spans.names_after, stack_id=view.stack_id, after=after, most=MOST + 1))

    async def delta(self, view: StreamedView, names: Collection[str]) -> tuple[str, dict[str, Any]] | None:
        """Return the next message, its kind and data; None if nothing has changed. `names`: resources with new events."""
        names = view.missed.union(names)
        view.burst = view.burst or len(names) > MOST
        look = await self._looked(view, names)
        if look.stack["generation"] != view.generation:
            view.generation = look.stack["generation"]
            return self._again(view, "Another operation began.")
        if view.burst and (len(names) <= MOST or time.monotonic() - view.asked_again >= _BURST_S):
            return self._again(view, "Too much has changed.")
        whole = view.renew and not view.burst
        if whole:
            await self._take(view, look.stack)
            names = view.missed.union(names)
            if len(names) > MOST:
                return None
            look = await self._looked(view, names)
        view.missed = set()
        now = self._ports.clock.now()
        tally = await self._tallies.of(self._store, look.stack, now)
        changed = [one for one in look.found if view.states.get(one[0]) is not one[2]]
        if len(changed) > MOST:
            view.states.update((id_, state) for id_, _, state in changed)
            return self._again(view, "Too much has changed.")
        counts, operation = words.counts(tally.counts), words.operation(look.operation)
        news = operation if operation != view.operation else None
        if not (whole or changed or look.gone or news) and counts == view.counts and look.events == view.events:
            return None
        nodes = [[f"n{one[0]}", one[1], one[2].name, _since(view, one, now)] for one in changed]
        delta = {"now": now, "generation": view.generation, "counts": counts, "total": tally.total,
                "status": Status(look.stack["status"]).name, "boxes": self._boxes(view, changed, look.gone, whole=whole),
                "nodes": nodes, "events": look.events, **({} if news is None else {"operation": operation})}
        view.counts, view.operation, view.events, view.busy = counts, operation, look.events, look.busy
        return "delta", delta

    async def _looked(self, view: StreamedView, names: Collection[str]) -> _Look:
        return await self._store.read(partial(_look, view=view, names=names))

    def _again(self, view: StreamedView, reason: str) -> tuple[str, dict[str, Any]]:
        """Ask the reader to read the view again. The view is taken anew after that, when there is a delta to send."""
        view.burst, view.renew, view.asked_again = False, True, time.monotonic()
        view.busy, view.missed = set(), set()
        return "resync", {"reason": reason}

    def _boxes(
        self, view: StreamedView, changed: _Found, gone: Collection[int], *, whole: bool
    ) -> list[list[Any]]:
        """Return the boxes whose nodes have changed, or all, with the number of nodes in each state."""
        touched: set[str] = set()
        for id_, _, state in changed:
            view.states[id_] = state
        for id_ in gone:
            view.states[id_] = NodeState.DONE
        if view.drawn is None:
            return []
        grouped = view.drawn.grouped
        if whole:
            touched.update(grouped.boxes)
        for id_ in [*(one[0] for one in changed), *gone]:
            if id_ in grouped.box_of:
                touched.add(grouped.box_of[id_])
        return [[box, _states(grouped.boxes[box].members, view.states)] for box in sorted(touched)]


def _since(view: StreamedView, node: tuple[int, str, NodeState], now: float) -> float:
    """Return since when a node is in its state. One that waits again after a look is in progress since it began."""
    id_, name, state = node
    # Before the first delta, nothing is known of a view without boxes.
    known = view.states.get(id_, None if view.counts else state)
    if state not in _IN_PROGRESS or known not in _IN_PROGRESS:
        view.since[name] = now
    return view.since.setdefault(name, now)


def _states(members: Collection[int], states: Mapping[int, NodeState]) -> dict[str, int]:
    return words.counts(Counter(states.get(id_, NodeState.DONE) for id_ in members))


def _stack(connection: Connection, *, stack_id: str) -> lookups.Row:
    found = lookups.by_id(connection, stack_id)
    if found is None:
        raise errors.NotFound(f"The Stack ({stack_id}) could not be found.")
    return found


def _look(connection: Connection, *, view: StreamedView, names: Collection[str]) -> _Look:
    stack = _stack(connection, stack_id=view.stack_id)
    operation, count = lookups.operation(connection, stack["operation_id"]), overview.events(connection, view.stack_id)
    if view.burst:
        return _Look(stack, operation, [], view.busy, count, set())
    busy = graphs.busy(connection, view.stack_id, MOST)
    found = {one[0]: one for one in busy}
    # Those that were in progress and are not any more have ended, or are gone.
    ended = graphs.by_ids(connection, view.busy - set(found))
    gone = view.busy - set(found) - {one[0] for one in ended}
    found.update((one[0], one) for one in (*ended, *graphs.by_names(connection, view.stack_id, list(names))))
    return _Look(stack, operation, list(found.values()), {one[0] for one in busy}, count, gone)
