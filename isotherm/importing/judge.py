"""Finds what prevents the import of a stack tree, as texts for the operator. One problem prevents the whole tree."""

from __future__ import annotations

from collections.abc import Iterator

from isotherm.importing import heat_rows

# States in which a stack is idle and, as far as known, is what its template says.
_ACTIONS = frozenset({"CREATE", "UPDATE", "ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "RESTORE", "ADOPT"})
_IDLE = frozenset({"COMPLETE", "FAILED"})


def problems(tree: heat_rows.HeatStack) -> Iterator[str]:
    """Yield every problem of the tree."""
    for stack in tree.walk():
        if stack.backup:
            yield from _backup(stack)
            continue
        yield from _of_stack(stack, "" if stack is tree else f"nested stack {stack.name}: ")
        yield from _of_resources(stack)


def notes(tree: heat_rows.HeatStack) -> Iterator[str]:
    """Yield what is not imported although the tree is."""
    for stack in tree.walk():
        if stack.snapshots:
            yield f"snapshots of {stack.name} stay with Heat: {', '.join(stack.snapshots)}"


def _backup(stack: heat_rows.HeatStack) -> Iterator[str]:
    """Yield a problem if a backup stack, which Heat's legacy path keeps during an update, still has resources."""
    if any(resource.physical_id for resource in stack.resources):
        yield (f"an update that failed has left resources in the backup stack {stack.name}: update the stack once more "
               "in Heat, so that they are cleaned up")


def _of_stack(stack: heat_rows.HeatStack, where: str) -> Iterator[str]:
    if stack.locked or stack.status == "IN_PROGRESS":
        yield f"{where}an operation is under way ({stack.state}): wait for its end, and import it then"
    elif stack.action not in _ACTIONS or stack.status not in _IDLE:
        yield f"{where}it is {stack.state}, which is no state to go on from: update it in Heat first, or delete it there"
    elif stack.state == "SUSPEND_FAILED":
        yield f"{where}it is SUSPEND_FAILED, and it is not known what rests: suspend it in Heat once more, or resume it"


def _of_resources(stack: heat_rows.HeatStack) -> Iterator[str]:
    for resource in stack.resources:
        if resource.busy or resource.status == "IN_PROGRESS":
            yield f"resource {resource.name} of {stack.name} is {resource.state}: wait for its end, and import it then"
    ids = {resource.physical_id for resource in stack.resources if not resource.replaced}
    for inside in stack.nested:
        if not inside.backup and inside.id not in ids:
            yield f"stack {inside.name} inside {stack.name} belongs to no resource that is there"
