"""States of stacks, operations, nodes and resources: integers in the database, enums in the code (S2.15).

The numbers are stored: a number that has been used never gets another meaning.
"""

from __future__ import annotations

from enum import IntEnum


class Action(IntEnum):
    """The action of an operation, or of a step on a resource."""

    INIT = 0
    CREATE = 1
    UPDATE = 2
    DELETE = 3
    ROLLBACK = 4
    CHECK = 5
    SUSPEND = 6
    RESUME = 7
    SNAPSHOT = 8
    RESTORE = 9
    ADOPT = 10
    ABANDON = 11
    SIGNAL = 12  # only in events
    OBSERVE = 13  # only in events: drift was found, or is over


# Operations that visit every resource and change no definition.
VISITING = frozenset({Action.CHECK, Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})
# Of these, those that follow the order of requirements.
ORDERED = frozenset({Action.SUSPEND, Action.RESUME})
# Operations that, when they fail, are rolled back if the stack is set so.
ROLLED_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.RESTORE, Action.ADOPT})
# Actions whose failure leaves the object as it was: no reason to replace it.
HARMLESS = frozenset({Action.SUSPEND, Action.SNAPSHOT, Action.ADOPT})


# Follows the id of a stack in the physical id of a resource that reads its outputs.
OUTPUTS_OF = "/outputs"
# Reason of a resource after a check, if its type cannot be observed.
UNCHECKED = "CHECK not supported for"


class Status(IntEnum):
    """The status of an action."""

    IN_PROGRESS = 1
    COMPLETE = 2
    FAILED = 3


class ObservationResult(IntEnum):
    """The result of an observation. Unseen (unknown) is not gone."""

    SEEN = 1
    GONE = 2
    UNSEEN = 3


class NodeState(IntEnum):
    """The state of a node."""

    PENDING = 0  # waits for other nodes
    SCHEDULED = 1  # ready, and not yet claimed
    RUNNING = 2  # claimed by a worker, under a lease
    WAITING = 3  # waits for something outside, with a wake-up time and no lease
    DONE = 4
    FAILED = 5
    SKIPPED = 6  # a requirement failed, or the operation was stopped


ENDED = frozenset({NodeState.DONE, NodeState.FAILED, NodeState.SKIPPED})


class NodeKind(IntEnum):
    """The kind of a node: what its step does."""

    UPDATE = 1  # bring the resource to its definition: create, update, replace or nothing
    CLEANUP = 2  # delete one version of a resource
    BARRIER = 3  # nothing: other nodes wait for it together
    VISIT = 4  # the action of an operation on every resource: check, suspend, resume, snapshot


class EdgeKind(IntEnum):
    """The reason for the order of two nodes."""

    REQUIRES = 1  # a dependency of the template; lasts as long as the two resources do
    ORDER = 2  # of one operation only
    SOFT = 3  # of one operation only, and a failure does not pass through it


class OperationState(IntEnum):
    """The state of an operation; docs/state-machines.md shows the transitions."""

    PLANNING = 1  # accepted; its nodes are not written yet
    UPDATING = 2
    CLEANING = 3
    COMPLETE = 4
    FAILED = 5
    SUPERSEDED = 6
    WAKING = 7  # suspended resources are resumed, then the operation is planned again


UNFINISHED = (OperationState.PLANNING, OperationState.WAKING, OperationState.UPDATING, OperationState.CLEANING)


class DriftPolicy(IntEnum):
    """The drift policy: what follows from drift."""

    IGNORE = 1  # no observation
    REPORT = 2
    REPAIR = 3


class WatchMode(IntEnum):
    """The mode in which a stack or project is observed."""

    ACTIVE = 1
    MAINTENANCE = 2  # drift is reported, nothing is repaired
    PAUSED = 3  # no observation


class DeletionPolicy(IntEnum):
    """The fate of the object when its resource is deleted."""

    DELETE = 1
    RETAIN = 2
    SNAPSHOT = 3
    # The stack is abandoned, or its adoption undone: the object stays; a nested stack is deleted, and its objects stay.
    ABANDON = 4


#: Policies under which the object is not deleted.
KEPT = frozenset({DeletionPolicy.RETAIN, DeletionPolicy.ABANDON})


class Protection(IntEnum):
    """The level of a protection: what the object is protected from. Each level includes those before it."""

    NONE = 0
    REPLACE = 1
    DELETE = 2  # a replacement ends in a deletion
    UPDATE = 3  # any change


class ServiceKind(IntEnum):
    """The kind of a process of the service."""

    ENGINE = 1
    API = 2
    OBSERVER = 3
