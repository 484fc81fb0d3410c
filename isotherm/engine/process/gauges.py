"""The gauges of a service for monitoring: work to do, stacks, live engines, drift, messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from isotherm.engine.process import service_list
from isotherm.engine.process.embedded import Embedded
from isotherm.states import Action, NodeState, Status
from isotherm.store.reads import gauges
from isotherm.store.watch import views
from isotherm.store.watch.views import Numbers


@dataclass(frozen=True, slots=True)
class Gauges:
    """The values at one moment."""

    # Unfinished nodes, by state.
    nodes: dict[NodeState, int]
    # Nodes that a worker could claim now, and the age of the oldest.
    queue: int
    oldest_s: float
    stacks: dict[tuple[Action, Status], int]
    # Stacks by architecture; and legacy stacks that are locked by an engine or wait for one.
    paths: dict[str, int]
    locked: int
    # Live engines.
    workers: int
    # Watched resources, and those that have drifted.
    watched: Numbers = Numbers()  # noqa: RUF009 - frozen
    # Whether the broker is connected, and the counts of this process's messages.
    bus_up: bool = True
    bus: Mapping[str, int] = field(default_factory=dict)


async def gauge(engine: Embedded) -> Gauges:
    """Read the gauges. Raises Unavailable if the database does not answer."""
    now = engine.clock.now()
    found = await engine.store.read(lambda connection: gauges.read(connection, now))
    watched = await engine.store.read(lambda connection: views.numbers(connection, now))
    alive = sum(one.alive for one in await service_list.engines(engine))
    return Gauges(found.nodes, found.queue, found.oldest_s, found.stacks, found.paths, found.locked, alive,
                  watched, engine.bus.connected, asdict(engine.bus.counts))
