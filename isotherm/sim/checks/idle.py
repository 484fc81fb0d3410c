"""What must hold when nothing moves any more: everything owned, nothing left over, nothing piled up."""

from __future__ import annotations

from collections import Counter
from typing import Any

from isotherm.sim.checks.witness import UNFINISHED, Witness
from isotherm.sim.world.cloud import NAMED, Cloud
from isotherm.states import VISITING, Action, EdgeKind, NodeKind, NodeState, OperationState, Status
from isotherm.store.memory import MemoryDatabase

COUNTED = ("stacks", "operations", "blobs", "uses", "nodes", "edges", "resources", "retained")


def counts(database: MemoryDatabase) -> dict[str, int]:
    return {table: database.count(table) for table in COUNTED}


def at_rest(database: MemoryDatabase) -> bool:
    doomed = any(row.due is not None for row in database.look("snapshots"))
    return not doomed and not any(row.state in UNFINISHED for row in database.look("operations"))


def check(database: MemoryDatabase, cloud: Cloud, witness: Witness) -> None:
    """The invariants of kind Q."""
    resources = database.look("resources")
    _everything_owned(resources, cloud, witness)
    _nobody_without_a_parent(resources, witness)
    _one_ending_each(witness)
    _nothing_piled_up(database, resources, witness)
    _endings_are_true(database, resources, witness)
    _failures_are_shown(database, resources, witness)


def _everything_owned(resources: list[Any], cloud: Cloud, witness: Witness) -> None:
    tokens = {row.token for row in resources}
    # Where the client chooses ids, an object may carry the token of another version of its resource.
    named = {row.physical_id for row in resources if row.implementation == NAMED and not witness.is_forgotten(row)}
    for thing in cloud.things.values():
        if not thing.foreign and thing.token not in tokens and thing.id not in cloud.released | named:
            witness.broken("I1", f"nobody owns {thing.id}")
    stacks = {stack.id for stack in witness.living_stacks()}
    for row in resources:
        if row.implementation.startswith("OS::") or witness.is_forgotten(row):
            continue  # nothing but a row
        lost = row.physical_id is not None and row.physical_id not in cloud.things and row.physical_id not in stacks
        if lost and row.status == Status.COMPLETE and not witness.drifted:
            witness.broken("I1", f"{row.name} claims {row.physical_id}, which does not exist")


def _nobody_without_a_parent(resources: list[Any], witness: Witness) -> None:
    """I1: every stack inside is that of a resource of a stack that lives."""
    tokens = {(row.stack_id, row.token[-12:]) for row in resources}
    for stack in witness.living_stacks():
        if stack.owner_id is not None and (stack.owner_id, stack.name.rpartition("-")[2]) not in tokens:
            witness.broken("I1", f"nobody owns stack {stack.name}")


def _one_ending_each(witness: Witness) -> None:
    for operation in witness.ledger.newest.values():
        if len(operation.endings) != 1:
            witness.broken("I11", f"{operation.action.name} of {operation.stack} has endings {operation.endings}")
    triggers = Counter(
        (operation.stack_id, operation.generation)
        for operation in witness.ledger.operations.values() if operation.action is Action.ROLLBACK
    )
    for (_, generation), count in triggers.items():
        if count > 1:
            witness.broken("I15", f"{count} rollbacks at generation {generation}")


def _nothing_piled_up(database: MemoryDatabase, resources: list[Any], witness: Witness) -> None:
    """I16: coordination rows only for what lives, blobs only for who uses them."""
    operations = {row.id: row for row in database.look("operations")}
    used = database.look("uses")
    if {row.hash for row in used} != {row.hash for row in database.look("blobs")}:
        witness.broken("I16", "blobs and their users do not match")
    snapshots = {row.id for row in database.look("snapshots")}
    if any(row.operation_id not in operations and row.operation_id not in snapshots for row in used):
        witness.broken("I16", "a blob is used by an operation that is gone")
    stacks = database.look("stacks")
    kept = {id_ for stack in stacks for id_ in (stack.operation_id, stack.complete_operation_id)}
    piled = [row for row in operations.values() if row.id not in kept]
    if piled:
        witness.broken("I16", f"{len(piled)} operations are kept that nobody needs")
    gone = {stack.id for stack in stacks if stack.tomb}
    nodes = database.look("nodes")
    if any(row.stack_id in gone for row in (*nodes, *resources)):
        witness.broken("I16", "a deleted stack has left rows behind")
    known = {node.id for node in nodes}
    if any(edge.src not in known or edge.dst not in known for edge in database.look("edges")):
        witness.broken("I16", "an edge leads nowhere")
    complete = {stack.id for stack in stacks if stack.status == Status.COMPLETE and stack.action not in VISITING}
    if any(node.kind != NodeKind.UPDATE and node.stack_id in complete for node in nodes):
        witness.broken("I16", "a completed operation has left clean-up nodes or barriers behind")
    stays = {node.id for node in nodes if node.stack_id in complete}
    if any(edge.kind != EdgeKind.REQUIRES and edge.src in stays for edge in database.look("edges")):
        witness.broken("I16", "a completed operation has left its order behind")


def _endings_are_true(database: MemoryDatabase, resources: list[Any], witness: Witness) -> None:
    """I14: what the stack says is what its operation came to."""
    for stack in database.look("stacks"):
        operation = witness.ledger.newest[stack.id]
        if stack.operation_id != operation.id or stack.status == Status.IN_PROGRESS:
            witness.broken("I14", f"{stack.name} says {Status(stack.status).name} after its newest operation ended")
        elif operation.endings != [Status(stack.status).name]:
            witness.broken("I14", f"{stack.name} says {Status(stack.status).name}, its events say {operation.endings}")
        row = next((one for one in database.look("operations") if one.id == stack.operation_id), None)
        if row is not None and row.state == OperationState.COMPLETE and row.remaining:
            witness.broken("I14", f"{stack.name} is complete with {row.remaining} nodes left")


def _failures_are_shown(database: MemoryDatabase, resources: list[Any], witness: Witness) -> None:
    """I14: a node that failed has a resource that shows it. What outlasts its operation may still say how it ended."""
    states = {row.id: Status(row.status) for row in resources}
    for node in database.look("nodes"):
        shown = states.get(node.resource_id)
        lost = shown is None and node.kind != NodeKind.CLEANUP
        if node.state == NodeState.FAILED and (lost or shown is Status.IN_PROGRESS):
            witness.broken("I14", f"{node.name} has failed, and its resource says {shown.name if shown else 'nothing'}")
