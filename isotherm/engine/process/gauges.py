"""How much there is to do in a folder, and how many are at it: what somebody who watches a service wants to know."""

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
    """A service at one moment."""

    # Of nodes under way, by state.
    nodes: dict[NodeState, int]
    # What a worker could take now, and for how long the first of it has been lying there.
    queue: int
    oldest_s: float
    stacks: dict[tuple[Action, Status], int]
    # By the path that they are on; and how many of the legacy path an engine has, or waits for one.
    paths: dict[str, int]
    locked: int
    # Those that are alive.
    workers: int
    # What is watched, and what of it is not what it should be.
    watched: Numbers = Numbers()  # noqa: RUF009 - frozen
    # Whether messages go out at this moment, and what became of those of this process.
    bus_up: bool = True
    bus: Mapping[str, int] = field(default_factory=dict)


async def gauge(engine: Embedded) -> Gauges:
    """Raises Unavailable if the database does not answer."""
    now = engine.clock.now()
    found = await engine.store.read(lambda connection: gauges.read(connection, now))
    watched = await engine.store.read(lambda connection: views.numbers(connection, now))
    alive = sum(one.alive for one in await service_list.engines(engine))
    return Gauges(found.nodes, found.queue, found.oldest_s, found.stacks, found.paths, found.locked, alive,
                  watched, engine.bus.connected, asdict(engine.bus.counts))
