"""I17: no deletion, replacement or change of a protected object begins after the commit of its protection.

The protections are those of the clients' requests, not of the engine's rows. An object is protected from the first time on
that its row was complete; a change whose intent was committed before the protection may still arrive at the cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from isotherm.sim.checks.evidence import Evidence, is_forgotten
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.histories.history import STACK, Request, Verb
from isotherm.sim.world.cloud import Thing
from isotherm.states import KEPT, Action, Protection, Status

_LEVELS = {"replace": Protection.REPLACE, "delete": Protection.DELETE, "all": Protection.UPDATE}
# The protection that forbids a call.
_FORBIDDEN_BY = {"delete": Protection.DELETE, "update": Protection.UPDATE}


@dataclass(slots=True)
class _Protected:
    """A protection of one version of a resource, and the number of the commit that brought it."""

    stack_id: str
    name: str
    level: Protection
    since: int


class Protections:
    """The protections that clients have asked for, and the checks of calls and operations by them."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # By token.
        self._objects: dict[str, _Protected] = {}
        self._stacks: set[str] = set()
        # The tokens of versions that were complete, and when each intent was first committed.
        self._complete: set[str] = set()
        self._begun: dict[tuple[int, str, int], int] = {}
        self._known: set[int] = set()
        self._commit = 0

    def asked(self, request: Request, stack_id: str, name: str) -> None:
        """Record a request that is about to be committed."""
        if request.word == STACK:
            (self._stacks.add if request.verb is Verb.PROTECT else self._stacks.discard)(stack_id)
        elif request.verb is Verb.UNPROTECT:
            self._objects = {token: one for token, one in self._objects.items()
                             if (one.stack_id, one.name) != (stack_id, name)}
        else:
            for row in self._evidence.database.read_table("resources"):
                if (row.stack_id, row.name, bool(row.superseded)) == (stack_id, name, False):
                    self._protect(row.token, _Protected(stack_id, name, _LEVELS[request.word], self._commit))

    def _protect(self, token: str, one: _Protected) -> None:
        before = self._objects.get(token)
        if before is None or before.level < one.level:
            self._objects[token] = one

    def forbids_change(self, row: Any) -> bool:
        """Return whether clients have protected the object of this row from any change."""
        one = self._objects.get(row.token)
        # After a visit, the row of a failed creation does not show any more that the object was never complete.
        in_force = row.token in self._complete or row.action != Action.CREATE
        return one is not None and one.level is Protection.UPDATE and in_force

    def names(self) -> list[tuple[str, str]]:
        """Return what is protected, as stacks and names; the name of a stack itself is empty."""
        return sorted({(one.stack_id, one.name) for one in self._objects.values()} | {(id_, "") for id_ in self._stacks})

    def committed(self, resources: dict[int, Any]) -> None:
        """Read the rows of a commit: new versions, first completions, new intents."""
        self._commit += 1
        for row in resources.values():
            if row.status == Status.COMPLETE:
                self._complete.add(row.token)
            if row.id not in self._known:
                self._known.add(row.id)
                # What replaces a lost object is protected like it.
                replaced = resources.get(row.replaces)
                old = None if replaced is None else self._objects.get(replaced.token)
                if old is not None:
                    self._protect(row.token, _Protected(old.stack_id, old.name, old.level, self._commit))
            if row.intent is not None:
                self._begun.setdefault(_key(row), self._commit)

    def check_call(self, verb: str, thing: Thing, row: Any) -> None:
        """Check a call that changes an object, or one that makes the replacement of an object."""
        if row.intent is None:
            return
        if verb == "create":
            self._check_replacement(thing, row)
            return
        one = self._objects.get(row.token)
        if one is not None and row.token in self._complete and one.level >= _FORBIDDEN_BY[verb] and self._is_late(row, one):
            self._evidence.broken("I17", f"{verb} of {thing.id}, which is protected from it")

    def _check_replacement(self, thing: Thing, row: Any) -> None:
        rows = {one.id: one for one in self._evidence.database.read_table("resources")}
        old = rows.get(row.replaces)
        one = None if old is None else self._objects.get(old.token)
        if old is None or one is None or old.token not in self._complete or is_forgotten(old):
            return
        present = old.physical_id in self._evidence.cloud.things and old.physical_id != thing.id
        if present and self._is_late(row, one):
            self._evidence.broken("I17", f"{thing.id} replaces {old.physical_id}, which is protected from that")

    def _is_late(self, row: Any, one: _Protected) -> bool:
        """Return whether the intent of the row came after the protection."""
        return self._begun.get(_key(row), self._commit) >= one.since

    def check_operation(self, operation: Operation) -> None:
        """Check a deletion that was accepted: nothing of its stack may be protected from it."""
        if operation.action is not Action.DELETE or operation.id in self._evidence.operations.before_abandoning:
            return
        stacks = {row.id: row for row in self._evidence.database.read_table("stacks")}
        inside = set(self._inside(operation.stack_id, stacks))
        if self._stacks & inside:
            self._evidence.broken("I17", f"{operation.stack} is deleted, and a stack of it is protected")
        for row in self._evidence.database.read_table("resources"):
            one = self._objects.get(row.token)
            goes = row.stack_id in inside or row.physical_id == operation.stack_id
            if goes and one is not None and self._is_held(row, one):
                self._evidence.broken("I17", f"{operation.stack} is deleted, and {row.name} is protected")

    def _is_held(self, row: Any, one: _Protected) -> bool:
        kept = row.deletion_policy in KEPT or row.external or is_forgotten(row)
        return one.level >= Protection.DELETE and row.token in self._complete and not kept

    def _inside(self, stack_id: str, stacks: dict[str, Any]) -> Iterator[str]:
        yield stack_id
        for one in stacks.values():
            if one.owner_id == stack_id and not one.tomb:
                yield from self._inside(one.id, stacks)


def _key(row: Any) -> tuple[int, str, int]:
    intent = msgspec.json.decode(row.intent)
    return row.id, intent["operation_id"], intent["action"]
