"""I1, I5, I6, I8, I17: every call that changes the cloud has an intent, a lease, and the right to do what it does."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from isotherm.sim.checks.drift import DriftLog
from isotherm.sim.checks.evidence import UNFINISHED, Evidence, is_forgotten
from isotherm.sim.checks.suspension import Suspension
from isotherm.sim.histories import shapes
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import CREATED_AGAIN, NAMED, Thing
from isotherm.states import KEPT, Action, NodeKind, NodeState, OperationState

_ACTIONS = {
    "create": (Action.CREATE,), "update": (Action.UPDATE, Action.SUSPEND, Action.RESUME), "delete": (Action.DELETE,),
}


class Mutations:
    """Checks each mutation before the cloud does it."""

    def __init__(self, evidence: Evidence, drifts: DriftLog, suspension: Suspension) -> None:
        self._evidence = evidence
        self._drifts = drifts
        self._suspension = suspension

    def check(self, verb: str, by: processes.Process | None, thing: Thing) -> tuple[Any, str | None] | None:
        """Return the row that acts and the operation of its intent; None where no row may act."""
        broken = self._evidence.broken
        if thing.foreign:
            broken("I17", f"{verb} of {thing.id}, which is the user's own")
            return None
        rows = self._evidence.database.read_table("resources")
        row = self._acting_row(verb, thing, rows)
        if row is None:
            broken("I1", f"{verb} of {thing.id} without a row")
            return None
        intent = None if row.intent is None else msgspec.json.decode(row.intent)
        # A time-out removes the intent; a call that was sent before may still arrive.
        if intent is None and not row.reason.endswith("aborted (Timed out)"):
            broken("I1", f"{verb} of {thing.id} without a durable intent")
        elif intent is not None and intent["action"] not in _ACTIONS[verb] and not _gives_up(verb, thing, intent):
            broken("I1", f"{verb} of {thing.id}, but the intent is {Action(intent['action']).name}")
        self._check_lease(verb, by, thing, row)
        if intent is not None:
            self._check_intent(verb, thing, row, intent, rows)
        return row, None if intent is None else intent["operation_id"]

    def _check_intent(self, verb: str, thing: Thing, row: Any, intent: dict[str, Any], rows: list[Any]) -> None:
        if intent["action"] == Action.UPDATE and thing.properties.get("rest"):
            self._evidence.broken("I6", f"{thing.id} was changed while it was suspended")
        if intent["action"] == Action.SUSPEND:
            self._suspension.check_suspend(thing, rows)
        if intent["action"] == Action.RESUME:
            self._suspension.check_resume(thing, rows)
        if verb == "delete" and not _gives_up(verb, thing, intent):
            self._check_delete(thing, row, intent["operation_id"])

    def _acting_row(self, verb: str, thing: Thing, rows: list[Any]) -> Any:
        """Return the row that acts on the object. Of several rows that share a chosen id, the last deletes it (I1)."""
        if thing.kind != NAMED or verb == "create":
            return next((one for one in rows if one.token == thing.token), None)
        known = [one for one in rows if not is_forgotten(one)
                 and (one.token == thing.token or (one.physical_id == thing.id and one.implementation == NAMED))]
        acting = [one for one in known
                  if one.intent is not None and msgspec.json.decode(one.intent)["action"] in _ACTIONS[verb]]
        wanted = {node.resource_id for node in self._evidence.database.read_table("nodes") if node.kind != NodeKind.CLEANUP}
        others = [one for one in known if one not in acting and one.id in wanted]
        if verb == "delete" and acting and others:
            self._evidence.broken("I1", f"delete of {thing.id} for #{acting[0].id}, while #{others[0].id} has it")
        return next(iter(acting or known), None)

    def _check_lease(self, verb: str, by: processes.Process | None, thing: Thing, row: Any) -> None:
        node = self._node_of(row)
        name = by.name if by else ""
        if node is None or node.worker != name:
            holder = node.worker if node is not None else "no worker"
            self._evidence.broken("I5", f"{verb} of {thing.id} by {name}, while {holder} has the lease")
        elif node.lease_until is None or node.lease_until < self._evidence.clock():
            self._evidence.broken("I5", f"{verb} of {thing.id} by {name}, whose lease has expired")

    def _node_of(self, row: Any) -> Any:
        return next((one for one in self._evidence.database.read_table("nodes") if one.resource_id == row.id), None)

    def _check_delete(self, thing: Thing, row: Any, operation_id: str) -> None:
        operations = self._evidence.operations
        if operation_id in operations.before_abandoning:
            self._evidence.broken("I17", f"delete of {thing.id}, whose stack is abandoned")
        if row.deletion_policy in KEPT or operations.retains(row.stack_id, thing.name):
            node = self._node_of(row)
            # The call may have been sent already when a newer template said so.
            if node is None or node.state == NodeState.RUNNING:
                self._evidence.broken("I17", f"delete of {thing.id}, which is to be kept")
        operation = operations.operations[operation_id]
        if operation.action is not Action.DELETE and not self._drifts.unresolved and not operation.inside:
            self._check_replacement(thing, operation_id, operation.shape)

    def _check_replacement(self, thing: Thing, operation_id: str, shape: shapes.Shape) -> None:
        """I8: the replaced object is deleted after its replacement is ready, and late where a rollback may need it."""
        part = shape.get(thing.name)
        # A nested stack in its place is no object.
        has_object = part is not None and not part.off and part.inner is None and part.kind != shapes.NOTHING
        if has_object and not self._other_is_ready(thing):
            self._evidence.broken("I8", f"delete of {thing.id} before its replacement is ready")
        with contextlib.suppress(StopIteration):
            stored = next(one for one in self._evidence.database.read_table("operations") if one.id == operation_id)
            keeps_old = not stored.disable_rollback and stored.action != Action.ROLLBACK
            if keeps_old and stored.state in UNFINISHED and stored.state != OperationState.CLEANING:
                self._evidence.broken(
                    "I8", f"delete of {thing.id} before all updates are complete, although a rollback may need it")

    def _other_is_ready(self, thing: Thing) -> bool:
        cloud = self._evidence.cloud
        return any(
            other is not thing and (other.stack, other.name) == (thing.stack, thing.name)
            and cloud.status(other) == "READY"
            for other in cloud.things.values()
        )


def _gives_up(verb: str, thing: Thing, intent: dict[str, Any]) -> bool:
    """Return whether a type deletes the object that it is creating, to create it again."""
    return verb == "delete" and thing.kind in CREATED_AGAIN and bool(intent["action"] == Action.CREATE)
