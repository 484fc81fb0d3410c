"""The tables as they are today, one module for each noun. Migrations build them.

Import this package as `t`: `t.nodes`, `t.nodes.c.state`. Only the store may import it.

Two things are kept apart that Heat keeps in one row: a *node* is the place of a resource in the graph and exists for as
long as the name is in the template; a *version* (a row of `resources`) is one physical life of it. A replacement is a new
version under the same node.
"""

from __future__ import annotations

from isotherm.store.tables.columns import metadata
from isotherm.store.tables.credentials import credentials
from isotherm.store.tables.events import deliveries, events, scalings
from isotherm.store.tables.nodes import edges, hooks, nodes
from isotherm.store.tables.operations import blobs, history, moves, operations, uses
from isotherm.store.tables.page_sessions import page_sessions
from isotherm.store.tables.resources import resources, retained, signals
from isotherm.store.tables.services import services
from isotherm.store.tables.snapshots import snapshot_parts, snapshots
from isotherm.store.tables.software import software_configs, software_deployments
from isotherm.store.tables.stack_users import stack_user_projects, stack_users
from isotherm.store.tables.stacks import stack_clouds, stack_locks, stack_tags, stacks
from isotherm.store.tables.type_origins import type_origins
from isotherm.store.tables.watch import observations, observers, repairs, watch_projects, watches
from isotherm.store.tables.writers import sequences, signatures, turns

__all__ = [
    "blobs",
    "credentials",
    "deliveries",
    "edges",
    "events",
    "history",
    "hooks",
    "metadata",
    "moves",
    "nodes",
    "observations",
    "observers",
    "operations",
    "page_sessions",
    "repairs",
    "resources",
    "retained",
    "scalings",
    "sequences",
    "services",
    "signals",
    "signatures",
    "snapshot_parts",
    "snapshots",
    "software_configs",
    "software_deployments",
    "stack_clouds",
    "stack_locks",
    "stack_tags",
    "stack_user_projects",
    "stack_users",
    "stacks",
    "turns",
    "type_origins",
    "uses",
    "watch_projects",
    "watches",
]
