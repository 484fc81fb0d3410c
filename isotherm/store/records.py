"""What goes over the store's counter: plain values, in the words of the engine. JSON stays text until somebody needs it.

They are made by the ten thousand: msgspec makes them several times as fast as dataclasses do, and out of sight of the
garbage collector (none of them can be part of a cycle).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from isotherm.states import (
    ORDERED,
    VISITING,
    Action,
    DeletionPolicy,
    EdgeKind,
    NodeKind,
    NodeState,
    ObservationResult,
    OperationState,
    Status,
)


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """A request that has been checked and may become an operation. `generation` is the one it was based on."""

    stack_id: str
    generation: int
    operation_id: str
    action: Action
    input: str
    disable_rollback: bool
    timeout_s: float | None
    tags: str = "[]"
    blobs: Mapping[str, str] = {}
    reason: str = ""
    description: str | None = None
    # The operation whose input it takes over, where nothing new is asked for.
    input_of: str = ""
    # How long it may really take, where that is not `timeout_s`, which is what was asked for.
    limit_s: float | None = None
    # It looks at reality before it decides.
    converge: bool = False
    # If it fails it is not rolled back, whatever holds for the stack: it wants nothing that was not there before.
    stays: bool = False
    # The credential that the accepting transaction binds to the stack, if one was lent.
    credential: str = ""


class NewStack(msgspec.Struct, frozen=True, gc=False):
    """What a stack is born with, besides its first operation."""

    id: str
    project: str
    name: str
    convergence: bool
    owner_id: str | None = None
    depth: int = 0
    username: str = ""


class Operation(msgspec.Struct, frozen=True, gc=False):
    """An operation as its row has it, with what is needed of its stack."""

    id: str
    stack_id: str
    stack_name: str
    generation: int
    action: Action
    state: int
    input: str
    disable_rollback: bool
    timeout_s: float | None
    tags: str
    remaining: int
    failure: str | None
    fence: int
    project: str = ""
    # Which of the two paths its stack is on.
    convergence: bool = True
    # It looks at reality before it decides.
    converge: bool = False

    @property
    def visits(self) -> bool:
        """Whether it is now doing the same to all of the resources that it has to do with."""
        return self.action in VISITING or self.state == OperationState.WAKING

    @property
    def ordered(self) -> bool:
        """Whether it is visiting in an order of its own."""
        return self.action in ORDERED or self.state == OperationState.WAKING

    @property
    def visit(self) -> Action:
        """What is done to each resource on a visit."""
        return self.action if self.action in VISITING else Action.RESUME


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """One resource of the template that is to be: the definition, frozen, and the digest that tells it from others."""

    name: str
    digest: str
    definition: str
    requires: tuple[str, ...]
    deletion_policy: DeletionPolicy
    # It is visited even where its row proves that there is nothing to do.
    always: bool = False


class Version(msgspec.Struct, gc=False):
    """One version of a resource: a row, or one that is about to be."""

    id: int
    stack_id: str
    name: str
    type: str
    implementation: str
    token: str
    physical_id: str | None
    action: Action
    status: Status
    reason: str
    properties: str
    digest: str | None
    metadata: str
    data: str
    published: str | None
    requires: str
    replaces: int | None
    superseded: bool
    deletion_policy: DeletionPolicy
    external: bool
    operation_id: str
    intent: str | None
    # It was put to rest and not woken again, as far as is known.
    suspended: bool = False
    # It was superseded and taken up again, and nobody has looked at its object since.
    taken_up: bool = False


class Input(msgspec.Struct, frozen=True, gc=False):
    """What a requirement of a node has published, and which version of it did."""

    name: str
    resource_id: int | None
    published: str | None


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A node that a worker has taken, with all that it needs to act (ledger S2.8, S2.16)."""

    node_id: int
    stack_id: str
    name: str
    kind: NodeKind
    generation: int
    fence: int
    lease_until: float
    definition: str | None
    digest: str | None
    version: Version | None
    inputs: tuple[Input, ...]
    operation: Operation
    # Implementations of other versions of this name that a worker may be acting on: deleting them, where this node is to
    # be updated; making them, where its version is to be deleted. A type may give both the same physical id.
    unsettled: frozenset[str] = frozenset()
    # Hooks that this operation has passed here, and whether what came before each had changed the resource.
    hooks: dict[str, bool] = {}

    @property
    def key(self) -> tuple[int, int]:
        """Which node, and which lease on it: a worker may come to hold a node again that it had lost."""
        return self.node_id, self.fence


class Event(msgspec.Struct, frozen=True, gc=False):
    """A transition, for the user's eyes."""

    stack_id: str
    operation_id: str
    name: str
    type: str
    physical_id: str | None
    action: Action
    status: Status
    reason: str


class Observation(msgspec.Struct, frozen=True, gc=False):
    """What was seen of one version's object, and what of it is not what was applied."""

    resource_id: int
    stack_id: str
    # When the look began: nothing that happened later is in it.
    seen_at: float
    result: ObservationResult
    # Why nothing could be seen.
    reason: str = ""
    # The live properties as JSON; None where nothing was seen.
    live: str | None = None
    # A JSON list of {property, applied, live, wanted}.
    drift: str = "[]"
    # Since when it is known to differ or to be gone. Whoever records an observation leaves this to the store.
    drifted_since: float | None = None
    # Of what had been applied when it was compared.
    digest: str | None = None

    @property
    def has_drifted(self) -> bool:
        return self.result is ObservationResult.GONE or self.drift != "[]"


class Beginning(msgspec.Struct, frozen=True, gc=False):
    """What is about to be done to the cloud: made durable, on condition that the node is still ours to act on."""

    claim: Claim
    version: Version
    # A new row (create, replace) or a change of the one that the node has.
    new: bool
    event: Event
    # What was seen before it was decided.
    observation: Observation | None = None
    # Tells that the version that it takes the place of has no object any more.
    lost: Event | None = None


class Part(msgspec.Struct, frozen=True, gc=False):
    """What a snapshot keeps of one resource: its row as a document, with what its type has to keep."""

    snapshot_id: str
    name: str
    implementation: str
    document: str


class Pause(msgspec.Struct, frozen=True, gc=False):
    """A hook at which a node pauses; the event tells of it, once."""

    hook: str
    event: Event
    changed: bool = False


class Report(msgspec.Struct, frozen=True, gc=False):
    """How a step on a node ended. `state` is DONE, FAILED, WAITING, or SCHEDULED to be looked at again at once."""

    claim: Claim
    state: NodeState
    # The version as it is now; None leaves the row alone.
    version: Version | None = None
    # The version is gone: its row goes too.
    removed: bool = False
    # It was left in the cloud on purpose.
    retained: bool = False
    # What others read of it has changed.
    changed: bool = False
    wake_in_s: float = 0.0
    # When it ended: a wait counts from then on, not from when it is written down.
    ended_at: float = 0.0
    # What wakes it before that: the end of an operation on another stack, or a signal beyond the number seen.
    awaits: str = ""
    seen: int | None = None
    # The hook that has to be cleared before it goes on.
    pause: Pause | None = None
    reason: str = ""
    event: Event | None = None
    # What is kept of it for a snapshot.
    part: Part | None = None
    # What was seen before it was decided.
    observation: Observation | None = None


class NodeWrite(msgspec.Struct, frozen=True, gc=False):
    """A node as a plan wants it."""

    id: int
    name: str
    kind: NodeKind
    state: NodeState
    pending: int
    # See the columns of the same names.
    outdated: bool = False
    awaits_cleanup: bool = False
    definition: str | None = None
    digest: str | None = None
    resource_id: int | None = None


class Edge(msgspec.Struct, frozen=True, gc=False):
    src: int
    dst: int
    kind: EdgeKind
