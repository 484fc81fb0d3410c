"""The contract of a resource type, version 2: what the author of a type writes, and what the engine guarantees.

A type is a subclass of `Resource` with schemas, traits and a few methods. For each step the engine makes a new object
of the class, on the worker that holds the lease, and discards the object afterwards: an attribute that a method sets is
lost, except `physical_id` and `data`, which are stored. The return value of a `handle_*` method (any JSON data) is the
progress of the operation: it is stored and passed to `check_*`, perhaps in another process and after a crash.

    class Lamp(contract.Resource):
        TYPE = "Example::Lamp"
        properties_schema = {"colour": schema.Schema(schema.STRING, "The colour of the light.", update_allowed=True)}
        traits = contract.Traits(poll=contract.Poll(first=0.5, factor=2.0, most=10.0))

        async def handle_create(self):
            await self.context.reality.create(self.TYPE, self.token, self.properties, self.physical_name)
            self.physical_id = self.physical_name
            return {"warm_at": self.context.clock.now() + 3}

        async def check_create_complete(self, progress):
            left = progress["warm_at"] - self.context.clock.now() if progress else 0
            return True if left <= 0 else contract.Wait(left, reason="warming up")

        async def handle_update(self, before, changed):
            await self.context.reality.update(self.physical_id, self.properties)

        async def handle_delete(self):
            if self.physical_id is not None:
                await self.context.reality.delete(self.physical_id)

        async def find_by_token(self):
            return contract.found(await self.context.reality.find(self.token))

        async def handle_get_reality(self):
            live = await self.context.reality.get(self.physical_id)
            return contract.Gone() if live is None else contract.Seen(live)

**Operations.** For each action (create, update, delete, check, adopt, suspend, resume, snapshot) the engine calls
`handle_*`, then `check_*` until it returns True. A type overrides what it needs; the others succeed at once, except
that a check observes the object and an adoption checks it.

- `handle_create`. Before it is called, an intent with `self.token` is stored. If its answer is lost (a crash, a broken
  connection, errors.Temporary), the engine calls `find_by_token`. Found(id): the object is adopted, and
  `check_create_complete` gets None. Absent: `handle_create` is called again, with the same token. CannotTell: the
  resource fails, and its reason tells the user what to look for; if CannotTell says that a repeated create is harmless,
  `handle_create` is called again with the same token and the same properties. errors.NotBegun is a Temporary after
  which nothing was asked of the service: `handle_create` is called again without a search.
- `find_by_token` and requests in flight. A service may carry out a request after the client that sent it has died, so a
  search may come too early. `self.begun_at` is the time at which the intent of the latest attempt was stored (0.0: not
  known). While that is less than the client's own time limit ago, a search that finds nothing raises errors.Temporary,
  with a reason; only after that time it returns Absent.
- CreateAgain, raised by `check_create_complete`: the created object has failed, the type has deleted it and set
  `self.physical_id` to None. The engine stores a new intent and calls `handle_create` again, with the same token and
  `self.data`, in which a type can count its attempts. After a crash `check_create_complete` may be called again for an
  object that it has deleted: an object that is gone is created again as well.
- `handle_update(before, changed)` and `handle_delete` may be called more than once for one operation, for the same
  reason. An update sets what should be, it does not add to what is there. A delete of an object that is gone succeeds.
- `handle_delete` gets the properties last applied in `self.properties`; the defaults of the schema, if none were ever
  applied or they cannot be decrypted. With the deletion policy `snapshot` (trait `supports_snapshot_delete`)
  `self.snapshot_on_delete` is true: the object is copied first. `handle_delete` is not called for an object that was
  observed as Gone, nor while another resource of the same type and project has the same physical id.
- `handle_check` observes the object, unless a type overrides it. Gone fails the check. Unseen does not: the check is
  complete, and its reason says that the object could not be observed. A type that is not observable has no check.
- A physical id names one object of its type in a project. A type may choose it (a path, the name of a record): then a
  replacement may have the id of the object that it replaces. With the trait `knows_replaced`, its data has that id from
  the beginning (`contract.REPLACED`). After a failure or a rollback the replaced version is observed, and made again if
  its object is gone or differs; so a type whose service refuses a second object of a name may delete the first one.

**Results of `check_*`.** True: done. Wait(seconds): ask again after that time. Wait() and False: ask again after the
next pause of the trait `Poll`; the number of pauses is stored with the progress. Raising errors.Temporary: as Wait,
with its `retry_after_s` if it has one. Raising errors.Superseded: the step stops, and nothing is recorded. Raising
anything else: the operation on this resource fails with that text. The same holds for errors that `handle_*` raises.

**Context.** `self.context` holds everything outside of itself that a type may use: `clock`, `random`, `project`,
`lease`, `cloud`, `lookups`, `polls`, `reality`, `stacks`, `signals`, `signal_urls`, `software`, `stack_users`, `local`,
`http`, `threads`. A type reads the time and random numbers from there, so that the simulator can run it. Ports that are not
offered are None.

**Leases.** One worker at a time holds the lease of a resource, and only that worker calls the methods of an operation.
`handle_*` and `check_*` are not called under a lost lease, and the ports of the context refuse to change anything under
one. A method that changes something in another way, such as with the client of a service, calls
`self.context.lease.check()` right before each such call but its first; `check` raises Superseded. `handle_get_reality`,
`observe_many`, `attribute` and `reference` may also be called without a lease, while another worker changes the object:
they change nothing.

**Async and plain methods.** An async method runs on the loop and must not block. A plain method runs on a thread of its
service: the trait `service`, or else all of the type's name but its last part. Each service has a bounded number of
threads. A plain call that does not return within the trait `call_timeout_s` counts as Temporary, and a call that gets
no thread in that time as NotBegun. The thread cannot be stopped, so the client that the method uses should give up
earlier. A plain method uses an async port by `self.context.threads.wait(...)`. The lease of a plain `handle_*` or
`check_*` is checked once more on the thread, as the call may have waited for one.

**Observation.** `handle_get_reality` reads the object `self.physical_id`. Seen(properties): it exists, with these live
values; a property that is left out was not observed. Gone: the service says that there is no such object.
Unseen(reason), or raising anything: it is not known, and nothing follows from that. `observe_many` reads many objects
at once; it may get resources of several stacks, all of one credential.

**After a failure.** The next update replaces a resource whose last operation failed, or updates it in place if
`needs_replace_failed` returns False. With the trait `failed_is_observed` the object decides: it is observed first. Gone:
it is created anew. Seen: it is updated in place, unless `Seen.broken` has the service's error: then it is replaced.
Unseen: as `needs_replace_failed` says. A resource that failed its check is replaced.

**Attributes.** `attribute` may raise errors.Permanent for a value that cannot be read (it reads as null) and
errors.Temporary for one that cannot be read yet. Any other error fails the resource.

**Implied requirements.** A port needs a subnet of its network to be there first, and no property of it refers to the
subnet. `implied_requirements(properties, others)` returns the names of such resources. `properties` are those of the
template, not resolved; `others.of_type(type)` and `others.named(name)` return the other resources, with `name`, `type`,
`properties` and `requires`; `referenced(value)` returns the name in a `{get_resource: name}`. References and literals
can be compared by `==`. The method is pure, and is called for every plan, preview and validation:

    @classmethod
    def implied_requirements(cls, properties, others):
        network = properties.get("network")
        return [one.name for one in others.of_type("OS::Neutron::Subnet") if one.properties.get("network") == network]

**Moves.** A resource may get another name, or move to another stack. `self.name` and `self.stack_name` stay those under
which its object was made, so that `physical_name` stays the same; `self.stack_id` is that of the stack which it is in,
and `self.made_in_id` that of the stack in which it was made. Where the object or its service knows the stack otherwise,
`bound_to_stack(properties)`, a class method, says why the resource cannot move; a type that takes signals need not.

**Names and constraints.** A translation rule with a `finder` replaces the name of a cloud object by its id before the
type sees the properties; stored properties have the id. A finder is an async function of a Cloud and the name. See
`cloud_lookups`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from isotherm import errors
from isotherm.errors import CreateAgain
from isotherm.resources import gate
from isotherm.resources.context import signals
from isotherm.resources.context.context import Clock, Cloud, Context, Credential, Lease, Reality, Unleased
from isotherm.resources.context.stacks import Child, Ending, Member, Stacks
from isotherm.resources.neighbours import Neighbour, Neighbours, referenced
from isotherm.resources.reality import observation
from isotherm.resources.reality.observation import Gone, LiveState, Seen, Unseen
from isotherm.resources.reality.search import Absent, CannotTell, Found, Search, found
from isotherm.resources.schema import AttributeSchema, Schema, Support
from isotherm.resources.traits import Poll, Traits
from isotherm.resources.translation import Rule

__all__ = ["Absent", "CannotTell", "Child", "Clock", "Cloud", "Context", "CreateAgain", "Credential", "Ending",
           "Found", "Gone", "Lease", "LiveState", "Member", "Neighbour", "Neighbours", "Poll", "Reality", "Resource",
           "ResourceState", "RowOnly", "Search", "Seen", "Stacks", "Traits", "Unleased", "Unseen", "Wait", "found",
           "is_checkable", "is_observable", "observe", "physical_name", "referenced", "wait_for"]

_NAME_CHARS = 255
# The key of the progress of a check that could not observe the object; its value is the reason.
NOT_OBSERVED = "not_observed"
# The key of the data of a resource that replaces another one; its value is the physical id of that one.
REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Wait:
    """The operation is not done: ask again in `seconds`; None: after the next pause of the type's Poll.

    `reason` is shown to the user. `progress`, when given, replaces the stored progress. `awaits` names an operation on
    another stack: its end wakes this resource, however long `seconds` is. With `seen`, `awaits` names an inbox, and a
    signal beyond those seen wakes the resource (see `wait_for`).
    """

    seconds: float | None = None
    reason: str = ""
    progress: object = None
    awaits: str = ""
    seen: int | None = None


def wait_for(inbox: signals.Inbox, seconds: float, reason: str = "", progress: object = None) -> Wait:
    """Return a wait until the inbox has another signal, or `seconds` have passed."""
    return Wait(seconds, reason, progress, inbox.topic, inbox.seen)


@dataclass(slots=True, kw_only=True)
class ResourceState:
    """The state of one resource, as the engine knows it when it calls a method of its type."""

    name: str
    # The stack in which the object was made, also after a move: names of objects are made of it.
    stack_name: str
    stack_id: str
    token: str
    properties: Mapping[str, Any]
    physical_id: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    update_policy: Mapping[str, Any] | None = None
    # The attributes that other resources or outputs read: names, or JSON paths where a type has `attributes_by_path`.
    exports: Sequence[str] = ()
    # The number of the version's row, and those of the rows that it requires, as JSON.
    id: int = 0
    requires: str = "[]"
    # Whether the object is not ours: the template names it by its `external_id`.
    external: bool = False
    # When the intent of the creation under way, or of the one that is searched for, was stored; 0.0 if not known.
    begun_at: float = 0.0
    # Whether the deletion policy is `snapshot`: `handle_delete` makes a copy of the object first, which stays.
    snapshot_on_delete: bool = False


def physical_name(stack_name: str, name: str, token: str) -> str:
    """Return a name for a physical object: readable, unique by the token's end, and short enough for clouds."""
    end = f"-{token[-12:]}"
    return f"{stack_name}-{name}"[:_NAME_CHARS - len(end)] + end


class Resource:
    """The base class of all resource types. The module's docstring is the reference of the contract."""

    TYPE: ClassVar[str] = ""
    DESCRIPTION: ClassVar[str] = ""
    properties_schema: ClassVar[Mapping[str, Schema]] = {}
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {}
    update_policy_schema: ClassVar[Mapping[str, Schema]] = {}
    # Since which version the type exists, and whether it is deprecated.
    support: ClassVar[Support] = Support()
    # Rules that bring old forms of properties into the new one, and names of cloud objects into ids.
    translation_rules: ClassVar[tuple[Rule, ...]] = ()
    # Custom constraints on several properties together: the name of each, and the properties. It gets a tuple of values.
    joint_constraints: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    traits: ClassVar[Traits] = Traits()

    def __init__(self, state: ResourceState, context: Context) -> None:
        self.name = state.name
        self.stack_name = state.stack_name
        self.stack_id = state.stack_id
        self.token = state.token
        self.properties = state.properties
        self.physical_id = state.physical_id
        self.data = state.data
        self.metadata = state.metadata
        self.update_policy = state.update_policy
        self.exports = state.exports
        self.row_id = state.id
        self.requires = state.requires
        self.external = state.external
        self.begun_at = state.begun_at
        self.snapshot_on_delete = state.snapshot_on_delete
        self.context = context

    @property
    def physical_id(self) -> str | None:
        """The id of the physical object. Any value that a type sets is stored as text."""
        return self._physical_id

    @physical_id.setter
    def physical_id(self, value: object) -> None:
        self._physical_id = None if value is None else str(value)

    @property
    def physical_name(self) -> str:
        """A name for the physical object: see `contract.physical_name`."""
        return physical_name(self.stack_name, self.name, self.token)

    @classmethod
    def implementation_name(cls) -> str:
        """Return the name under which the store keeps the class, and by which the registry finds it again."""
        return cls.TYPE

    # The operations. A type overrides what it needs; what it leaves alone succeeds at once.

    async def handle_create(self) -> object:
        return None

    async def check_create_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        """Apply `self.properties`; `before` are the properties last applied, `changed` the new values that differ."""
        return None

    async def check_update_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_delete(self) -> object:
        """Delete the object. `self.properties` are those last applied, or the schema's defaults if none ever were."""
        return None

    async def check_delete_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_check(self) -> object:
        """Observe the object. An object that is gone fails the check; one that cannot be observed does not.

        A type whose check is more than that overrides this method, and `check_check_complete` if it has to wait.
        """
        if not is_checkable(type(self)):
            return None
        live = Gone() if self.physical_id is None else await gate.call(self, self.handle_get_reality)
        if isinstance(live, Gone):
            raise errors.Permanent(f"{self.physical_id} does not exist")
        return {NOT_OBSERVED: live.reason} if isinstance(live, Unseen) else None

    async def check_check_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_adopt(self) -> object:
        """Adopt the existing object `self.physical_id`. By default, the object is checked."""
        return await gate.call(self, self.handle_check)

    async def check_adopt_complete(self, progress: Any) -> bool | Wait:
        answer: bool | Wait = await gate.call(self, self.check_check_complete, progress)
        return answer

    async def handle_suspend(self) -> object:
        return None

    async def check_suspend_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_resume(self) -> object:
        """Resume the object. Also called for an object that may never have been suspended: then it does nothing."""
        return None

    async def check_resume_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_snapshot(self) -> object:
        """Take a snapshot. The returned value, or the last progress of a Wait, is stored as the resource's part of it."""
        return None

    async def check_snapshot_complete(self, progress: Any) -> bool | Wait:
        return True

    async def handle_delete_snapshot(self, data: Any) -> None:
        """Delete the snapshot for which `handle_snapshot` returned `data`.

        May be called again, and for one that is gone.
        """

    async def find_by_token(self) -> Search:
        """Search for the object with `self.token`. A type that creates objects overrides this if it can search."""
        return CannotTell()

    # Reality.

    async def handle_get_reality(self) -> LiveState:
        """Observe the object `self.physical_id`. An observable type overrides this."""
        return Unseen(f"{self.TYPE or 'a resource of this type'} cannot be observed")

    @classmethod
    async def observe_many(cls, context: Context, many: Sequence[ResourceState]) -> Sequence[LiveState]:
        """Observe many objects, in their order. A type whose service can list objects overrides this with one call."""
        return [await observe(cls(one, context)) for one in many]

    # Signals.

    @classmethod
    def handle_signal(cls, details: Any, count: int) -> signals.HandledSignal:
        """Return what is stored of a signal; `count` signals are stored already. Pure: it runs in the store's
        transaction.

        Raising ValueError refuses the signal with that text. A type that takes signals overrides this.
        """
        raise errors.UserError("signal is not supported for resource.", kind="ResourceActionNotSupported",
                               hint=f"{cls.TYPE or 'A resource of this type'} takes no signals.")

    @classmethod
    def metadata_with(cls, metadata: Mapping[str, Any], received: Sequence[signals.Signal]) -> Mapping[str, Any]:
        """Return the metadata that is shown for a resource that has received these signals. Pure."""
        return metadata

    # Decisions: pure, no calls to anything.

    @classmethod
    def schema_for(cls, properties: Mapping[str, Any]) -> Mapping[str, Schema]:
        """Return the schema for these (raw) properties: one of a few constant maps, each of which is compiled once."""
        return cls.properties_schema

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the problems of the (typed) properties that the schema cannot express."""
        return iter(())

    @classmethod
    def restored_properties(cls, properties: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
        """Return the (raw) properties that restore the snapshot for which `handle_snapshot` returned `data`."""
        return properties

    @classmethod
    def validate_in_stack(cls, properties: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
        """Yield the problems of the (typed) properties in a stack with resources of these names."""
        return iter(())

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: Neighbours) -> Iterable[str]:
        """Return the names of resources of the same stack that have to be there first although no property refers to
        them. `properties` are unresolved: see `neighbours`. The answer depends on the template alone."""
        return ()

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        """Return why a resource with these (typed) properties cannot move to another stack; empty if it can."""
        takes_signals = cls.handle_signal.__func__ is not Resource.handle_signal.__func__  # type: ignore[attr-defined]  # bound
        return "it takes signals, at URLs that name its stack" if takes_signals else ""

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any],
                      changed: Mapping[str, Any]) -> str | None:
        """Return the name of a property that forces a replacement although the schema allows an update, or None."""
        return None

    def needs_replace_failed(self) -> bool:
        """Return whether the next update replaces a resource whose last operation failed, or updates it in place."""
        return True

    # Published values.

    async def reference(self) -> object:
        """Return the value of get_resource."""
        return self.physical_id if self.physical_id is not None else self.name

    async def attribute(self, name: str) -> object:
        """Return the value of an attribute of the schema. The engine handles `show` and unknown names."""
        return None


class RowOnly(Resource):
    """The base class of types without objects outside of the engine: their resources are rows only."""

    async def find_by_token(self) -> Search:
        return Absent()


async def observe(resource: Resource) -> LiveState:
    """Observe the resource's object. Never raises, except to be cancelled or superseded."""
    return await observation.attempt(resource.physical_id, gate.call, resource, resource.handle_get_reality)


def is_observable(type_: type[Resource]) -> bool:
    """Return whether the objects of a type can be observed at all."""
    return type_.handle_get_reality is not Resource.handle_get_reality


def is_checkable(type_: type[Resource]) -> bool:
    """Return whether a type has a check: its own `handle_check`, or the one that observes the object."""
    if type_.handle_check is not Resource.handle_check:
        return True
    return is_observable(type_) and type_.check_check_complete is Resource.check_check_complete
