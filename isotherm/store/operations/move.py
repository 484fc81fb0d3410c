"""Units of work for moves: resources get other names, and keep their objects.

A move changes rows only, in the transaction that accepts its operation: nodes, versions, events, repair records and watch
settings of the old name belong to the new name from then on. A version keeps the name that it was made under, of which
the name of its object and its signal URLs were made; a stack user keeps it too, and asks by it. A rollback undoes the
moves since its target.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import NodeKind
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import order
from isotherm.store.records import Move, Moves
from isotherm.store.transitions import nodes, versions
from isotherm.store.watch import repair_records, schedule

_NODE, _VERSION, _MOVE = t.nodes.c, t.resources.c, t.moves.c


def carry_out(connection: sa.Connection, stack_id: str, generation: int, moves: Moves, now: float) -> None:
    """Move resources for the operation that was just accepted. Raises UserError with all moves that are not possible."""
    names = due(connection, stack_id, moves)
    if not names:
        return
    _drop_empty(connection, stack_id, names.values() - names.keys())
    _rename(connection, stack_id, names)
    connection.execute(sa.insert(t.moves), [
        {"stack_id": stack_id, "generation": generation, "old": old, "new": new, "created_at": now}
        for old, new in names.items()])


def undo(connection: sa.Connection, stack_id: str, after: int) -> None:
    """Give the names back that operations after this generation have changed."""
    since = _after(stack_id, after)
    _rename(connection, stack_id, _way_back(connection, since))
    connection.execute(sa.delete(t.moves).where(since))


def forget(connection: sa.Connection, stack_id: str, name: str) -> None:
    """Forget the moves of a resource that leaves the stack: no rollback gives its names to another one."""
    found = sa.select(_MOVE.generation, _MOVE.old, _MOVE.new).where(_MOVE.stack_id == stack_id)
    for generation, old, new in connection.execute(found.order_by(_MOVE.generation.desc())).all():
        if new == name:
            connection.execute(sa.delete(t.moves).where(
                _MOVE.stack_id == stack_id, _MOVE.generation == generation, _MOVE.old == old))
            name = old


def generation_at(connection: sa.Connection, stack_id: str, then: float) -> int:
    """Return the generation of the last moves until a time, 0 if there were none."""
    last = sa.select(sa.func.max(_MOVE.generation)).where(_MOVE.stack_id == stack_id, _MOVE.created_at <= then)
    return int(connection.execute(last).scalar() or 0)


def _after(stack_id: str, generation: int) -> sa.ColumnElement[bool]:
    return sa.and_(_MOVE.stack_id == stack_id, _MOVE.generation > generation)


def _way_back(connection: sa.Connection, since: sa.ColumnElement[bool]) -> dict[str, str]:
    """Return the names that take these moves back, the newest first."""
    steps: dict[int, dict[str, str]] = {}
    found = sa.select(_MOVE.generation, _MOVE.old, _MOVE.new).where(since).order_by(_MOVE.generation.desc())
    for generation, old, new in connection.execute(found):
        steps.setdefault(generation, {})[new] = old
    total = {name: name for step in steps.values() for name in (*step, *step.values())}
    for step in steps.values():
        back = _closed(step)
        total = {name: back.get(at, at) for name, at in total.items()}
    return {name: at for name, at in total.items() if name != at}


def _closed(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names with each chain made a cycle: a resource that has taken a name gets the name that becomes free."""
    closed = dict(names)
    for head in names.keys() - set(names.values()):
        tail = head
        while tail in names:
            tail = names[tail]
        closed[tail] = head
    return closed


# What is possible.


def due(connection: sa.Connection, stack_id: str, moves: Moves) -> dict[str, str]:
    """Return the moves to carry out, old name to new name, without those that were carried out before.

    Raises UserError with all moves that are not possible.
    """
    if moves.back_to is not None:
        return _way_back(connection, _after(stack_id, moves.back_to))
    if not moves.asked:
        return {}
    present = _present(connection, stack_id, moves.asked)
    ahead = [one for one in moves.asked if not (one.stays and present.has_moved(one))]
    if problems := [problem for one in ahead for problem in _problems(one, ahead, present)]:
        raise errors.UserError(problems=tuple(problems))
    if ahead and moves.limited:
        raise errors.UserError("A limited update cannot move resources.", kind="NotSupported",
                               hint="Move them in an update without targets and exclusions.")
    return {one.old: one.new for one in ahead}


@dataclass(slots=True)
class _Present:
    """The nodes and versions that a stack has under the names of moves."""

    nodes: set[str]
    # The names that have a version, be it a superseded one.
    held: set[str] = field(default_factory=set)
    # The types of current versions.
    types: dict[str, str] = field(default_factory=dict)
    # The moves that are in effect.
    made: set[tuple[str, str]] = field(default_factory=set)

    def has_moved(self, move: Move) -> bool:
        return (move.old, move.new) in self.made or (move.old not in self.nodes and move.new in self.nodes)


def _present(connection: sa.Connection, stack_id: str, moves: Sequence[Move]) -> _Present:
    names = rows.ids({name for one in moves for name in (one.old, one.new)})
    theirs = sa.select(_NODE.name).where(_NODE.stack_id == stack_id, rows.among(_NODE.name), _NODE.kind != NodeKind.BARRIER)
    found = _Present(set(connection.execute(theirs, names).scalars()))
    held = sa.select(_VERSION.name, _VERSION.type, _VERSION.superseded).where(
        _VERSION.stack_id == stack_id, rows.among(_VERSION.name))
    for name, type_, superseded in connection.execute(held, names):
        found.held.add(name)
        if not superseded:
            found.types[name] = type_
    found.made = _in_effect(connection, stack_id)
    return found


def _in_effect(connection: sa.Connection, stack_id: str) -> set[tuple[str, str]]:
    """Return the moves, old name and new name, whose resource has not been moved on."""
    found: set[tuple[str, str]] = set()
    made = sa.select(_MOVE.generation, _MOVE.old, _MOVE.new).where(_MOVE.stack_id == stack_id).order_by(_MOVE.generation)
    for _, step in itertools.groupby(connection.execute(made), lambda row: row.generation):
        moved = {row.old: row.new for row in step}
        found = {(old, new) for old, new in found if new not in moved} | set(moved.items())
    return found


def _problems(move: Move, all_: Sequence[Move], present: _Present) -> Iterator[errors.Problem]:
    def problem(message: str, hint: str) -> errors.Problem:
        return errors.Problem(f"Resource {move.old} cannot move to {move.new}: {message}", hint=hint, kind="ValueError")

    leaving = {one.old: one.new for one in all_}
    if move.type is None:
        yield problem(f"the template has no resource {move.new}.", "Write the resource under its new name in the template.")
    if move.old not in present.nodes:
        yield problem(f"the stack has no resource {move.old}.", "`isotherm resources STACK` lists what there is.")
    if any(one.new == move.new and one.old != move.old for one in all_):
        yield problem("another resource moves there too.", "Give each resource a name of its own.")
    elif _returns(move.old, leaving):
        yield problem("the moves form a cycle.", "Move one of the resources to a free name first, in an update of its own.")
    elif move.new in present.held and move.new not in leaving:
        yield problem(f"the stack has a resource {move.new} already.", "Remove it first, in an update of its own.")
    type_ = present.types.get(move.old, move.type)
    if move.type is not None and type_ != move.type:
        yield problem(f"it is of type {type_}, and the template has {move.type}.",
                      "A move keeps the object; the type can be changed in another update.")


def _returns(name: str, leaving: Mapping[str, str]) -> bool:
    """Return whether the chain of moves that begins at a name comes back to it."""
    at: str | None = leaving[name]
    for _ in leaving:
        if at == name:
            return True
        at = leaving.get(at) if at is not None else None
    return False


# Writing.


def _drop_empty(connection: sa.Connection, stack_id: str, names: Collection[str]) -> None:
    """Delete nodes of these names: there is no version of them, and a node with a version takes the name."""
    theirs = sa.select(_NODE.id).where(_NODE.stack_id == stack_id, rows.among(_NODE.name))
    empty = list(connection.execute(theirs, rows.ids(names)).scalars())
    order.delete_edges(connection, empty)
    nodes.delete(connection, empty)


def _rename(connection: sa.Connection, stack_id: str, names: Mapping[str, str]) -> None:
    if not names:
        return
    nodes.rename(connection, stack_id, names)
    versions.rename(connection, stack_id, names)
    event = t.events.c
    theirs = sa.update(t.events).where(event.stack_id == stack_id, rows.among(event.name))
    connection.execute(theirs.values(name=sa.case(names, value=event.name)), rows.ids(names))
    repair_records.rename(connection, stack_id, names)
    schedule.rename(connection, stack_id, names)
