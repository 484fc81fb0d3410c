"""Limited updates: only some resources get the definitions of the new input, and the others keep theirs.

The input of such an operation says which resources keep an older input, so that rollbacks, repairs and later reads see the
same desired state. Its scope says which resources it visits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from isotherm import errors
from isotherm.engine.operations.accept import Request
from isotherm.engine.service_ports import ServicePorts
from isotherm.graph import scope
from isotherm.planning import desired, planner
from isotherm.planning.desired import KeptPart, Parts, StackInput
from isotherm.states import Action
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.records import OperationScope

_NOTHING = StackInput("", {}, {})


class Limited(NamedTuple):
    """A request with its desired state and its scope. Without a scope, the request leaves nothing out."""

    request: Request
    goal: desired.Desired
    scope: OperationScope | None = None


async def limit(
    ports: ServicePorts, stack: Mapping[Any, Any], request: Request, goal: desired.Desired
) -> Limited:
    """Limit a request to its targets, or to all but the excluded resources. `goal` is its whole desired state.

    `stack` is the row of the stack; for one that is to be created, its name, id and project.
    """
    if not (request.target or request.exclude):
        return Limited(request, goal)
    if stack.get("owner_id") is not None:
        raise errors.UserError(f"Stack {stack['name']} is nested in another stack, whose updates decide what is in it.",
                               kind="NotSupported", hint="Limit an update of the outermost stack.")
    identity = desired.Identity(stack["name"], stack["id"], stack["project"])
    before = await ports.store.read(lambda connection: _present(connection, stack))

    def work() -> Limited:
        present = None if before is None else desired.desire(before, identity, ports.types, validate=False)
        old = {want.name: want for want in present.wanted} if present is not None else {}
        new = {want.name: want for want in goal.wanted}
        left = scope.left_out({name: want.requires for name, want in old.items()},
                              {name: want.requires for name, want in new.items()}, request.target, request.exclude)
        kept = frozenset(name for name in left if name in old and old[name] != new.get(name))
        absent = tuple(sorted(name for name in left if name not in old))
        parts = _parts(before or _NOTHING, kept, absent, identity)
        whole = dataclasses.replace(request, parts=parts)
        limited = desired.desire(whole.input, identity, ports.types, validate=False) if parts else goal
        return Limited(whole, limited, _scope(request, left, new.keys() | old.keys(), parts))

    return await ports.planning.compute(request.input.size + (0 if before is None else before.size), work)


def _present(connection: Connection, stack: Mapping[Any, Any]) -> StackInput | None:
    """Return the newest input of the stack; None if nothing is wanted of it. Raises Overtaken if it has a newer one."""
    if "operation_id" not in stack or stack["action"] == Action.DELETE:
        return None
    operation = rows.operation(connection, stack["operation_id"])
    if operation is None:
        raise errors.Overtaken("Another operation on this stack came in between.", hint="Look at the stack, and ask again.")
    return planner.input_of(connection, stack["id"], operation.input) if operation.input else None


def _parts(before: StackInput, kept: frozenset[str], absent: tuple[str, ...], identity: desired.Identity) -> Parts:
    """Return the parts of the new input: resources that an earlier update left out keep the input that they had then."""
    known = [(one.input, kept & set(one.names)) for one in before.parts.kept]
    newest = kept.difference(*(names for _, names in known))
    found = tuple(KeptPart(tuple(sorted(names)), input_) for input_, names in [(before.newest, newest), *known] if names)
    exports: dict[str, list[list[Any]]] = {}
    for part in found:
        bound = desired.bound(part.input, identity)
        for name in part.names:
            for need, path in bound.definitions[name].needs:
                exports.setdefault(need, []).append(list(path))
    return Parts(found, absent, exports)


def _scope(
    request: Request, left: Collection[str], names: Collection[str], parts: Parts
) -> OperationScope | None:
    """Return the scope. Resources that no input names are left out by targets, and included where others are excluded."""
    if not left:
        return None
    if request.target:
        return OperationScope(only=tuple(sorted(set(names).difference(left))), waits=parts.names)
    return OperationScope(left=tuple(sorted(left)), waits=parts.names)
