"""The list of stacks by need of attention, and the head of one stack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from isotherm.engine import view_memory
from isotherm.engine.overview import words
from isotherm.engine.overview.places import TemplatePlaces
from isotherm.engine.overview.tallies import StackTally, Tallies
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.observer import policies, watch_state
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.reads import events, left_out, lookups, overview
from isotherm.store.reads.overview import Attention, Chosen, Listed, ListOrder, Remark
from isotherm.store.versions import protection
from isotherm.store.watch import schedule

__all__ = ["Attention", "Chosen", "ListOrder", "SummaryService"]

# The names of the groups in the API.
GROUPS = {"at_work": Attention.AT_WORK, "failed": Attention.FAILED, "drift": Attention.DRIFT, "waits": Attention.WAITS,
          "in_order": Attention.IN_ORDER}
_NAMES = {group: name for name, group in GROUPS.items()}
# Hooks that a head shows.
_HOOKS = 20
# Resources that wait, as far as they are named.
_LEFT_OUT = 50
# The beginning of a stack's reason, from which a list needs the name of the resource.
_FAILED = re.compile(r"^Resource \w+ failed: (?:\w+: )?resources\.(.+?): ")
_FAILURES = 2000


class SummaryService:
    """Reads the heads of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._store = ports.store
        self._stacks = StackFinder(ports.store, requester.project)
        self._tallies = Tallies(ports.memory)
        self._places = TemplatePlaces(ports, requester.project)

    async def page(self, chosen: Chosen, *, everywhere: bool = False) -> dict[str, Any]:
        """Return a page of the list; `everywhere`: of the stacks of all projects."""
        now, project = self._ports.clock.now(), None if everywhere else self._project

        def unit(connection: Connection) -> tuple[list[tuple[Listed, Remark]], dict[Attention, int], int]:
            found = overview.page(connection, project, chosen)
            remarks = [(one, overview.remark(connection, one.row, one.group)) for one in found]
            return remarks, overview.counts(connection, project, chosen), events.last_id(connection)

        found, groups, last = await self._store.read(unit)
        shown = [await self._row(one, remark, now) for one, remark in found]
        full = len(found) == chosen.limit and found
        return {
            "now": now, "summaries": shown, "last_event_id": last,
            "counts": {"all": sum(groups.values()), **{name: groups.get(group, 0) for name, group in GROUPS.items()}},
            "next": found[-1][0].position if full else None,
        }

    async def _row(self, one: Listed, remark: Remark, now: float) -> dict[str, Any]:
        tally = await self._tallies.of(self._store, one.row, now, tree=True)
        operation = remark.operation
        return {
            "stack": words.stack(one.row), "group": _NAMES[one.group], **_counted(tally), "stacks": tally.stacks,
            "counted": tally.at, "began": None if operation is None else operation["created_at"],
            "ended": None if operation is None else operation["ended_at"],
            "drift": {"drifted": remark.drifted, "gone": remark.gone, "observed": remark.observed},
            "hooks": remark.hooks, "why": _why(one, remark),
        }

    async def show(self, name_or_id: str) -> dict[str, Any]:
        """Return the head of a stack: counts, operation, first failure, drift, hooks."""
        stack, now = await self._stacks.row(name_or_id, deleted=True), self._ports.clock.now()
        head = await self._store.read(partial(self._head, stack=stack))
        own = await self._tallies.of(self._store, stack, now)
        tree = await self._tallies.of(self._store, stack, now, tree=True)
        if head["operation"] is not None and head["operation"]["failure"] is not None:
            await self._locate_failure(stack, head["operation"])
        return {
            "now": now, "stack": words.stack(stack), **_counted(own), "counted": own.at,
            "tree": None if tree.stacks == 1 else {**_counted(tree), "stacks": tree.stacks}, **head,
        }

    def _head(self, connection: Connection, *, stack: lookups.Row) -> dict[str, Any]:
        hooks = overview.hooks_of(connection, stack)
        waiting = left_out.names(connection, stack["operation_id"])
        return {
            "path": [{"id": id_, "name": name, "resource": resource}
                     for id_, name, resource in overview.path(connection, stack)],
            "operation": words.operation(lookups.operation(connection, stack["operation_id"])),
            "rollback_generation": overview.generation(connection, stack["complete_operation_id"]),
            "drift": self._drift(connection, stack),
            "left_out": {"resources": waiting[:_LEFT_OUT], "total": len(waiting)},
            "hooks": [{"resource": one["name"], "hook": one["hook"], "since": one["created_at"]} for one in hooks[:_HOOKS]],
            "hooks_total": len(hooks), "events": overview.events(connection, stack["id"]),
            "protection": protection.own_refusal(connection, stack["id"]),
            "snapshots": overview.snapshots(connection, stack["id"]), "last_event_id": events.last_id(connection),
        }

    def _drift(self, connection: Connection, stack: lookups.Row) -> dict[str, Any]:
        watch, observed_at, due = schedule.peek(connection, stack["id"])
        drifted, gone = overview.drift(connection, stack["id"])
        if watch is None:
            policy = policies.WORDS[self._ports.settings.observer_policy]
            mode, given_up = schedule.project_mode(connection, stack["project"]), 0
        else:
            standing = watch_state.read(connection, watch, self._ports.settings)
            policy, mode = standing.policy, standing.mode
            given_up = sum(one.tripped_at is not None for one in standing.repairs.values())
        state = "drifted" if drifted or gone else "never_seen" if observed_at is None else "in_sync"
        return {"drift": state, "policy": policy.name.lower(), "mode": mode.name.lower(), "drifted": drifted, "gone": gone,
                "given_up": given_up, "observed": observed_at, "next": due}

    async def _locate_failure(self, stack: lookups.Row, operation: dict[str, Any]) -> None:
        """Add the resource that failed first, and its place in the template."""
        known = self._ports.memory.failures
        if operation["id"] not in known:
            event = await self._store.read(lambda c: overview.first_failure(c, stack["id"], operation["id"]))
            if event is None:
                return
            line, column = await self._places.of(stack, event["name"])
            view_memory.keep(known, operation["id"], {
                "resource": event["name"], "reason": event["reason"], "at": event["created_at"], "event_id": event["id"],
                "line": line, "column": column}, _FAILURES)
        operation["failure"] = dict(known[operation["id"]])


def _counted(tally: StackTally) -> dict[str, Any]:
    return {"counts": words.counts(tally.counts), "total": tally.total}


def _why(one: Listed, remark: Remark) -> str:
    """Return in one sentence why a stack is in its group."""
    row: Mapping[Any, Any] = one.row
    if one.group is Attention.FAILED:
        return _FAILED.sub(r"\1: ", str(row["reason"]), count=1)
    if one.group is Attention.WAITS:
        return f"{remark.resource}: {remark.reason} hook; clear it to go on."
    if one.group is Attention.DRIFT:
        return f"{remark.resource} is gone." if remark.reason == "gone" else f"{remark.resource} has drifted."
    if one.group is Attention.AT_WORK:
        reason = f": {remark.reason}" if remark.reason else " is in progress."
        return f"{remark.resource}{reason}" if remark.resource else ""
    suspended = row["action"] == Action.SUSPEND and row["status"] == Status.COMPLETE
    return "Suspended; resume it before the next update." if suspended else ""


