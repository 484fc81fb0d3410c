"""Papers that somebody hands in, to have what they describe taken over by a new stack: read, and judged as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.engine import desired, documents
from isotherm.secrets import MASK
from isotherm.states import Action, Status
from isotherm.store.records import Version
from isotherm.template import document


class Entry(msgspec.Struct):
    """One resource, as the papers have it. Other keys are passed over."""

    resource_id: str | None = None
    type: str = ""
    metadata: Any = None
    resource_data: dict[str, Any] | None = None


class Papers(msgspec.Struct):
    """What is read of the papers."""

    template: str | dict[str, Any]
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    resources: dict[str, Entry] = {}

    @property
    def asked(self) -> desired.Asked:
        text = self.template if isinstance(self.template, str) else documents.encode(self.template)
        return desired.Asked(text, self.files, self.environment)


def read(data: str | bytes | Mapping[str, Any]) -> Papers:
    """The papers from JSON, YAML or plain data. Raises one UserError that says what is wrong with them."""
    try:
        plain = data if isinstance(data, Mapping) else document.load(data).data
        return msgspec.convert(plain, Papers)
    except (errors.UserError, msgspec.ValidationError) as error:
        raise errors.UserError(f"Invalid adopt data: {error}", hint="Hand in what `isotherm export` gave.") from error


def refuse_masked(values: Mapping[str, Any]) -> None:
    """Parameters that were masked when the papers were made have to be given anew."""
    masked = [name for name, value in values.items() if value == MASK]
    if masked:
        raise errors.UserError(f"Invalid adopt data: the value of parameter {masked[0]} is masked.",
                               hint="Give it, or export once more with --show-hidden.")


def versions(
    found: Papers, goal: desired.Desired, stack_id: str, operation_id: str, new_token: Callable[[], str]
) -> list[Version]:
    """A row for each resource of the template. Raises UserError with all that is missing or does not fit."""
    problems = tuple(errors.Problem(f"Invalid adopt data: {problem}") for problem in _problems(found, goal))
    if problems:
        raise errors.UserError(problems=problems)
    intent = documents.encode(documents.Intent(Action.ADOPT, operation_id))
    made = []
    for want in goal.wanted:
        if goal.bound.definitions[want.name].external_id is not None:
            continue
        entry, type_ = found.resources[want.name], goal.bound.definitions[want.name].type
        target = documents.decode(want.definition, documents.Target)
        made.append(Version(
            0, stack_id, want.name, type_, target.implementation, new_token(), entry.resource_id, Action.ADOPT,
            Status.IN_PROGRESS, "", "{}", None, documents.encode(entry.metadata),
            documents.encode(entry.resource_data or {}), None, "[]", None, False, want.deletion_policy, False,
            operation_id, intent,
        ))
    return made


def _problems(found: Papers, goal: desired.Desired) -> Iterator[str]:
    taken: dict[tuple[str, str], str] = {}
    for name, definition in goal.bound.definitions.items():
        if definition.external_id is not None:
            continue  # somebody else's, before as after
        entry = found.resources.get(name)
        if entry is None or not entry.resource_id:
            yield f"resources.{name}: Resource ID was not provided."
            continue
        if entry.type and entry.type != definition.type:
            yield f"resources.{name}: the data are of {entry.type}, the template has {definition.type}."
        if MASK in (entry.resource_data or {}).values():
            yield f"resources.{name}: its own data are masked; export once more with --show-hidden."
        other = taken.setdefault((definition.type, entry.resource_id), name)
        if other != name:
            yield f"resources.{name}: {entry.resource_id} is already resource {other}."
