"""Drift: show it, observe now, set how stacks are watched, repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from isotherm import errors
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_suspended
from isotherm.engine.operations.stacks import expect_seen
from isotherm.engine.queries import drift
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.observer import policies, watch_state
from isotherm.observer.observe import Finding, RealityReader, StackRef
from isotherm.observer.rate_limit import RateLimit
from isotherm.observer.record import DriftRecorder
from isotherm.observer.repair import PlannedRepair
from isotherm.observer.watch_state import WatchState
from isotherm.planning import documents, masking
from isotherm.states import Action, DriftPolicy, ObservationResult, Status, WatchMode
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.operations import plan
from isotherm.store.reads import left_out, lookups
from isotherm.store.records import OperationScope
from isotherm.store.versions import protection
from isotherm.store.watch import goals, inherited, repair_records, resources, views
from isotherm.store.watch import schedule as watching
from isotherm.store.watch.schedule import Watch

MODES = {mode.name.lower(): mode for mode in WatchMode}


class DriftService:
    """Shows, observes and repairs the drift of one project's stacks, and configures how they are watched."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._clock = ports.clock
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def show(self, name_or_id: str, *, whole: bool = False) -> dict[str, Any]:
        """Return the resources that have drifted, are gone or could not be observed; `whole`: all resources."""
        row = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> dict[str, Any]:
            watch, state, times = self._watch_state(connection, row)
            found = views.resources(connection, row["id"], whole=whole)
            refused = _refused(connection, row["id"], found)
            counts = views.counts(connection, row["id"])
            return {**drift.stack((row["id"], row["name"]), watch, state, times, counts),
                    "resources": [drift.resource(one, watch, state, refused.get(one["name"], "")) for one in found]}

        found = await self._store.read(unit)
        secrets = await self._inputs.secrets(row)
        return {**found, "resources": await self._ports.planning.masked(secrets, found["resources"])}

    async def show_resource(self, name_or_id: str, name: str) -> dict[str, Any]:
        """Return the drift of a resource, and all properties as they were last applied."""
        row = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> dict[str, Any] | None:
            watch, state, _ = self._watch_state(connection, row)
            found = views.resources(connection, row["id"], name)
            if not found:
                return None
            refused = _refused(connection, row["id"], found).get(name, "")
            return {**drift.resource(found[0], watch, state, refused), "applied": self._applied(connection, found[0]["id"])}

        found = await self._store.read(unit)
        if found is None:
            raise _no_resource(name, row)
        shown: dict[str, Any] = await self._ports.planning.masked(await self._inputs.secrets(row), found)
        return shown

    def _applied(self, connection: Connection, version_id: int) -> dict[str, Any]:
        version = rows.versions(connection, [version_id])[version_id]
        return masking.without_write_only(self._ports.types.types.get(version.implementation),
                                          documents.decode(version.properties, dict[str, Any]))

    def _watch_state(
        self, connection: Connection, row: lookups.Row
    ) -> tuple[Watch | None, WatchState, tuple[float | None, float | None]]:
        watch, observed_at, due = watching.peek(connection, row["id"])
        if watch is None:
            mode = watching.project_mode(connection, row["project"])
            return None, WatchState(policies.WORDS[self._ports.settings.observer_policy], mode, {}), (None, None)
        return watch, watch_state.read(connection, watch, self._ports.settings), (observed_at, due)

    # Watch settings.

    async def hint(self, name_or_id: str, names: Sequence[str] | None = None) -> None:
        """Ask the observer to observe these resources, or the whole stack, as soon as it can."""
        row = await self._stacks.row(name_or_id)
        for name in names or ():
            await self._expect_resource(row, name)
        await self._store.write(lambda connection: watching.hint(connection, row["id"], names, self._clock.now()))
        self._ports.wake(row["id"])

    async def set_watch(
        self, name_or_id: str, *, policy: str | None = "", interval: float | None = -1.0, mode: str = ""
    ) -> None:
        """Set how the stack is watched. A policy or interval of None: that of the settings.

        Repairs that were given up are tried again.
        """
        row = await self._stacks.row(name_or_id)
        values: dict[str, Any] = {}
        if policy != "":
            values["policy"] = None if policy is None else int(_policy(policy))
        if interval is None or interval >= 0:
            values["interval_s"] = interval
        if mode:
            values["mode"] = int(_mode(mode))

        def unit(connection: Connection) -> None:
            now = self._clock.now()
            watching.configure(connection, row["id"], now, **values)
            inherited.renew(connection, row["id"], row["owner_id"], now)

        await self._store.write(unit)
        self._ports.wake(row["id"])

    async def set_resource_policy(self, name_or_id: str, name: str, policy: str | None) -> None:
        """Set the drift policy of one resource; None: that of its metadata or its stack."""
        row = await self._stacks.row(name_or_id)
        resource = await self._expect_resource(row, name)
        chosen = None if policy is None else _policy(policy)

        def unit(connection: Connection) -> None:
            now = self._clock.now()
            watching.override(connection, row["id"], name, chosen, now)
            repair_records.reset(connection, [row["id"]], name)
            # A nested stack inherits the policy of its resource.
            inherited.renew(connection, resource["physical_id"] or "", row["id"], now)

        await self._store.write(unit)
        self._ports.wake(row["id"])

    async def project_mode(self) -> str:
        found = await self._store.read(lambda connection: watching.project_mode(connection, self._project))
        return found.name.lower()

    async def set_project_mode(self, mode: str) -> None:
        """Set the watch mode of the project. A stack's own mode stays in effect too."""
        chosen = _mode(mode)
        await self._store.write(
            lambda connection: watching.set_project(connection, self._project, chosen, self._clock.now()))
        self._ports.wake()

    async def _expect_resource(self, row: lookups.Row, name: str) -> dict[str, Any]:
        found = await self._store.read(lambda connection: views.resources(connection, row["id"], name))
        if not found:
            raise _no_resource(name, row)
        return found[0]

    # Observation and repair.

    async def observe(self, name_or_id: str, name: str | None = None) -> None:
        """Observe the stack, or one resource, now, and record the result. The observer repairs the drift."""
        row = await self._stacks.row(name_or_id)
        if row["status"] == Status.IN_PROGRESS:
            doing = Action(row["action"]).name
            raise errors.Conflict(f"Stack {row['name']} already has an action ({doing}) in progress.",
                                  kind="ActionInProgress", hint="Observe it again when the action has ended.")
        if name is not None:
            await self._expect_resource(row, name)
        rate_limit = RateLimit(self._ports.settings.observer_rate)
        reader = RealityReader(self._ports.types.implementation, self._ports.reading_context(self._project), rate_limit)
        watch = await self._store.write(lambda connection: watching.one(connection, row["id"], self._clock.now()))
        cursor: str | None = ""
        while cursor is not None:
            cursor = await self._observe_some(reader, watch, name, cursor)
        if name is None:
            await self._store.write(lambda connection: watching.looked(connection, row["id"], self._clock.now()))

    async def _observe_some(self, reader: RealityReader, watch: Watch, name: str | None, cursor: str) -> str | None:
        """Observe one resource, or the next batch, and return the cursor of the batch after it."""
        most = self._ports.settings.observer_batch

        def targets_of(connection: Connection) -> list[resources.WatchedResource]:
            if name is not None:
                return resources.named(connection, watch.stack_id, [name])
            return resources.after(connection, watch.stack_id, cursor, most)

        targets = await self._store.read(targets_of)
        findings = await reader.observe(StackRef(self._project, watch.stack_name), targets)
        await self._store.write(lambda connection: self._keep(connection, watch, findings))
        return None if name is not None or len(targets) < most else targets[-1].name

    def _keep(self, connection: Connection, watch: Watch, findings: Sequence[Finding]) -> None:
        if not watching.is_unmoved(connection, watch):
            raise errors.Conflict("The stack was changed while it was observed.", kind="ActionInProgress",
                                  hint="Observe it again.")
        state = watch_state.read(connection, watch, self._ports.settings)
        # A request repairs nothing, so it must not give up repairs either.
        quiet = replace(state, mode=max(state.mode, WatchMode.MAINTENANCE))
        result = DriftRecorder(self._ports.settings).record(connection, watch, quiet, findings, self._clock.now())
        drifted = [one.target.name for one in findings if one.drifted]
        if drifted and not result.to_repair:
            watching.hint(connection, watch.stack_id, drifted, self._clock.now())

    async def converge_one(self, name_or_id: str, name: str) -> Accepted:
        """Observe one resource, repair it, and update its dependants. Raises Conflict while an operation runs."""
        row = await self._stacks.row(name_or_id)
        await self._expect_resource(row, name)
        return await self.repair(goals.Goal(row["id"], row["generation"], (name,)), [name])

    async def repair_drift(
        self, name_or_id: str, names: Sequence[str] | None = None, generation: int | None = None
    ) -> Accepted:
        """Repair these resources, or all of the stack that have drifted."""
        row = await self._stacks.row(name_or_id)
        expect_seen(row, generation)
        if row["owner_id"] is not None:
            raise errors.UserError(f"Stack {row['name']} is nested in another stack, which is repaired as a whole.",
                                   kind="NotSupported", hint="Repair the outermost stack.")
        found = await self._store.read(lambda connection: views.resources(connection, row["id"]))
        drifted = [one["name"] for one in found if one["drifted_since"] is not None]
        for name in names or ():
            await self._expect_resource(row, name)
        chosen = drifted if names is None else list(dict.fromkeys(names))
        if not chosen:
            raise errors.UserError(f"Nothing has drifted in stack {row['name']}.", kind="NotSupported",
                                   hint="Observe it first.")
        return await self.repair(goals.Goal(row["id"], row["generation"], tuple(chosen)), chosen)

    async def repair(
        self, goal: goals.Goal, names: Sequence[str], planned: PlannedRepair | None = None
    ) -> Accepted:
        """Update a stack to its present input, observing the drifted resources: they and their dependants are changed.

        `planned` is the observer's part of the transaction. Raises Conflict if a newer operation was accepted since the
        repair was decided.
        """
        stack = await self._stacks.row(goal.stack_id)
        if stack["generation"] != goal.generation or stack["status"] == Status.IN_PROGRESS:
            raise errors.Conflict("Another operation on this stack was accepted.", kind="ActionInProgress")
        refuse_suspended(stack)
        input_ = await self._inputs.input(stack)
        request = Request(input_.template, input_.files, input_.environment, bool(stack["disable_rollback"]),
                          stack["timeout_s"], documents.decode_any(stack["tags"]), input_.restored, input_.secrets,
                          converge=True, parts=input_.parts)
        wanted = await self._acceptor.desire(request, stack["name"], stack["id"])
        scope = await self._scope(stack, goal, input_.parts.names)
        if planned is not None:
            scope = msgspec.structs.replace(scope or OperationScope(waits=input_.parts.names), repairs=True)
        acceptance = msgspec.structs.replace(
            await self._acceptor.acceptance(stack["id"], stack["generation"], Action.UPDATE, request, wanted, scope),
            reason=f"Stack UPDATE started: repair of {_few(names)}", stays=True)

        def write_plan(connection: Connection, operation_id: str, now: float) -> None:
            plan.write(connection, operation_id, wanted.wanted, now, drifted=goal.names)
            if planned is not None:
                planned.record_acceptance(connection, operation_id, now)

        return await self._acceptor.supersede(acceptance, write_plan)

    async def _scope(self, stack: lookups.Row, goal: goals.Goal, waits: tuple[str, ...]) -> OperationScope | None:
        """Return the scope of a repair: what users have left out stays so, unless it is repaired itself."""
        left = await self._store.read(lambda connection: left_out.on_purpose(connection, stack["operation_id"]))
        return OperationScope(left=tuple(name for name in left if name not in goal.names), waits=waits) if left else None


def _refused(connection: Connection, stack_id: str, found: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return why drifted resources may not be repaired, by name."""
    drifted = [one for one in found if one["drifted_since"] is not None]
    gone = {one["name"] for one in drifted if one["result"] == ObservationResult.GONE}
    return protection.refused_repairs(connection, stack_id, {one["name"] for one in drifted} - gone, gone)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _policy(word: str) -> DriftPolicy:
    if word not in policies.WORDS:
        raise errors.UserError(f"'{word}' is not a drift policy.", kind="ValueError",
                               hint=f"One of: {', '.join(policies.WORDS)}.")
    return policies.WORDS[word]


def _mode(word: str) -> WatchMode:
    if word not in MODES:
        raise errors.UserError(f"'{word}' is not a watch mode.", kind="ValueError", hint=f"One of: {', '.join(MODES)}.")
    return MODES[word]


def _no_resource(name: str, row: lookups.Row) -> errors.NotFound:
    return errors.NotFound(f"The Resource ({name}) could not be found in Stack {row['name']}.", kind="ResourceNotFound",
                           hint="`isotherm resources STACK` shows what there is.")
