"""I1, I5, I9: every object has one row, every row one node, and rows name the versions that their objects use."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.histories import shapes
from isotherm.sim.world.cloud import NAMED
from isotherm.states import Status


class Ownership:
    """Checks the rows of versions after each unit of work."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._last_retained = 0

    def release_retained(self) -> list[Any]:
        """Release the objects that the last unit of work has retained; return the rows that no policy lets stay so far."""
        found = self._evidence.database.read_table("retained", self._last_retained)
        for row in found:
            self._last_retained = row.id
            if row.physical_id is not None:
                self._evidence.cloud.released.add(row.physical_id)
        return [row for row in found if row.physical_id not in shapes.FOREIGN and not self._may_keep(row)]

    def check_retained(self, doubtful: list[Any]) -> None:
        """I1: an object is given up only where a policy lets it stay, of the operations before or after that unit."""
        for row in doubtful:
            if not self._may_keep(row):
                self._evidence.broken("I1", f"{row.name} was given up, and no policy retains it")

    def _may_keep(self, row: Any) -> bool:
        return self._evidence.operations.may_keep(row.stack_id, row.name)

    def check_owners(self, resources: dict[int, Any], nodes: list[Any]) -> None:
        """I1: no two rows own one object. I5: no two nodes hold one row. I9: every node's row exists."""
        for what, values in (
            ("object", [row.physical_id for row in resources.values()
                        if row.physical_id and not row.external and row.implementation != NAMED]),
            ("token", [row.token for row in resources.values()]),
        ):
            twice = [value for value, count in Counter(values).items() if count > 1]
            if twice:
                self._evidence.broken("I1", f"two rows own one {what}: {twice[0]}")
        holders = Counter(node.resource_id for node in nodes if node.resource_id is not None)
        for id_, count in holders.items():
            if count > 1:
                self._evidence.broken("I5", f"{count} nodes hold {resources[id_].name} #{id_}")
            if id_ not in resources:
                self._evidence.broken("I9", f"a node holds #{id_}, which does not exist")

    def check_requirements(self, resources: dict[int, Any]) -> None:
        """I9: a row names all versions whose objects its own object may use."""
        owner = {row.physical_id: row for row in resources.values() if row.physical_id is not None}
        named: dict[str, list[int]] = {}
        for row in resources.values():
            if row.implementation == NAMED and row.physical_id is not None:
                named.setdefault(row.physical_id, []).append(row.id)
        by_token = {row.token: row for row in resources.values()}
        for thing in self._evidence.cloud.things.values():
            row = by_token.get(thing.token)
            if row is None or not thing.uses or (row.intent is None and row.status == Status.FAILED):
                continue
            for used in thing.uses:
                needed = owner.get(used)
                if needed is None or needed.external:
                    continue
                # An object that a nested stack got by a parameter is required by the resource that owns the stack.
                requiring: Any = row
                while requiring is not None and requiring.stack_id != needed.stack_id:
                    requiring = owner.get(requiring.stack_id)
                known = {needed.id, *named.get(used, ())}
                if requiring is not None and known.isdisjoint(msgspec.json.decode(requiring.requires)):
                    self._evidence.broken("I9", f"{thing.id} uses {used}, and its row does not say so")
