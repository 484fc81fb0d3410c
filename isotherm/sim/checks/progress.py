"""I4, I10, I13: every unfinished operation is the newest of its stack and will be looked at again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isotherm.sim.checks.evidence import UNFINISHED, Evidence
from isotherm.states import Action, NodeState, OperationState


class Progress:
    """Checks after each unit of work that no wake-up is lost."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def check(self, nodes: list[Any], stacks: dict[str, Any]) -> None:
        unfinished = {one.id: one for one in self._evidence.database.read_table("operations") if one.state in UNFINISHED}
        self._record_plans(unfinished.values())
        self._check_waits(nodes, stacks, unfinished)
        for operation in unfinished.values():
            stack = stacks.get(operation.stack_id)
            if stack is None or stack.operation_id != operation.id:
                self._evidence.broken("I4", f"an operation that is not the newest of {operation.stack_id} goes on")
            due = operation.due is not None or any(
                node.due is not None for node in nodes
                if node.stack_id == operation.stack_id and node.generation == operation.generation
            )
            if not due:
                action = Action(operation.action).name
                self._evidence.broken("I10", f"{action} is under way, and neither it nor any of its nodes is due")

    def _record_plans(self, operations: Iterable[Any]) -> None:
        log = self._evidence.operations
        for one in operations:
            if one.action == Action.ROLLBACK and one.state != OperationState.PLANNING:
                log.planned(log.operations[one.id])

    def _check_waits(self, nodes: list[Any], stacks: dict[str, Any], unfinished: dict[str, Any]) -> None:
        """I10: an end or a signal wakes the node that waits for it. I13: a cancel reaches the nested operation."""
        now, broken = self._evidence.clock(), self._evidence.broken
        for node in nodes:
            if node.awaits is None or node.state != NodeState.WAITING or node.due is None:
                continue
            if node.awaits.isdigit():
                signals = self._evidence.database.read_table("signals")
                signalled = any(row.resource_id == int(node.awaits) for row in signals)
                if signalled and node.due > now:
                    broken("I10", f"{node.name} has got its signal, and is not due")
            elif node.awaits not in unfinished:
                if node.due > now:
                    broken("I10", f"{node.name} waits for an operation that has ended, and is not due")
            else:
                parent = unfinished.get(stacks[node.stack_id].operation_id)
                if parent is not None and parent.cancelled and not unfinished[node.awaits].cancelled:
                    broken("I13", f"{node.name} was cancelled, and the operation that it waits for goes on")
