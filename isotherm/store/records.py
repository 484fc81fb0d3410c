"""The values that units of work take and return. JSON stays text until it is needed.

They are msgspec structs, because a process makes tens of thousands of them: creation is several times as fast as that of
dataclasses, and the garbage collector ignores them (none can be part of a cycle).
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
    Protection,
    Status,
)


class BoundCloud(msgspec.Struct, frozen=True, gc=False):
    """The cloud of a stack: an entry of clouds.yaml, and the project of Keystone that it stands for."""

    name: str
    auth_url: str
    project_id: str

    def is_same(self, other: BoundCloud) -> bool:
        """Return whether both are the same project, under any name."""
        return (self.auth_url, self.project_id) == (other.auth_url, other.project_id)


class OperationScope(msgspec.Struct, frozen=True, omit_defaults=True):
    """The resources that an operation is limited to, and those to which the newest input does not apply yet."""

    # Only these are changed; None: all but `left`.
    only: tuple[str, ...] | None = None
    left: tuple[str, ...] = ()
    # They wait for an update that includes them: they have an older definition, or do not exist.
    waits: tuple[str, ...] = ()
    # An observer asked for it, to repair what has drifted: what a protection forbids is left as it is, not refused.
    repairs: bool = False

    @property
    def leaves(self) -> bool:
        """Return whether resources may wait after the operation."""
        return self.limits or bool(self.waits) or not self.repairs

    @property
    def limits(self) -> bool:
        return self.only is not None or bool(self.left)

    @property
    def names(self) -> Names:
        return Names(None if self.only is None else frozenset(self.only), frozenset(self.left))


class Names(msgspec.Struct, frozen=True):
    """The names that a scope includes."""

    only: frozenset[str] | None
    left: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name not in self.left if self.only is None else name in self.only


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """A validated request that may be accepted. `generation` is that of the stack when the request was made."""

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
    # The operation whose input is used again, for requests without an input of their own.
    input_of: str = ""
    # The effective time limit, where it differs from `timeout_s`, which was requested.
    limit_s: float | None = None
    # Whether steps observe reality before they decide.
    converge: bool = False
    # Never rolled back, also if the stack rolls back: the request changes no definition.
    stays: bool = False
    # The id of the credential that the accepting transaction binds to the stack.
    credential: str = ""
    # The cloud that the accepting transaction binds the stack to; None: the binding stays as it is.
    cloud: BoundCloud | None = None
    # The name of the user who requested it; empty: no user did.
    username: str = ""
    # None: the operation changes all resources, and none waits.
    scope: OperationScope | None = None


class NewStack(msgspec.Struct, frozen=True, gc=False):
    """The columns of a new stack."""

    id: str
    project: str
    name: str
    convergence: bool
    owner_id: str | None = None
    depth: int = 0
    username: str = ""


class Operation(msgspec.Struct, frozen=True, gc=False):
    """The row of an operation, with some columns of its stack."""

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
    # How the stack is scheduled (see `scheduling.of`).
    convergence: bool = True
    # Whether steps observe reality before they decide.
    converge: bool = False
    scope: OperationScope | None = None

    @property
    def limited(self) -> bool:
        """True if the operation leaves resources out."""
        return self.scope is not None and self.scope.limits

    @property
    def repairs(self) -> bool:
        """Return whether an observer asked for the operation, or for the one around it."""
        return self.scope is not None and self.scope.repairs

    @property
    def visits(self) -> bool:
        """True while the operation visits resources: check, suspend, resume, snapshot, or resuming before a plan."""
        return self.action in VISITING or self.state == OperationState.WAKING

    @property
    def ordered(self) -> bool:
        """True while the visits follow an order of their own."""
        return self.action in ORDERED or self.state == OperationState.WAKING

    @property
    def visit(self) -> Action:
        """The action of a visit."""
        return self.action if self.action in VISITING else Action.RESUME


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A resource of the template: its frozen definition, and the digest of that."""

    name: str
    digest: str
    definition: str
    requires: tuple[str, ...]
    deletion_policy: DeletionPolicy
    # Visited even if its row proves that it is up to date.
    always: bool = False
    # What its template protects it from; None: the template does not say.
    protection: Protection | None = None


class Move(msgspec.Struct, frozen=True, gc=False):
    """A resource that is to have another name. `type` is that of the new name's definition; None: there is none."""

    old: str
    new: str
    type: str | None
    # Named in the environment, which outlives the operation: a move that was carried out before is no mistake.
    stays: bool = False


class Moves(msgspec.Struct, frozen=True, gc=False):
    """The other names that an operation gives to resources."""

    asked: tuple[Move, ...] = ()
    # Give back the names that operations after this generation have changed, instead.
    back_to: int | None = None
    # Whether the operation is a limited update: it cannot move resources.
    limited: bool = False


NO_MOVES = Moves()


class Version(msgspec.Struct, gc=False):
    """One version of a resource: a row, or one that is about to be inserted."""

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
    # Suspended, and not known to be resumed.
    suspended: bool = False
    # It was superseded and made current again, and its object has not been observed since.
    taken_up: bool = False
    # Whether its object is protected from any change. The store checks it again before a change.
    unchangeable: bool = False
    # The name under which it was made, if a move has given it another.
    made_as: str | None = None
    # When the intent of its latest creation was stored; 0.0 if that is not known. It outlives the intent.
    begun_at: float = 0.0
    # The stack in which it was made, as name/id, if a move has taken it to another one.
    made_in: str | None = None


class Input(msgspec.Struct, frozen=True, gc=False):
    """The published text of a requirement, and the version that published it."""

    name: str
    resource_id: int | None
    published: str | None


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A node that a worker has taken, with everything that a step needs (ledger S2.8, S2.16)."""

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
    # Hooks that were cleared for this operation, and whether the action before each changed the resource.
    hooks: dict[str, bool] = {}

    @property
    def key(self) -> tuple[int, int]:
        """The node and its fence: a worker may hold a node again that it had lost."""
        return self.node_id, self.fence


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event of a stack or resource."""

    stack_id: str
    operation_id: str
    name: str
    type: str
    physical_id: str | None
    action: Action
    status: Status
    reason: str


class Observation(msgspec.Struct, frozen=True, gc=False):
    """An observation of a version's object, with the differences from what was applied."""

    resource_id: int
    stack_id: str
    # When the observation began: nothing that happened later is in it.
    seen_at: float
    result: ObservationResult
    # Why the observation failed.
    reason: str = ""
    # The live properties as JSON; None if the observation failed.
    live: str | None = None
    # A JSON list of {property, applied, live, wanted}.
    drift: str = "[]"
    # Since when the object is known to differ or to be gone; set by the store.
    drifted_since: float | None = None
    # The digest of the definition that was applied when they were compared.
    digest: str | None = None

    @property
    def has_drifted(self) -> bool:
        return self.result is ObservationResult.GONE or self.drift != "[]"


class Beginning(msgspec.Struct, frozen=True, gc=False):
    """An intent that is to be stored before its call to the cloud, provided that the claim is still valid (I1, I4)."""

    claim: Claim
    version: Version
    # Whether the version is new (create, replace).
    new: bool
    event: Event
    # The observation before the decision.
    observation: Observation | None = None
    # The event that the replaced version has lost its object.
    lost: Event | None = None
    # Of a new version: what its template protects it from; None: the template does not say.
    protection: Protection | None = None


class Begun(msgspec.Struct, frozen=True, gc=False):
    """The store's answer to a valid beginning."""

    # Whether the step may act.
    acts: bool
    # Why the object may not be changed.
    refusal: str = ""


class Part(msgspec.Struct, frozen=True, gc=False):
    """The part of a snapshot for one resource: its row as a document, with the data of its type."""

    snapshot_id: str
    name: str
    implementation: str
    document: str


class Pause(msgspec.Struct, frozen=True, gc=False):
    """A hook at which a node pauses, and the event that reports it."""

    hook: str
    event: Event
    changed: bool = False


class Report(msgspec.Struct, frozen=True, gc=False):
    """The end of a step. `state` is DONE, FAILED, WAITING, or SCHEDULED for another step at once."""

    claim: Claim
    state: NodeState
    # The version to write; None: unchanged.
    version: Version | None = None
    # The object is gone: delete the row of the version.
    removed: bool = False
    # The object was retained.
    retained: bool = False
    # What other resources read of it has changed.
    changed: bool = False
    wake_in_s: float = 0.0
    # When the step ended: a wait counts from then, not from the commit.
    ended_at: float = 0.0
    # What wakes the node earlier: the end of an operation on another stack, or a signal beyond the number `seen`.
    awaits: str = ""
    seen: int | None = None
    # The hook that has to be cleared first.
    pause: Pause | None = None
    reason: str = ""
    event: Event | None = None
    # The part for a snapshot.
    part: Part | None = None
    # The observation before the decision.
    observation: Observation | None = None


class NodeWrite(msgspec.Struct, frozen=True, gc=False):
    """A node as a plan writes it."""

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
