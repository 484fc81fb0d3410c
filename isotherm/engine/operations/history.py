"""The history of stacks: the inputs that are kept, the differences between two of them, and the way back to one.

An input is named by a generation: operations that brought no other input have that of the generation before them.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import documents, masking, off_loop, planner
from isotherm.planning.desired import StackInput
from isotherm.secrets import MASK, Redactor
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.operations import history
from isotherm.store.reads import lookups

_NOTHING = StackInput("", {}, {})


@dataclass(frozen=True, slots=True)
class PastInput:
    """The input that a generation of the stack had, as the change to go back to."""

    generation: int


class HistoryService:
    """Reads the history of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._stacks = StackFinder(ports.store, requester.project)

    async def list(self, name_or_id: str) -> list[dict[str, Any]]:
        """Return the inputs that are kept of a stack, newest first, each with what it changed of the one before."""
        stack = await self._root(name_or_id)

        def unit(connection: Connection) -> list[tuple[lookups.Row, documents.Input]]:
            kept = history.of_stack(connection, stack["id"])
            return [(row, _document(connection, row)) for row in kept]

        found = await self._ports.store.read(unit)
        before = [document for _, document in found[1:]]
        return [_entry(row, document, one) for (row, document), one in zip(found, [*before, None], strict=True)]

    async def diff(self, name_or_id: str, first: int | None = None, second: int | None = None) -> dict[str, Any]:
        """Return how the inputs of two generations differ, with secrets masked.

        By default, `second` is the newest generation, and `first` has the input before that.
        """
        stack = await self._root(name_or_id)
        newest = stack["generation"] if second is None else second

        def unit(connection: Connection) -> tuple[Sequence[lookups.Row], StackInput, StackInput]:
            newer = find(connection, stack, newest)
            rows = [_before(connection, newer) if first is None else find(connection, stack, first), newer]
            inputs = [_NOTHING if not row["input"] else planner.input_of(connection, stack["id"], row["input"])
                      for row in rows]
            return rows, inputs[0], inputs[1]

        rows, before, after = await self._ports.store.read(unit)
        secrets = await self._ports.planning.all_secrets(stack["id"], *(row["input"] for row in rows))
        size = before.size + after.size + off_loop.weight(before.files) + off_loop.weight(after.files)
        found: dict[str, Any] = await self._ports.planning.compute(size, lambda: _difference(before, after, secrets))
        return {"from": rows[0]["generation"] if first is None else first, "to": newest, **found}

    async def _root(self, name_or_id: str) -> lookups.Row:
        stack = await self._stacks.row(name_or_id)
        if stack["owner_id"] is not None:
            raise errors.UserError(f"Stack {stack['name']} is nested in another stack, which has the history of both.",
                                   kind="NotSupported", hint="Ask for the history of the outermost stack.")
        return stack


def read(connection: Connection, stack: lookups.Row, generation: int) -> StackInput:
    """Return the input that a generation of the stack had. Raises UserError if it is not kept, or there was none."""
    row = find(connection, stack, generation)
    if not row["input"]:
        raise errors.UserError(f"Stack {stack['name']} had no template at generation {generation}: it was rolled back to "
                               "nothing.", kind="NotSupported", hint=_hint(stack))
    return planner.input_of(connection, stack["id"], row["input"])


def find(connection: Connection, stack: lookups.Row, generation: int) -> lookups.Row:
    """Return the row of the history with the input of a generation. Raises UserError if it is not kept."""
    if generation > stack["generation"] or generation < 1:
        raise errors.NotFound(f"Stack {stack['name']} has no generation {generation}: it is at {stack['generation']}.",
                              kind="NotFound", hint=_hint(stack))
    kept = history.of_stack(connection, stack["id"])
    found = next((row for row in kept if row["generation"] <= generation), None)
    if found is None:
        oldest = f"the oldest is that of generation {kept[-1]['generation']}" if kept else "there is none"
        raise errors.NotFound(f"The input of generation {generation} of stack {stack['name']} is not kept any more: "
                              f"{oldest}.", kind="NotFound", hint=f"{_hint(stack)} Option: max_operation_history.")
    return found


def _before(connection: Connection, row: lookups.Row) -> lookups.Row:
    """Return the row before this one in the history; the same row if it is the oldest."""
    older = (one for one in history.of_stack(connection, row["stack_id"]) if one["generation"] < row["generation"])
    return next(older, row)


def _hint(stack: lookups.Row) -> str:
    return f"`isotherm history {stack['name']}` shows what there is."


def _document(connection: Connection, row: lookups.Row) -> documents.Input:
    if not row["input"]:
        return documents.Input("")
    return documents.decode(lookups.blobs(connection, [row["input"]], row["stack_id"])[row["input"]], documents.Input)


def _entry(row: lookups.Row, document: documents.Input, before: documents.Input | None) -> dict[str, Any]:
    ended = row["ended_at"]
    superseded = row["status"] == Status.IN_PROGRESS and ended is not None
    return {
        "generation": row["generation"], "last_generation": row["last_generation"], "action": Action(row["action"]).name,
        "status": "SUPERSEDED" if superseded else Status(row["status"]).name, "requested_by": row["username"],
        "began": row["created_at"], "ended": ended, "operation_id": row["operation_id"],
        "changed": None if before is None and row["generation"] > 1 else _changed(before, document),
    }


def _changed(before: documents.Input | None, after: documents.Input) -> list[str]:
    """Return what an input changed of the one before it, in words."""
    if before is None:
        return []
    facts = (
        ("template", before.template != after.template),
        ("parameters", _values(before.environment) != _values(after.environment)),
        ("environment", _other_fields(before.environment) != _other_fields(after.environment)),
        ("files", before.files != after.files),
        # What a limited update leaves out, or a later one brings.
        ("part", before.parts != after.parts),
    )
    return [word for word, differs in facts if differs]


def _values(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    return environment.get("parameters") or {}


def _other_fields(environment: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in environment.items() if name != "parameters" and value}


def _difference(before: StackInput, after: StackInput, secrets: Redactor) -> dict[str, Any]:
    return {
        "template": _lines("template", before.template, after.template, secrets),
        "parameters": _fields(_values(before.environment), _values(after.environment), secrets,
                              hidden=masking.hidden_names(before) | masking.hidden_names(after)),
        "environment": _fields(_other_fields(before.environment), _other_fields(after.environment), secrets),
        "files": {name: _lines(name, before.files.get(name, ""), after.files.get(name, ""), secrets)
                  for name in sorted(before.files.keys() | after.files.keys())
                  if before.files.get(name) != after.files.get(name)},
    }


def _lines(name: str, before: str, after: str, secrets: Redactor) -> str:
    """Return the differing lines of two texts in the unified form. Secrets are masked first, so no line tells of one."""
    old, new = (secrets.text(text).splitlines(keepends=True) for text in (before, after))
    found = "".join(line if line.endswith("\n") else line + "\n" for line in difflib.unified_diff(old, new, name, name))
    return found or (f"--- {name}\n+++ {name}\n# only {MASK} differs\n" if before != after else "")


def _fields(
    before: Mapping[str, Any], after: Mapping[str, Any], secrets: Redactor, hidden: Collection[str] = ()
) -> dict[str, Any]:
    """Return the values that differ, before and after; null for one that is missing. Hidden values are masked."""

    def shown(name: str, value: Any) -> Any:
        return MASK if name in hidden and value is not None else secrets.value(value)

    names = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    return {name: {"from": shown(name, before.get(name)), "to": shown(name, after.get(name))} for name in names}
