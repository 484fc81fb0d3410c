"""The states of things, as integers in the database and enums in the code (ledger S2.15).

The numbers are stored: a number that has been used never gets another meaning.
"""

from __future__ import annotations

from enum import IntEnum


class Action(IntEnum):
    """What is done to a resource, or to a stack of them."""

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
    OBSERVE = 13  # only in events: drift was seen, or is gone


# Operations that visit every resource and want nothing of it that is not there already.
VISITING = frozenset({Action.CHECK, Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})
# Of these, those that visit what uses something, and what it uses, one after the other.
ORDERED = frozenset({Action.SUSPEND, Action.RESUME})
# Operations that, when they fail, are rolled back if the stack is set so.
ROLLED_BACK = frozenset({Action.CREATE, Action.UPDATE, Action.RESTORE, Action.ADOPT})
# What may fail and leave the object as it was: no reason to make it anew.
HARMLESS = frozenset({Action.SUSPEND, Action.SNAPSHOT, Action.ADOPT})


# What is said, after a check, of a resource whose type cannot be looked at.
UNCHECKED = "CHECK not supported for"


class Status(IntEnum):
    """How far it has come."""

    IN_PROGRESS = 1
    COMPLETE = 2
    FAILED = 3


class Sight(IntEnum):
    """What a look at an object said. Unseen is not gone."""

    SEEN = 1
    GONE = 2
    UNSEEN = 3


class NodeState(IntEnum):
    """Where a node of a traversal stands."""

    PENDING = 0  # waits for other nodes
    SCHEDULED = 1  # ready, and not yet taken by a worker
    RUNNING = 2  # a worker has it, under a lease
    WAITING = 3  # waits for the world, with a wake-up time; nobody holds it
    DONE = 4
    FAILED = 5
    SKIPPED = 6  # something it needs failed, or the operation was stopped


ENDED = frozenset({NodeState.DONE, NodeState.FAILED, NodeState.SKIPPED})


class NodeKind(IntEnum):
    """What a visit to the node does."""

    UPDATE = 1  # bring the resource to its definition: create, update, replace or nothing
    CLEANUP = 2  # delete one version of a resource
    BARRIER = 3  # nothing: a meeting point in the graph
    VISIT = 4  # do what the operation does to every resource: check, suspend, resume, snapshot


class EdgeKind(IntEnum):
    REQUIRES = 1  # of the template: lasts as long as the two resources do
    ORDER = 2  # of one operation only
    SOFT = 3  # of one operation only, and a failure does not pass through it


class OperationState(IntEnum):
    PLANNING = 1  # accepted; its nodes are not written yet
    UPDATING = 2
    CLEANING = 3
    COMPLETE = 4
    FAILED = 5
    SUPERSEDED = 6
    WAKING = 7  # what sleeps is woken, and then it is planned (again)


UNFINISHED = (OperationState.PLANNING, OperationState.WAKING, OperationState.UPDATING, OperationState.CLEANING)


class DriftPolicy(IntEnum):
    """What follows when an object is not what was made of it."""

    IGNORE = 1  # nobody looks
    REPORT = 2
    REPAIR = 3


class WatchMode(IntEnum):
    ACTIVE = 1
    MAINTENANCE = 2  # somebody works on it: drift is told, and nothing is repaired
    PAUSED = 3  # nobody looks


class DeletionPolicy(IntEnum):
    DELETE = 1
    RETAIN = 2
    SNAPSHOT = 3
    # The stack is abandoned, or its adoption undone: the object stays; a stack inside goes, and its objects stay.
    ABANDON = 4


#: The objects of these are not deleted with their rows.
KEPT = frozenset({DeletionPolicy.RETAIN, DeletionPolicy.ABANDON})


class ServiceKind(IntEnum):
    """What a process of the service does."""

    ENGINE = 1
    API = 2
    OBSERVER = 3
