"""I1, I11, I14, I15, I16 in the idle state: every object is owned, every ending true, and no row is left over."""

from __future__ import annotations

from collections import Counter
from typing import Any

from isotherm.sim.checks.evidence import UNFINISHED, Evidence, is_forgotten
from isotherm.sim.world.cloud import NAMED
from isotherm.states import VISITING, Action, EdgeKind, NodeKind, NodeState, OperationState, Status
from isotherm.store import limits
from isotherm.store.memory import MemoryDatabase

COUNTED = ("stacks", "operations", "history", "blobs", "uses", "nodes", "edges", "resources", "retained")


def counts(database: MemoryDatabase) -> dict[str, int]:
    return {table: database.count(table) for table in COUNTED}


def is_idle(database: MemoryDatabase) -> bool:
    """Return whether no operation is unfinished and no deleted snapshot waits for its clean-up."""
    unwanted = any(row.due is not None for row in database.read_table("snapshots"))
    return not unwanted and not any(row.state in UNFINISHED for row in database.read_table("operations"))


def check(evidence: Evidence, *, drifted: bool) -> None:
    """Check the invariants of kind Q. With `drifted`, objects may be gone behind the engine's back."""
    resources = evidence.database.read_table("resources")
    _check_objects(evidence, resources, drifted=drifted)
    _check_nested_stacks(evidence, resources)
    _check_endings(evidence)
    _check_leftovers(evidence, resources)
    _check_stack_status(evidence)
    _check_failures(evidence, resources)


def _check_objects(evidence: Evidence, resources: list[Any], *, drifted: bool) -> None:
    """I1: every object has a row, and every complete row its object."""
    cloud = evidence.cloud
    tokens = {row.token for row in resources}
    # Where the client chooses ids, an object may carry the token of another version of its resource.
    named = {row.physical_id for row in resources if row.implementation == NAMED and not is_forgotten(row)}
    for thing in cloud.things.values():
        if not thing.foreign and thing.token not in tokens and thing.id not in cloud.released | named:
            evidence.broken("I1", f"no row owns {thing.id}")
    stacks = {stack.id for stack in evidence.living_stacks()}
    for row in resources:
        if row.implementation.startswith("OS::") or is_forgotten(row):
            continue  # it has no object in the cloud
        lost = row.physical_id is not None and row.physical_id not in cloud.things and row.physical_id not in stacks
        if lost and row.status == Status.COMPLETE and not drifted:
            evidence.broken("I1", f"{row.name} claims {row.physical_id}, which does not exist")


def _check_nested_stacks(evidence: Evidence, resources: list[Any]) -> None:
    """I1: every nested stack belongs to a resource."""
    tokens = {(row.stack_id, row.token[-12:]) for row in resources}
    for stack in evidence.living_stacks():
        if stack.owner_id is not None and (stack.owner_id, stack.name.rpartition("-")[2]) not in tokens:
            evidence.broken("I1", f"no resource owns stack {stack.name}")


def _check_endings(evidence: Evidence) -> None:
    """I11: every newest operation has one terminal event. I15: a failed operation has at most one rollback."""
    for operation in evidence.operations.newest.values():
        if len(operation.endings) != 1:
            evidence.broken("I11", f"{operation.action.name} of {operation.stack} has endings {operation.endings}")
    triggers = Counter(
        (operation.stack_id, operation.generation)
        for operation in evidence.operations.operations.values() if operation.action is Action.ROLLBACK
    )
    for (_, generation), count in triggers.items():
        if count > 1:
            evidence.broken("I15", f"{count} rollbacks at generation {generation}")


def _check_leftovers(evidence: Evidence, resources: list[Any]) -> None:
    """I16: operations, nodes and edges exist for the live generation only, and blobs only where they are used."""
    database, broken = evidence.database, evidence.broken
    operations = {row.id: row for row in database.read_table("operations")}
    used = database.read_table("uses")
    if {row.hash for row in used} != {row.hash for row in database.read_table("blobs")}:
        broken("I16", "blobs and their uses do not match")
    snapshots = {row.id for row in database.read_table("snapshots")}
    history = database.read_table("history")
    past = {row.operation_id for row in history}
    if any(row.operation_id not in operations.keys() | snapshots | past for row in used):
        broken("I16", "a blob is used by an operation that is gone")
    stacks = database.read_table("stacks")
    kept = {id_ for stack in stacks for id_ in (stack.operation_id, stack.complete_operation_id)}
    superfluous = [row for row in operations.values() if row.id not in kept]
    if superfluous:
        broken("I16", f"{len(superfluous)} superseded operations are kept")
    gone = {stack.id for stack in stacks if stack.tomb}
    nodes = database.read_table("nodes")
    if any(row.stack_id in gone for row in (*nodes, *resources, *history)):
        broken("I16", "a deleted stack has left rows behind")
    if any(count > limits.HISTORY for count in Counter(row.stack_id for row in history).values()):
        broken("I16", "more inputs are kept than the history may have")
    hashes = {(row.operation_id, row.hash) for row in used}
    if any(row.input and (row.operation_id, row.input) not in hashes for row in history):
        broken("I16", "an input of the history has lost its blob")
    known = {node.id for node in nodes}
    if any(edge.src not in known or edge.dst not in known for edge in database.read_table("edges")):
        broken("I16", "an edge leads nowhere")
    complete = {stack.id for stack in stacks if stack.status == Status.COMPLETE and stack.action not in VISITING}
    # A resource that an earlier operation was to delete may be left out: then its node is held back.
    whole = {id_ for id_ in complete if evidence.operations.newest[id_].slack is None}
    if any(node.kind != NodeKind.UPDATE and node.stack_id in whole for node in nodes):
        broken("I16", "a completed operation has left clean-up nodes or barriers behind")
    stays = {node.id for node in nodes if node.stack_id in complete}
    if any(edge.kind != EdgeKind.REQUIRES and edge.src in stays for edge in database.read_table("edges")):
        broken("I16", "a completed operation has left its order behind")


def _check_stack_status(evidence: Evidence) -> None:
    """I14: the status of a stack is that of its newest operation."""
    database = evidence.database
    for stack in database.read_table("stacks"):
        operation = evidence.operations.newest[stack.id]
        if stack.operation_id != operation.id or stack.status == Status.IN_PROGRESS:
            evidence.broken("I14", f"{stack.name} says {Status(stack.status).name} after its newest operation ended")
        elif operation.endings != [Status(stack.status).name]:
            evidence.broken("I14", f"{stack.name} says {Status(stack.status).name}, its events say {operation.endings}")
        row = next((one for one in database.read_table("operations") if one.id == stack.operation_id), None)
        if row is not None and row.state == OperationState.COMPLETE and row.remaining:
            evidence.broken("I14", f"{stack.name} is complete with {row.remaining} nodes left")


def _check_failures(evidence: Evidence, resources: list[Any]) -> None:
    """I14: the resource of a failed node has ended. It may still show how an earlier operation ended."""
    states = {row.id: Status(row.status) for row in resources}
    for node in evidence.database.read_table("nodes"):
        shown = states.get(node.resource_id)
        lost = shown is None and node.kind != NodeKind.CLEANUP
        if node.state == NodeState.FAILED and (lost or shown is Status.IN_PROGRESS):
            evidence.broken("I14", f"{node.name} has failed, and its resource says {shown.name if shown else 'nothing'}")
