"""The witness: looks at every commit and every call to the cloud, and says which invariant was broken.

It trusts nobody: reality is the cloud's own, what should be is worked out from the clients' shapes, and the engine's
tables are only asked what they claim.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from isotherm.sim.checks import observers, operation_log, originals, reality
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import Request
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import NAMED, Cloud, Thing
from isotherm.states import KEPT, VISITING, Action, NodeKind, NodeState, OperationState, Sight, Status
from isotherm.store.memory import MemoryDatabase

UNFINISHED = frozenset(
    {OperationState.PLANNING, OperationState.WAKING, OperationState.UPDATING, OperationState.CLEANING})
_LOOK_FOR = re.compile(r"Look for an object named (\S+) and delete it")
_VERBS = {
    "create": (Action.CREATE,), "update": (Action.UPDATE, Action.SUSPEND, Action.RESUME), "delete": (Action.DELETE,),
}


class Witness:
    """Sees everything of one run."""

    def __init__(
        self, database: MemoryDatabase, cloud: Cloud, clock: Callable[[], float], note: Callable[[str], None]
    ) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock
        self._note = note
        self.ledger = operation_log.Ledger()
        self.originals = originals.Originals(cloud, self.broken)
        self.violations: list[str] = []
        # By process: what it asked for, and which operation came of it.
        self.requests: dict[str, Request] = {}
        self.made: dict[str, operation_log.Operation] = {}
        # By process: what it wants, where that is something old.
        self.wishes: dict[str, Shape] = {}
        # Told of everybody who begins to wait for a signal: the stack, and the name of his handle.
        self.on_wait: Callable[[str, str], None] = lambda stack_id, handle: None
        self._waiting: set[int] = set()
        self._last_event = 0
        # How often a user was told to look for an object that the engine may have made and cannot find.
        self.lost = 0
        self._last_retained = 0
        # Every intent that was ever written: row, operation, action.
        self._intents: set[tuple[int, str, int]] = set()
        self._generations: dict[str, int] = {}
        # Once something vanished behind the engine's back, reality is only compared after the engine had a fair look.
        self.drifted = False
        # By stack of a client's: when something of it drifted last.
        self._dirty: dict[str, int] = {}
        self._tick = 0
        # By resource: when what is kept of it was seen.
        self._seen: dict[int, float] = {}
        # Where there are observers: who watches them. And by process, which stack a client speaks of.
        self.oversight: observers.Oversight | None = None
        self.spoken_of: dict[str, str] = {}

    def living_stacks(self) -> list[Any]:
        return [stack for stack in self._database.look("stacks") if not stack.tomb]

    def broken(self, invariant: str, what: str) -> None:
        if not self.violations:
            self._note(f"BROKEN {invariant}: {what}")
        self.violations.append(f"{invariant}: {what}")

    # Commits.

    def ran(self, by: processes.Process | None) -> None:
        """A unit of this process has run, and will be committed."""
        if self.oversight is not None and by is not None and by.name in self.spoken_of:
            self.oversight.said(self.requests[by.name], self.spoken_of[by.name])
        stacks = self._database.look("stacks")
        moved = {stack.id for stack in stacks if stack.operation_id not in self.ledger.operations}
        self._intents_are_new({stack.id: stack.operation_id for stack in stacks}, moved)
        for stack in stacks:
            if stack.operation_id in self.ledger.operations:
                continue
            before = self._generations.get(stack.id, 0)
            if stack.generation != before + 1:
                self.broken("I3", f"generation of {stack.name} went from {before} to {stack.generation}")
            self._generations[stack.id] = stack.generation
            name = by.name if by else ""
            operation = operation_log.Operation(
                stack.operation_id,
                stack.id,
                stack.name,
                stack.generation,
                Action(stack.action),
                {},
                name,
                stack.owner_id is not None,
            )
            operation.tick = self._next_tick()
            wish = self.wishes.get(name) if operation.action in (Action.RESTORE, Action.ADOPT) else None
            before_it = self.ledger.newest.get(stack.id)
            self.ledger.accepted(operation, self.requests.get(name), wish)
            if self.oversight is not None:
                self.oversight.accepted(operation, before_it, by)
            if operation.action is Action.ADOPT:
                self._taken_over(stack.id)
            if name in self.requests:
                self.made[name] = operation
            self._note(f"accepted {operation.action.name} of {stack.name}, generation {stack.generation}, by {name}")
            if operation.inside:
                self._bounded_from_outside(stack, next(one for one in stacks if one.id == stack.owner_id))

    def _taken_over(self, stack_id: str) -> None:
        """What was let go of has an owner again, who goes by another token."""
        for row in self._database.look("resources"):
            thing = self._cloud.things.get(row.physical_id or "")
            if row.stack_id == stack_id and thing is not None and not thing.foreign:
                self._cloud.released.discard(thing.id)
                thing.token = row.token

    def _bounded_from_outside(self, stack: Any, owner: Any) -> None:
        """I13: what is begun inside ends no later than what it was begun for, and is begun for what goes on."""
        stored = {one.id: one for one in self._database.look("operations")}
        mine, around = stored[stack.operation_id], stored[owner.operation_id]
        endless = mine.deadline is None and mine.state in UNFINISHED
        if around.deadline is not None and (endless or (mine.deadline or 0.0) > around.deadline):
            self.broken("I13", f"{stack.name} may take longer than {owner.name} around it")
        if around.state not in UNFINISHED or around.cancelled:
            self.broken("I4", f"an operation on {stack.name} was begun when that on {owner.name} was over")

    def committed(self) -> None:
        resources = {row.id: row for row in self._database.look("resources")}
        nodes = self._database.look("nodes")
        stacks = {row.id: row for row in self._database.look("stacks")}
        for row in resources.values():
            if row.type == "OS::Heat::WaitCondition" and row.id not in self._waiting:
                self._waiting.add(row.id)
                self.on_wait(row.stack_id, row.name.removesuffix("wait") + "handle")
        self._see_retained(stacks)
        self.originals.see(list(resources.values()), self.ledger.operations)
        self._hear_events()
        self._no_lost_wake_up(nodes, stacks)
        self._one_owner(resources, nodes)
        self._requirements(resources)
        self._observations(resources)

    def _observations(self, resources: dict[int, Any]) -> None:
        """I19: an older look never overwrites a newer one, and nothing is said to be gone that is there."""
        for row in self._database.look("observations"):
            if row.seen_at < self._seen.get(row.resource_id, 0.0):
                self.broken("I19", f"an older look at #{row.resource_id} has overwritten a newer one")
            self._seen[row.resource_id] = row.seen_at
            known = resources.get(row.resource_id)
            if known is None:
                self.broken("I16", f"what was seen of #{row.resource_id} is kept, and its row is gone")
            elif row.sight == Sight.GONE and self._has(known):
                self.broken("I19", f"{known.physical_id} is said to be gone, and is there")

    def _has(self, row: Any) -> bool:
        """Whether the object of this version is there; another version may have made one under the same id."""
        thing = self._cloud.things.get(row.physical_id or "")
        return thing is not None and (thing.kind != NAMED or thing.token == row.token)

    @staticmethod
    def is_forgotten(row: Any) -> bool:
        """Whether the row says of itself that it has no object."""
        return bool(row.action == Action.DELETE and row.status == Status.COMPLETE)

    def drift(self, thing: Thing) -> None:
        """An object was changed, or went, behind the engine's back."""
        self.drifted = True
        self.originals.harm(thing)
        self._dirty[thing.stack.partition("-")[0]] = self._next_tick()
        if self.oversight is not None:
            self.oversight.drift(thing, self._tick)

    def look(self, by: processes.Process | None, kind: str, ids: Sequence[str]) -> None:
        """Somebody looks at objects, in one call."""
        if self.oversight is not None:
            self.oversight.look(by, kind, ids)

    def _next_tick(self) -> int:
        self._tick += 1
        return self._tick

    def _has_looked(self, operation: operation_log.Operation) -> None:
        """I19: an operation that looked has found all that had drifted when it was accepted."""
        if operation.looks and not operation.inside and self._dirty.get(operation.stack, 0) < operation.tick:
            self.compare(operation.stack_id, operation.stack, operation.shape)
            self._dirty.pop(operation.stack, None)
            self.drifted = bool(self._dirty)

    def _hear_events(self) -> None:
        for event in self._database.look("events", self._last_event):
            self._last_event = event.id
            if shapes.SECRET in event.reason:
                self.broken("I17", f"an event tells a secret: {event.reason}")
            if event.name and (told := _LOOK_FOR.search(event.reason)):
                self.lost += 1
                self._cloud.clear_away(told[1])
            if event.name or event.status == Status.IN_PROGRESS:
                continue
            status = Status(event.status).name
            operation = self.ledger.ended(event.operation_id, status)
            self._note(f"{operation.action.name}_{status} of {operation.stack}: {event.reason}")
            if self.oversight is not None:
                self.oversight.ended(operation, status)
            if len(operation.endings) > 1:
                self.broken("I11", f"{operation.action.name} of {operation.stack} ended twice: {operation.endings}")
            if status == "FAILED" and not event.reason:
                self.broken("I14", f"{operation.action.name} of {operation.stack} failed without a reason")
            turned = operation.action in (Action.SUSPEND, Action.RESUME) and not operation.inside
            if status == "COMPLETE" and turned and not self.drifted:
                self._at_rest(operation.stack_id, operation.stack, operation.action is Action.SUSPEND)
            if status == "COMPLETE" and self._dirty:
                self._has_looked(operation)
            whole = operation.action not in VISITING and not operation.inside
            if status == "COMPLETE" and whole:
                self.originals.complete(operation)
            if status == "COMPLETE" and whole and not self.drifted:
                self.compare(operation.stack_id, operation.stack, operation.shape)

    def _see_retained(self, stacks: dict[str, Any]) -> None:
        for row in self._database.look("retained", self._last_retained):
            self._last_retained = row.id
            external = row.physical_id in shapes.FOREIGN
            if not external and not self.ledger.may_keep(row.stack_id, row.name):
                self.broken("I1", f"{row.name} was given up, although nobody wanted it to be kept")
            if row.physical_id is not None:
                self._cloud.released.add(row.physical_id)

    def _no_lost_wake_up(self, nodes: list[Any], stacks: dict[str, Any]) -> None:
        unfinished = {one.id: one for one in self._database.look("operations") if one.state in UNFINISHED}
        self._planned(unfinished.values())
        self._waits_end(nodes, stacks, unfinished)
        for operation in unfinished.values():
            stack = stacks.get(operation.stack_id)
            if stack is None or stack.operation_id != operation.id:
                self.broken("I4", f"an operation that is not the newest of {operation.stack_id} goes on")
            due = operation.due is not None or any(
                node.due is not None for node in nodes
                if node.stack_id == operation.stack_id and node.generation == operation.generation
            )
            if not due:
                self.broken("I10", f"{Action(operation.action).name} is under way, and nobody will ever look at it")

    def _planned(self, operations: Iterable[Any]) -> None:
        for one in operations:
            if one.action == Action.ROLLBACK and one.state != OperationState.PLANNING:
                self.ledger.planned(self.ledger.operations[one.id])

    def _waits_end(self, nodes: list[Any], stacks: dict[str, Any], unfinished: dict[str, Any]) -> None:
        """I10: what somebody waits for wakes him, be it an end or a signal; a cancel goes on to what is waited for."""
        for node in nodes:
            if node.awaits is None or node.state != NodeState.WAITING or node.due is None:
                continue
            if node.awaits.isdigit():
                heard = any(row.resource_id == int(node.awaits) for row in self._database.look("signals"))
                if heard and node.due > self._clock():
                    self.broken("I10", f"{node.name} has got its signal, and sleeps")
            elif node.awaits not in unfinished:
                if node.due > self._clock():
                    self.broken("I10", f"{node.name} waits for an operation that has ended, and sleeps")
            else:
                around = unfinished.get(stacks[node.stack_id].operation_id)
                if around is not None and around.cancelled and not unfinished[node.awaits].cancelled:
                    self.broken("I13", f"{node.name} was cancelled, and what it waits for goes on")

    def _one_owner(self, resources: dict[int, Any], nodes: list[Any]) -> None:
        for what, values in (
            ("object", [row.physical_id for row in resources.values()
                        if row.physical_id and not row.external and row.implementation != NAMED]),
            ("token", [row.token for row in resources.values()]),
        ):
            twice = [value for value, count in Counter(values).items() if count > 1]
            if twice:
                self.broken("I1", f"two rows own one {what}: {twice[0]}")
        standing = Counter(node.resource_id for node in nodes if node.resource_id is not None)
        for id_, count in standing.items():
            if count > 1:
                self.broken("I5", f"{count} nodes stand for {resources[id_].name} #{id_}")
            if id_ not in resources:
                self.broken("I9", f"a node stands for #{id_}, which does not exist")

    def _intents_are_new(self, newest: dict[str, str], moved: set[str]) -> None:
        """I4: what is begun, is begun for the newest operation.

        One unit may both begin something and see a deadline pass; and what a late report says of something that was
        begun before is no beginning.
        """
        for row in self._database.look("resources"):
            if row.intent is None:
                continue
            intent = msgspec.json.decode(row.intent)
            known = (row.id, intent["operation_id"], intent["action"])
            old = intent["operation_id"] != newest[row.stack_id] and row.stack_id not in moved
            if old and known not in self._intents:
                self.broken("I4", f"{Action(intent['action']).name} of {row.name} was begun for an older operation")
            self._intents.add(known)

    def _requirements(self, resources: dict[int, Any]) -> None:
        """I9: a row names all versions whose objects its own object may use."""
        owner = {row.physical_id: row for row in resources.values() if row.physical_id is not None}
        named: dict[str, list[int]] = {}
        for row in resources.values():
            if row.implementation == NAMED and row.physical_id is not None:
                named.setdefault(row.physical_id, []).append(row.id)
        by_token = {row.token: row for row in resources.values()}
        for thing in self._cloud.things.values():
            row = by_token.get(thing.token)
            if row is None or not thing.uses or (row.intent is None and row.status == Status.FAILED):
                continue
            for used in thing.uses:
                needed = owner.get(used)
                if needed is None or needed.external:
                    continue
                # What a stack inside was given is required by the resource that it is.
                speaks: Any = row
                while speaks is not None and speaks.stack_id != needed.stack_id:
                    speaks = owner.get(speaks.stack_id)
                known = {needed.id, *named.get(used, ())}
                if speaks is not None and known.isdisjoint(msgspec.json.decode(speaks.requires)):
                    self.broken("I9", f"{thing.id} uses {used}, and its row does not say so")

    # Calls to the cloud.

    def mutation(self, verb: str, by: processes.Process | None, thing: Thing) -> None:
        if thing.foreign:
            self.broken("I17", f"{verb} of {thing.id}, which is the user's own")
            return
        rows = self._database.look("resources")
        row = self._speaks_for(verb, thing, rows)
        if row is None:
            self.broken("I1", f"{verb} of {thing.id} without a row")
            return
        intent = None if row.intent is None else msgspec.json.decode(row.intent)
        # A time-out takes the intent away; what was begun before may still arrive.
        if intent is None and not row.reason.endswith("aborted (Timed out)"):
            self.broken("I1", f"{verb} of {thing.id} without a durable intent")
        elif intent is not None and intent["action"] not in _VERBS[verb]:
            self.broken("I1", f"{verb} of {thing.id}, but the intent is {Action(intent['action']).name}")
        self._inside_a_lease(verb, by, thing, row)
        if self.oversight is not None:
            self.oversight.mutation(verb, by, thing, row, None if intent is None else intent["operation_id"])
        if intent is not None and intent["action"] == Action.UPDATE and thing.properties.get("rest"):
            self.broken("I6", f"{thing.id} was changed while it was at rest")
        if intent is not None and intent["action"] == Action.SUSPEND:
            self._may_rest(thing, rows)
        if intent is not None and intent["action"] == Action.RESUME:
            self._may_wake(thing, rows)
        if verb == "delete" and intent is not None:
            self._may_delete(thing, row, intent["operation_id"])

    def _speaks_for(self, verb: str, thing: Thing, rows: list[Any]) -> Any:
        """The row of the object. Where the client chooses ids, several may know it. I1: the last one deletes it."""
        if thing.kind != NAMED or verb == "create":
            return next((one for one in rows if one.token == thing.token), None)
        known = [one for one in rows if not self.is_forgotten(one)
                 and (one.token == thing.token or (one.physical_id == thing.id and one.implementation == NAMED))]
        acting = [one for one in known
                  if one.intent is not None and msgspec.json.decode(one.intent)["action"] in _VERBS[verb]]
        wanted = {node.resource_id for node in self._database.look("nodes") if node.kind != NodeKind.CLEANUP}
        others = [one for one in known if one not in acting and one.id in wanted]
        if verb == "delete" and acting and others:
            self.broken("I1", f"delete of {thing.id} for #{acting[0].id}, while #{others[0].id} has it")
        return next(iter(acting or known), None)

    def _may_rest(self, thing: Thing, rows: list[Any]) -> None:
        """I7 for those who go to sleep: nobody who uses it, as his template says, is awake."""
        nodes = {node.resource_id: node for node in self._database.look("nodes")}
        by_token = {row.token: row for row in rows}
        for other in self._cloud.things.values():
            row = by_token.get(other.token)
            if thing.id not in other.uses or other.properties.get("rest") or row is None or row.id not in nodes:
                continue
            node = nodes[row.id]
            if other.stack == thing.stack and node.kind != NodeKind.CLEANUP and row.digest == node.digest:
                self.broken("I7", f"{thing.id} is put to rest while {other.id} uses it")

    def _may_wake(self, thing: Thing, rows: list[Any]) -> None:
        """I6 for those who wake: what it uses is awake, unless it could not be woken or is to be deleted."""
        by_token = {row.token: row for row in rows}
        for used in (self._cloud.things[id_] for id_ in thing.uses if id_ in self._cloud.things):
            row = by_token.get(used.token)
            if row is None or used.stack != thing.stack or row.superseded or row.status == Status.FAILED:
                continue
            if used.properties.get("rest"):
                self.broken("I6", f"{thing.id} is woken while {used.id}, which it uses, is at rest")

    def _at_rest(self, stack_id: str, stack: str, rest: bool) -> None:
        """What a suspended stack has is at rest, what a resumed one has is awake; also in stacks inside."""
        nodes = {node.resource_id for node in self._database.look("nodes") if node.kind != NodeKind.CLEANUP}
        wanted = [row for row in self._database.look("resources") if row.stack_id == stack_id and row.id in nodes]
        for row in wanted:
            thing = self._cloud.things.get(row.physical_id or "")
            if thing is None or thing.foreign:
                continue
            if bool(thing.properties.get("rest")) is not rest:
                self.broken("I14", f"{stack} is {'suspended' if rest else 'resumed'}, and {thing.id} is not")
        # A stack inside that is on its way out, with the resource around it, is left alone.
        inside = {row.physical_id for row in wanted}
        for child in self.living_stacks():
            if child.owner_id == stack_id and child.id in inside:
                self._at_rest(child.id, child.name, rest)

    def _inside_a_lease(self, verb: str, by: processes.Process | None, thing: Thing, row: Any) -> None:
        node = self._node_of(row)
        name = by.name if by else ""
        if node is None or node.worker != name:
            holder = node.worker if node is not None else "nobody"
            self.broken("I5", f"{verb} of {thing.id} by {name}, while {holder} has the lease")
        elif node.lease_until is None or node.lease_until < self._clock():
            self.broken("I5", f"{verb} of {thing.id} by {name}, whose lease has run out")

    def _node_of(self, row: Any) -> Any:
        return next((one for one in self._database.look("nodes") if one.resource_id == row.id), None)

    def _may_delete(self, thing: Thing, row: Any, operation_id: str) -> None:
        if operation_id in self.ledger.before_abandoning:
            self.broken("I17", f"delete of {thing.id}, whose stack is abandoned")
        if row.deletion_policy in KEPT or self.ledger.retains(row.stack_id, thing.name):
            node = self._node_of(row)
            # The call may have been on its way already when a newer template said so.
            if node is None or node.state == NodeState.RUNNING:
                self.broken("I17", f"delete of {thing.id}, which is to be kept")
        operation = self.ledger.operations[operation_id]
        if operation.action is Action.DELETE or self.drifted or operation.inside:
            return
        part = operation.shape.get(thing.name)
        # A stack that takes its place is no object.
        lives = part is not None and not part.off and part.inner is None and part.kind != shapes.NOTHING
        if lives and not self._others_ready(thing):
            self.broken("I8", f"delete of {thing.id} before its replacement is there")
        with contextlib.suppress(StopIteration):
            stored = next(one for one in self._database.look("operations") if one.id == operation_id)
            early = not stored.disable_rollback and stored.action != Action.ROLLBACK
            if early and stored.state in UNFINISHED and stored.state != OperationState.CLEANING:
                self.broken("I8", f"delete of {thing.id} before all updates are through, although a rollback may need it")

    def _others_ready(self, thing: Thing) -> bool:
        return any(
            other is not thing and (other.stack, other.name) == (thing.stack, thing.name)
            and self._cloud.status(other) == "READY"
            for other in self._cloud.things.values()
        )

    def wrong_order(self, what: str, thing: Thing, others: list[str]) -> None:
        invariant = {"in use": "I7", "a token was used twice": "I1"}.get(what, "I6")
        self.broken(invariant, f"{thing.id}: {what}: {', '.join(others)}")

    def compare(self, stack_id: str, stack: str, shape: Shape) -> None:
        """I2: reality equals the shape."""
        reality.Comparison(self._database, self._cloud, self.broken)(stack_id, stack, shape)
