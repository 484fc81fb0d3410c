"""The graph of a stack as boxes and edges, pages of its resources, and the structure behind both.

The structure does not change while nothing is planned, so it is remembered; states are read each time.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isotherm import errors
from isotherm.engine import view_memory
from isotherm.engine.overview import critical, grouping, tallies, words
from isotherm.engine.overview.grouping import Box, GraphNode, Grouped, Structure
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.states import ENDED, EdgeKind, NodeKind, NodeState, Status
from isotherm.store.reads import events, graphs, lookups, overview, spans
from isotherm.store.reads.graphs import NodeQuery

# Nodes up to which a graph is read; a larger stack is shown by type alone, without edges.
MOST_NODES = 200_000
# Resources that are taken out of their groups.
_SINGLES = 24
# Structures in memory, and nodes of all of them.
_KEPT, _KEPT_NODES = 64, 1_000_000
# Stacks whose pictures are in memory, and the age up to which a picture was drawn a moment ago.
_DRAWN, _RECENT_S = 16, 2.0
# Newest events that tell since when a resource is in its state.
_EVENTS = 2000
_DRIFTED = 2000
_BUSY_STATES = (NodeState.RUNNING, NodeState.WAITING)
# Resources of a group that are read at once.
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A request for the boxes of a graph."""

    level: str = "auto"
    opened: frozenset[str] = frozenset()
    limit: int = 150


@dataclass(frozen=True, slots=True)
class MemberQuery:
    """A request for a page of resources."""

    box: str = ""
    level: str = "auto"
    states: tuple[NodeState, ...] = ()
    type: str = ""
    search: str = ""
    # Levels of nested stacks whose resources are found too.
    depth: int = 0
    attention: bool = False
    after: tuple[int, str, int] | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture of a graph: its boxes, the states of its nodes, and the answer of the API."""

    structure: Structure
    grouped: Grouped
    states: Mapping[int, NodeState]
    # When each resource came into its state, and the critical path.
    since: Mapping[str, float]
    path: Sequence[int]
    answer: dict[str, Any]


class GraphService:
    """Reads the graphs of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._stacks = StackFinder(ports.store, requester.project)

    async def show(self, name_or_id: str, query: GraphQuery) -> dict[str, Any]:
        return (await self.draw(await self._stacks.row(name_or_id, deleted=True), query)).answer

    async def draw(self, stack: lookups.Row, query: GraphQuery) -> Drawn:
        """Return the picture of a graph. Callers who ask for the same one at the same time share it."""
        key, asked = ("drawn", stack["id"], _stamp(stack), query), self._ports.memory.asked
        if key not in asked:
            asked[key] = asyncio.ensure_future(self._draw(stack, query))
            asked[key].add_done_callback(lambda _: asked.pop(key, None))
        drawn: Drawn = await asyncio.shield(asked[key])
        return drawn

    async def recent(self, stack: lookups.Row, query: GraphQuery) -> Drawn:
        """Return the picture of a graph, one that was drawn a moment ago if there is one. Its answer has its version."""
        known = self._ports.memory.drawn.get(stack["id"], {}).get(query)
        return known.drawn if known is not None and known.fits(stack) else await self.draw(stack, query)

    def _remember(self, stack: lookups.Row, query: GraphQuery, drawn: Drawn) -> None:
        """Keep the newest picture of each query of a few stacks."""
        kept = self._ports.memory.drawn
        of_stack = kept.get(stack["id"], {})
        fresh = {one: known for one, known in of_stack.items() if known.fits(stack)}
        view_memory.keep(kept, stack["id"], {**fresh, query: _Remembered(drawn, _stamp(stack))}, _DRAWN)
        while len(kept) > 1 and sum(len(known.drawn.states) for of in kept.values() for known in of.values()) > _KEPT_NODES:
            kept.popitem(last=False)

    async def _draw(self, stack: lookups.Row, query: GraphQuery) -> Drawn:
        now = self._ports.clock.now()
        version = await self._store.read(events.last_id)
        found = await self.structure(stack)
        states = await self._states(stack["id"])
        since = await self._store.read(partial(spans.since, stack_id=stack["id"], most=_EVENTS))
        drift = await self._store.read(partial(overview.drifted, stack_id=stack["id"], most=_DRIFTED))
        level = grouping.finest(found, query.limit) if query.level == "auto" else query.level
        if len(found.nodes) >= MOST_NODES:
            level = grouping.TYPE

        def work() -> Drawn:
            path = critical_path(stack, found, states, since)
            singles = [] if level == grouping.NONE else _singles(found, states, path, since)
            grouped, between = grouping.picture(found, level, singles, query.opened)
            facts = _Facts(since, drift, path, query.limit, version, now, {} if found.total >= MOST_NODES else between)
            return _drawn(stack, found, grouped, states, facts)

        drawn = await self._ports.planning.compute(found.total * 100, work)
        self._remember(stack, query, drawn)
        return drawn

    async def critical_names(self, stack: lookups.Row) -> list[str]:
        """Return the resources on the critical path of the newest operation."""
        known: dict[GraphQuery, _Remembered] = self._ports.memory.drawn.get(stack["id"], {})
        for one in known.values():
            if one.fits(stack):
                return [one.drawn.structure.nodes[id_].name for id_ in one.drawn.path]
        found, states = await self.structure(stack), await self._states(stack["id"])
        since = await self._store.read(partial(spans.since, stack_id=stack["id"], most=_EVENTS))

        def work() -> list[str]:
            return [found.nodes[id_].name for id_ in critical_path(stack, found, states, since)]

        return await self._ports.planning.compute(found.total * 100, work)

    async def structure(self, stack: lookups.Row) -> Structure:
        """Return the structure of a stack's graph, from memory if nothing was planned since."""
        operation = await self._store.read(partial(lookups.operation, operation_id=stack["operation_id"]))
        size = await self._store.read(partial(graphs.size, stack_id=stack["id"], most=MOST_NODES))
        stamp = (stack["generation"], None if operation is None else operation["state"], size)
        known: tuple[object, Structure] | None = self._ports.memory.graphs.get(stack["id"])
        if known is not None and known[0] == stamp:
            return known[1]
        key, asked = ("structure", stack["id"], stamp), self._ports.memory.asked
        if key not in asked:
            asked[key] = asyncio.ensure_future(self._new_structure(stack, stamp))
            asked[key].add_done_callback(lambda _: asked.pop(key, None))
        found: Structure = await asyncio.shield(asked[key])
        return found

    async def _new_structure(self, stack: lookups.Row, stamp: object) -> Structure:
        found = await self._read(stack["id"])
        kept = self._ports.memory.graphs
        while kept and found.total + sum(one[1].total for one in kept.values()) > _KEPT_NODES:
            kept.popitem(last=False)
        view_memory.keep(kept, stack["id"], (stamp, found), _KEPT)
        return found

    async def _read(self, stack_id: str) -> Structure:
        nodes: list[GraphNode] = []
        edges: list[tuple[int, int, int]] = []
        position = ("", -1)
        while len(nodes) < MOST_NODES:
            rows = await self._store.read(partial(graphs.nodes, stack_id=stack_id, after=position))
            nodes += await self._ports.planning.compute(len(rows) * 100, partial(_nodes, rows))
            edges += await self._store.read(partial(graphs.edges, node_ids=[row["id"] for row in rows]))
            if len(rows) < graphs.PIECE:
                break
            position = (rows[-1]["name"], rows[-1]["id"])
        return await self._ports.planning.compute(len(nodes) * 100, partial(grouping.structure, nodes, edges))

    async def _states(self, stack_id: str) -> dict[int, NodeState]:
        found: dict[int, NodeState] = {}
        position = ("", -1)
        while len(found) < MOST_NODES:
            rows = await self._store.read(partial(graphs.states, stack_id=stack_id, after=position))
            found.update((row[1], _STATES[row[2]]) for row in rows)
            if len(rows) < graphs.PIECE:
                break
            position = (rows[-1][0], rows[-1][1])
        return found

    async def members(self, name_or_id: str, query: MemberQuery) -> dict[str, Any]:
        """Return a page of resources: of a stack, of its tree, or of one box."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        asked = NodeQuery((stack["id"],), states=query.states, type=query.type, search=query.search,
                          attention=query.attention, after=query.after, limit=query.limit)
        if query.box:
            rows = await self._of_box(stack, query, asked)
        else:
            ids = await tallies.inside(self._store, stack["id"], query.depth)
            rows = await self._store.read(partial(graphs.page, query=_replace(asked, stack_ids=ids)))
        since = await self._store.read(partial(spans.since, stack_id=stack["id"], most=_EVENTS))
        drift = await self._store.read(partial(overview.drifted, stack_id=stack["id"], most=_DRIFTED))
        inside = {row["stack_id"] for row in rows}
        places = await self._store.read(partial(overview.places, stack_ids=inside, outer=stack["id"]))
        shown = [words.member(row, places[row["stack_id"]],
                              since=since.get(row["name"]) if row["stack_id"] == stack["id"] else None,
                              drift=drift.get(row["resource_id"])) for row in rows]
        wanted = query.type.lower()
        last = rows[-1] if len(rows) == query.limit else None
        return {"now": self._ports.clock.now(), "members": [one for one in shown if wanted in one["type"].lower()],
                "next": None if last is None else (last["rank"], last["name"], last["id"])}

    async def _of_box(self, stack: lookups.Row, query: MemberQuery, asked: NodeQuery) -> list[dict[str, Any]]:
        """Return a page of the members of a box: chunk by chunk, until the page is full."""
        found = await self.structure(stack)
        ids = _members(found, query.box)
        if ids is None:
            raise errors.NotFound(f"The box {query.box} is not in the graph: it has changed.",
                                  hint="Read the graph again.")
        if query.attention:
            return await self._store.read(partial(graphs.page, query=_replace(asked, node_ids=ids)))
        rows: list[dict[str, Any]] = []
        left = ids if query.after is None else _after(found, ids, query.after)
        for start in range(0, len(left), _CHUNK):
            piece = _replace(asked, node_ids=left[start:start + _CHUNK], limit=query.limit - len(rows))
            rows += await self._store.read(partial(graphs.page, query=piece))
            if len(rows) >= query.limit:
                break
        return rows


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A picture, the operation of its stack, and the moment of it."""

    drawn: Drawn
    stamp: tuple[object, ...]
    at: float = field(default_factory=time.monotonic)

    def fits(self, stack: lookups.Row) -> bool:
        return self.stamp == _stamp(stack) and time.monotonic() - self.at <= _RECENT_S


def _stamp(stack: lookups.Row) -> tuple[object, ...]:
    return (stack["generation"], stack["status"], stack["operation_id"])


_STATES = {int(member): member for member in NodeState}


def _replace(query: NodeQuery, **changes: Any) -> NodeQuery:
    known = {name: getattr(query, name) for name in query.__struct_fields__}
    return NodeQuery(**{**known, **changes})


def _nodes(rows: Sequence[Mapping[str, Any]]) -> list[GraphNode]:
    return [GraphNode(row["id"], row["name"], words.type_of(row), row["kind"] == NodeKind.BARRIER, words.is_unwanted(row),
                      None if row["child_id"] is None else (row["child_id"], row["child_name"]), row["resource_id"])
            for row in rows]


def _members(found: Structure, box: str) -> list[int] | None:
    """Return the nodes of a group of any level, or the one of a single box; None if there is none."""
    if box.startswith("n"):
        number = int(box[1:]) if box[1:].isascii() and box[1:].isdigit() and len(box) < 20 else -1
        return [number] if number in found.nodes else None
    for level in (grouping.KIND, grouping.DEPTH_TYPE, grouping.TYPE):
        ids = [id_ for id_, group in grouping.groups(found, level).items() if group == box]
        if ids:
            return ids
    return None


def _after(found: Structure, ids: Sequence[int], position: tuple[int, str, int]) -> list[int]:
    _, name, last = position
    return [id_ for id_ in ids if (found.nodes[id_].name, id_) > (name, last)]


def critical_path(
    stack: lookups.Row, found: Structure, states: Mapping[int, NodeState], since: Mapping[str, float]
) -> list[int]:
    """Return the critical path: what the operation waits for, after what that had to wait for."""
    if len(found.nodes) >= MOST_NODES:
        return []
    ended = {id_: since[found.nodes[id_].name] for id_ in found.ordered if found.nodes[id_].name in since}
    before: dict[int, list[int]] = {}
    for src, dst, _ in found.edges:
        if src in ended and dst in ended:
            before.setdefault(dst, []).append(src)
    if stack["status"] != Status.IN_PROGRESS:
        return critical.back(ended, lambda id_: before.get(id_, ()), len(found.nodes))
    ahead = critical.ahead(found, [id_ for id_ in found.nodes if states.get(id_, NodeState.DONE) not in ENDED])
    if not ahead or ahead[0] not in ended:
        return ahead
    return [*critical.back(ended, lambda id_: before.get(id_, ()), len(found.nodes), ahead[0])[:-1], *ahead]


def _singles(
    found: Structure, states: Mapping[int, NodeState], path: Sequence[int], since: Mapping[str, float]
) -> list[int]:
    """Return the resources to show by themselves: failed ones, the critical path, those that run longest."""
    failed = [id_ for id_ in found.ordered if states.get(id_) is NodeState.FAILED]
    busy = sorted((id_ for id_ in found.ordered if states.get(id_) in _BUSY_STATES),
                  key=lambda id_: since.get(found.nodes[id_].name, float("inf")))
    return list(dict.fromkeys([*failed, *path, *busy]))[:_SINGLES]


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts of boxes beside the structure."""

    since: Mapping[str, float]
    drift: Mapping[int, str]
    path: Sequence[int]
    limit: int
    version: int
    now: float
    between: Mapping[tuple[str, str, int], int]


def _drawn(
    stack: lookups.Row, found: Structure, grouped: Grouped, states: Mapping[int, NodeState], facts: _Facts
) -> Drawn:
    shown, left = _within(grouped, states, facts)
    between = {edge: count for edge, count in facts.between.items() if edge[0] in shown and edge[1] in shown}
    on_path = [box for box in dict.fromkeys(grouped.box_of[id_] for id_ in facts.path) if box in shown]
    answer = {
        "stack_id": stack["id"], "generation": stack["generation"], "digest": grouping.digest(grouped, between),
        "version": facts.version, "now": facts.now, "level": grouped.level, "total": found.total,
        "depths": 1 + max((found.depths[id_] for id_ in found.ordered), default=-1),
        "boxes": [_box(one, found, states, facts) for one in shown.values()],
        "edges": [[a, b, count, "requires" if kind == EdgeKind.REQUIRES else "order"]
                  for (a, b, kind), count in sorted(between.items())],
        "left_out": left, "critical": on_path,
    }
    return Drawn(found, grouped, states, facts.since, facts.path, answer)


def _within(
    grouped: Grouped, states: Mapping[int, NodeState], facts: _Facts
) -> tuple[dict[str, Box], dict[str, int]]:
    """Return as many boxes as the limit allows, and what was left out: single ones and large groups stay."""
    boxes = list(grouped.boxes.values())
    if len(boxes) <= facts.limit:
        return dict(grouped.boxes), {"boxes": 0, "resources": 0, "failed": 0}
    important = {grouped.box_of[id_] for id_ in facts.path}
    ranked = sorted(boxes, key=lambda box: (not _has_failed(box, states), box.id not in important, -len(box.members)))
    gone = ranked[facts.limit:]
    kept = {box.id for box in ranked[:facts.limit]}
    failed = sum(states.get(id_) is NodeState.FAILED for box in gone for id_ in box.members)
    return ({id_: box for id_, box in grouped.boxes.items() if id_ in kept},
            {"boxes": len(gone), "resources": sum(len(box.members) for box in gone), "failed": failed})


def _has_failed(box: Box, states: Mapping[int, NodeState]) -> bool:
    return any(states.get(id_) is NodeState.FAILED for id_ in box.members)


def _box(box: Box, found: Structure, states: Mapping[int, NodeState], facts: _Facts) -> dict[str, Any]:
    members = [found.nodes[id_] for id_ in box.members]
    # A resource that is like no other is shown by itself, although it is in a group.
    single = members[0] if box.single is None and len(members) == 1 and members[0].name == box.name else box.single
    drift = {facts.drift[node.resource_id] for node in members
             if node.resource_id is not None and node.resource_id in facts.drift}
    child = None if single is None else single.child
    return {
        "id": box.id, "kind": "group" if single is None else "stack" if child else "resource", "name": box.name,
        "type": box.type, "n": len(box.members), "states": box_states(box.members, states), "depth": box.depth,
        "since": None if single is None else facts.since.get(single.name),
        "stack_id": child[0] if child else None, "stack_name": child[1] if child else None,
        "unwanted": all(node.unwanted for node in members), "drift": "gone" if "gone" in drift else next(iter(drift), None),
    }


def box_states(members: Collection[int], states: Mapping[int, NodeState]) -> dict[str, int]:
    """Return the number of nodes in each state. A node that is gone since was done."""
    return words.counts(Counter(states.get(id_, NodeState.DONE) for id_ in members))
