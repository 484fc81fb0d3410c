"""Causes of the states of resources: the chain from one to the thing that runs, failed or waits for the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.engine.overview import words
from isotherm.engine.overview.places import TemplatePlaces
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store.database.writer import Connection
from isotherm.store.reads import graphs, lookups, overview, spans

# Steps of a chain that are shown, and that are followed.
_SHOWN, _FOLLOWED = 8, 2000
_NEIGHBOURS = 50
_EVENTS = 100
_RECENT = 2000
_BUSY = (NodeState.RUNNING, NodeState.WAITING, NodeState.SCHEDULED)
_Step = dict[str, Any]
# The reasons of events that tell of a hook and of no step.
_PAUSE = re.compile(r"\bHook \S+ is cleared\b")
# The beginning of a failure's reason: a sentence names the resource already.
_NAMED = re.compile(r"^(?:Resource \w+ failed: )?(?:\w+: )?resources\.[^\s:]+: (?=\S)")


class CauseService:
    """Explains the states of resources of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._stacks = StackFinder(ports.store, requester.project)
        self._places = TemplatePlaces(ports, requester.project)

    async def why(self, name_or_id: str, resource: str, *, with_worker: bool = False) -> dict[str, Any]:
        """Return the chain, the neighbours, the attempts and the versions of a resource."""
        stack, now = await self._stacks.row(name_or_id, deleted=True), self._ports.clock.now()

        def unit(connection: Connection) -> dict[str, Any]:
            node = graphs.named(connection, stack["id"], resource)
            if node is None:
                raise errors.NotFound(
                    f"The Resource ({resource}) could not be found in Stack {stack['name']}.", kind="ResourceNotFound",
                    hint="`isotherm resources STACK` shows what there is.")
            return self._explained(connection, stack, node, with_worker=with_worker)

        found = await self._store.read(unit)
        line, column = await self._places.of(stack, resource)
        found["resource"] |= {"line": line, "column": column}
        return {"now": now, "sentence": _sentence(found, now), **found}

    def _explained(
        self, connection: Connection, stack: lookups.Row, node: Mapping[str, Any], *, with_worker: bool
    ) -> dict[str, Any]:
        chain = _chain(connection, node)
        since = {id_: spans.since(connection, id_, _RECENT) for id_ in {one["stack_id"] for one in chain}}
        shown = [_step(one, since[one["stack_id"]].get(one["name"])) for one in _shortened(chain)]
        shown[-1]["hook"] = _hook_of(connection, stack, chain[-1])
        waits_for, before = graphs.neighbours(connection, node["id"], _NEIGHBOURS, required=True)
        holds_up, behind = graphs.neighbours(connection, node["id"], _NEIGHBOURS, required=False)
        happened = spans.of_resource(connection, stack["id"], node["name"], _EVENTS)
        hooks = [one for one in overview.hooks_of(connection, stack) if one["id"] == node["id"]]
        return {
            "resource": {**words.member(node, since=since[node["stack_id"]].get(node["name"])), "pending": node["pending"],
                         "generation": node["generation"]},
            "chain": shown, "left_out": len(chain) - len(shown),
            "waits_for": [_neighbour(one) for one in waits_for], "waits_for_total": before,
            "holds_up": [_neighbour(one) for one in holds_up], "holds_up_total": behind,
            "attempts": _attempts(happened),
            "hooks": [{"hook": one["hook"], "since": one["created_at"]} for one in hooks],
            "wake_up": node["due"] if node["state"] == NodeState.WAITING else None,
            "versions": [_version(one) for one in graphs.versions(connection, stack["id"], node["name"])],
            "worker": _worker(node) if with_worker else None,
        }


def _chain(connection: Connection, node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes from this one to the one that everything waits for. Goes into nested stacks."""
    chain, seen = [node], {node["id"]}
    at: Mapping[str, Any] | None = node
    while at is not None and len(chain) < _FOLLOWED:
        at = _next(connection, at)
        if at is None or at["id"] in seen:
            break
        seen.add(at["id"])
        chain.append(at)
    return [one for one in chain if one["kind"] != NodeKind.BARRIER]


def _next(connection: Connection, at: Mapping[str, Any]) -> Mapping[str, Any] | None:
    state = NodeState(at["state"])
    if state is NodeState.PENDING:
        return graphs.blocking(connection, at["id"], failed=False)
    if state is NodeState.SKIPPED:
        return graphs.blocking(connection, at["id"], failed=True)
    if at["child_id"] is not None and (state in _BUSY or state is NodeState.FAILED):
        return graphs.busiest(connection, at["child_id"], failed=state is NodeState.FAILED)
    return None


def _shortened(chain: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list(chain) if len(chain) <= _SHOWN + 1 else [*chain[:_SHOWN], chain[-1]]


def _step(row: Mapping[str, Any], since: float | None) -> _Step:
    return {"id": f"n{row['id']}", "name": row["name"], "type": words.type_of(row), "state": NodeState(row["state"]).name,
            "since": since, "reason": words.reason(row), "pending": row["pending"], "hook": None,
            "stack": {"id": row["stack_id"], "name": row["stack_name"]}}


def _hook_of(connection: Connection, stack: lookups.Row, node: Mapping[str, Any]) -> str | None:
    """Return the hook at which the end of a chain waits. It may be in a stack nested in this one."""
    inside = stack if node["stack_id"] == stack["id"] else lookups.by_id(connection, node["stack_id"])
    found = [] if inside is None else overview.hooks_of(connection, inside)
    return next((one["hook"] for one in found if one["id"] == node["id"]), None)


def _neighbour(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": row["name"], "type": words.type_of(row), "state": NodeState(row["state"]).name}


def _worker(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if row["worker"] is None:
        return None
    return {"name": row["worker"], "fence": row["fence"], "lease_until": row["lease_until"]}


def _version(row: Mapping[Any, Any]) -> dict[str, Any]:
    def id_(value: int | None) -> str | None:
        return None if value is None else str(value)

    return {"id": id_(row["id"]), "physical_id": row["physical_id"], "action": Action(row["action"]).name,
            "status": Status(row["status"]).name, "superseded": bool(row["superseded"]), "replaces": id_(row["replaces"]),
            "replaced_by": id_(row["replaced_by"]), "created": row["created_at"], "updated": row["updated_at"]}


def _attempts(happened: Sequence[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """Return what was tried, newest first: an attempt begins with IN_PROGRESS and ends with the next other status."""
    found: list[dict[str, Any]] = []
    for event in happened:
        if _PAUSE.search(event["reason"]):
            continue
        action, status = Action(event["action"]).name, Status(event["status"])
        last = found[-1] if found else None
        if last is not None and last["ended"] is None and last["action"] == action and status is not Status.IN_PROGRESS:
            last.update(status=status.name, reason=event["reason"], ended=event["created_at"])
            continue
        ended = None if status is Status.IN_PROGRESS else event["created_at"]
        found.append({"action": action, "status": status.name, "reason": event["reason"],
                      "began": event["created_at"] if ended is None else None, "ended": ended,
                      "operation_id": event["operation_id"]})
    return found[::-1]


_LASTS = {"RUNNING": "has been running", "WAITING": "has been waiting for the cloud"}
_NOW = {"RUNNING": "is running", "WAITING": "waits for the cloud", "SCHEDULED": "is ready and waits for a worker",
         "FAILED": "failed", "DONE": "is done", "SKIPPED": "was left out", "PENDING": "waits"}


def _sentence(found: Mapping[str, Any], now: float) -> str:
    """Return in one sentence why the resource is where it is."""
    first, last = found["chain"][0], found["chain"][-1]
    if found["hooks"]:
        return f"{first['name']} waits for you to clear its hook {found['hooks'][0]['hook']}."
    one = found["resource"]
    if (one["state"], one["status"]) == ("DONE", "FAILED"):
        remark = f" ({one['reason']})" if one["reason"] else ""
        return f"{one['name']} was marked unhealthy{remark}: the next update replaces it."
    if first is last:
        return f"{first['name']} {_doing(first, now)}."
    verb = {"PENDING": "waits for", "SKIPPED": "was left out because of"}.get(first["state"], "")
    inside = "" if last["stack"]["id"] == first["stack"]["id"] else f" in {last['stack']['name']}"
    if not verb:
        return f"{first['name']} {_NOW[first['state']]}: {last['name']}{inside} {_doing(last, now)}."
    return f"{first['name']} {verb} {last['name']}{inside}, which {_doing(last, now)}."


def _doing(step: Mapping[str, Any], now: float) -> str:
    if step["hook"]:
        return f"waits for you to clear its hook {step['hook']}"
    text = _NOW[step["state"]]
    if step["since"] is not None and step["state"] in _LASTS:
        text = _LASTS[step["state"]]
        text += f" for {words.duration(now - step['since'])}"
    return f"{text} ({_NAMED.sub('', step['reason'], count=1)})" if step["reason"] else text
