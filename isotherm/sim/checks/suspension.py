"""I6, I7, I14: objects are suspended after their users, resumed before them, and all are when the stack is complete."""

from __future__ import annotations

from typing import Any

from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.world.cloud import Thing
from isotherm.states import NodeKind, Status


class Suspension:
    """Checks suspend and resume calls, and their operations when they are complete."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def check_suspend(self, thing: Thing, rows: list[Any]) -> None:
        """I7: every object that uses this one by its template is suspended already."""
        nodes = {node.resource_id: node for node in self._evidence.database.read_table("nodes")}
        by_token = {row.token: row for row in rows}
        for other in self._evidence.cloud.things.values():
            row = by_token.get(other.token)
            if thing.id not in other.uses or other.properties.get("rest") or row is None or row.id not in nodes:
                continue
            node = nodes[row.id]
            if other.stack == thing.stack and node.kind != NodeKind.CLEANUP and row.digest == node.digest:
                self._evidence.broken("I7", f"{thing.id} is suspended while {other.id} uses it")

    def check_resume(self, thing: Thing, rows: list[Any]) -> None:
        """I6: every object that this one uses is resumed, unless its resume failed or it is to be deleted."""
        by_token = {row.token: row for row in rows}
        things = self._evidence.cloud.things
        for used in (things[id_] for id_ in thing.uses if id_ in things):
            row = by_token.get(used.token)
            if row is None or used.stack != thing.stack or row.superseded or row.status == Status.FAILED:
                continue
            if used.properties.get("rest"):
                self._evidence.broken("I6", f"{thing.id} is resumed while {used.id}, which it uses, is suspended")

    def check_complete(self, stack_id: str, stack: str, *, suspended: bool) -> None:
        """I14: all objects of the stack and of its nested stacks are suspended, or all are resumed."""
        nodes = {node.resource_id for node in self._evidence.database.read_table("nodes") if node.kind != NodeKind.CLEANUP}
        wanted = [row for row in self._evidence.database.read_table("resources")
                  if row.stack_id == stack_id and row.id in nodes]
        for row in wanted:
            thing = self._evidence.cloud.things.get(row.physical_id or "")
            if thing is None or thing.foreign:
                continue
            if bool(thing.properties.get("rest")) is not suspended:
                self._evidence.broken("I14", f"{stack} is {'suspended' if suspended else 'resumed'}, and {thing.id} is not")
        # A nested stack that is being deleted with its resource is left alone.
        inside = {row.physical_id for row in wanted}
        for child in self._evidence.living_stacks():
            if child.owner_id == stack_id and child.id in inside:
                self.check_complete(child.id, child.name, suspended=suspended)
