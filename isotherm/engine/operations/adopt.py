"""Papers that somebody hands in, to have what they describe taken over by a new stack: read, and judged as a whole.

What the papers say to exist gets a row, with the intent to adopt it. What was never made gets none: the adoption creates
it. Of what was under way the papers have the token, by which it is found if it came to be. A stack inside comes with papers
of its own. It is accepted with the stack around it, at rest, so that all objects have their owner from the first moment;
the resource that it belongs to adopts it when its turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from isotherm import errors
from isotherm.planning import desired, documents, masking, requests
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.secrets import MASK
from isotherm.states import Action, Status
from isotherm.store.operations.arrive import Arrival
from isotherm.store.records import Acceptance, NewStack, Version, Wanted
from isotherm.template import environment
from isotherm.template.text import document


class Entry(msgspec.Struct):
    """One resource, as the papers have it; of a stack inside, its papers. Other keys are passed over."""

    resource_id: str | None = None
    type: str = ""
    metadata: Any = None
    resource_data: dict[str, Any] | None = None
    # By what to find it, if its creation was under way.
    token: str | None = None
    status: str = ""
    template: str | dict[str, Any] | None = None
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    resources: dict[str, Entry] = {}


class Papers(msgspec.Struct):
    """What is read of the papers."""

    template: str | dict[str, Any]
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    resources: dict[str, Entry] = {}

    @property
    def asked(self) -> desired.Asked:
        return desired.Asked(_text(self.template), self.files, self.environment)


def _text(template: str | dict[str, Any]) -> str:
    return template if isinstance(template, str) else documents.encode(template)


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


@dataclass(frozen=True, slots=True)
class Around:
    """A stack that is to be, and what it is made of."""

    stack: NewStack
    operation_id: str
    asked: desired.Asked
    goal: desired.Desired


@dataclass(frozen=True, slots=True)
class Taken:
    """Versions that a stack takes over, and the stacks inside of it, each after the one around it."""

    versions: list[Version]
    inside: list[Arrival]


class Adopting:
    """Turns papers into rows. `desire` judges what a stack inside is made of."""

    def __init__(
        self, types: Registry, new_id: Callable[[], str], now: float,
        desire: Callable[[desired.Asked, desired.Identity], desired.Desired],
    ) -> None:
        self._types = types
        self._new_id = new_id
        self._now = now
        self._desire = desire

    def taken(self, entries: Mapping[str, Entry], around: Around) -> Taken:
        """Raises UserError with all that is missing or does not fit."""
        found = self._problems(entries, around.goal)
        problems = tuple(errors.Problem(f"Invalid adopt data: {problem}") for problem in found)
        if problems:
            raise errors.UserError(problems=problems)
        taken = Taken([], [])
        for want in around.goal.wanted:
            entry = entries.get(want.name)
            if entry is not None and around.goal.bound.definitions[want.name].external_id is None:
                self._take(entry, want, around, taken)
        return taken

    def _take(self, entry: Entry, want: Wanted, around: Around, taken: Taken) -> None:
        target = documents.decode(want.definition, documents.Target)
        version = Version(
            0, around.stack.id, want.name, around.goal.bound.definitions[want.name].type, target.implementation,
            self._new_id(), entry.resource_id, Action.ADOPT, Status.IN_PROGRESS, "", "{}", None,
            documents.encode(entry.metadata), documents.encode(entry.resource_data or {}), None, "[]", None, False,
            want.deletion_policy, False, around.operation_id,
            documents.encode(documents.Intent(Action.ADOPT, around.operation_id)),
        )
        if self._is_inside(target.implementation):
            if entry.template is None:
                return
            version.physical_id = self._take_inside(entry, version, around, taken)
        elif entry.resource_id is None:
            if entry.token is None:
                return
            version.token = entry.token
        taken.versions.append(version)

    def _take_inside(self, entry: Entry, version: Version, around: Around, taken: Taken) -> str:
        """Take over a stack inside, from papers of its own; answers its id."""
        values = environment.load(entry.environment).parameters
        child = contract.Child(_text(entry.template or {}), values)
        facade = {"metadata": entry.metadata, "deletion_policy": version.deletion_policy.name.capitalize(),
                  "update_policy": None}
        resource = masking.Around(version.name, version.type, facade)
        asked = masking.inner(around.asked, resource, child, self._types, masking.redactor(around.asked))
        asked = replace(asked, files={**entry.files, **asked.files})
        outer, operation_id = around.stack, self._new_id()
        new = NewStack(self._new_id(), outer.project, self._name(version, outer), outer.convergence, outer.id,
                       outer.depth + 1, outer.username)
        try:
            goal = self._desire(asked, desired.Identity(new.name, new.id, new.project))
            within = self.taken(entry.resources, Around(new, operation_id, asked, goal))
        except errors.UserError as error:
            raise _seen_from(version.name, error) from error
        input_, blobs = requests.stored(asked)
        acceptance = Acceptance(new.id, 0, operation_id, Action.INIT, input_, disable_rollback=True, timeout_s=None,
                                blobs=blobs, description=goal.description)
        taken.inside.append(Arrival(
            new, acceptance, Status.COMPLETE, "", self._now, None, goal.wanted, within.versions, [], frozenset(), {}, [],
            {}, {}))
        taken.inside.extend(within.inside)
        return new.id

    def _name(self, version: Version, stack: NewStack) -> str:
        """The name that the resource would have given to its stack."""
        return contract.physical_name(stack.name, version.name, version.token)

    def _is_inside(self, implementation: str) -> bool:
        found = self._types.types.get(implementation)
        return nested_stack.is_template(implementation) or (found is not None and nested_stack.is_inside(found))

    def _problems(self, entries: Mapping[str, Entry], goal: desired.Desired) -> Iterator[str]:
        taken: dict[tuple[str, str], str] = {}
        for want in goal.wanted:
            name, definition = want.name, goal.bound.definitions[want.name]
            if definition.external_id is not None:
                continue  # somebody else's, before as after
            entry = entries.get(name)
            if entry is None:
                yield f"resources.{name}: Resource ID was not provided."
                continue
            if entry.type and entry.type != definition.type:
                yield f"resources.{name}: the data are of {entry.type}, the template has {definition.type}."
            if MASK in (entry.resource_data or {}).values():
                yield f"resources.{name}: its own data are masked; export once more with --show-hidden."
            inside = self._is_inside(documents.decode(want.definition, documents.Target).implementation)
            if inside and entry.template is None and entry.resource_id:
                yield f"resources.{name}: it is a stack inside, and its template and resources were not provided."
            if not inside and not entry.resource_id and entry.status == Status.IN_PROGRESS.name and entry.token is None:
                yield (f"resources.{name}: Resource ID was not provided, and it was under way when the data were made. "
                       "If it does not exist, leave out its status.")
            if not inside and entry.resource_id:
                other = taken.setdefault((definition.type, entry.resource_id), name)
                if other != name:
                    yield f"resources.{name}: {entry.resource_id} is already resource {other}."


def _seen_from(name: str, error: errors.UserError) -> errors.UserError:
    """The same error, with the way to the stack inside that it is about."""
    prefix = "Invalid adopt data: "
    told = (str(problem).removeprefix(prefix) for problem in error.problems)
    return errors.UserError(problems=tuple(errors.Problem(f"{prefix}resources.{name}.{one}") for one in told))
