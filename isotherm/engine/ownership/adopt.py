"""Adoption: reads an export document, validates it as a whole, and turns it into rows of a new stack.

Each object that exists gets a version with the intent to adopt it. A resource that was never created gets no version: the
operation creates it. A resource whose creation was running has the token by which its object is found. A nested stack has
an export document of its own. It is accepted idle together with the outer stack, so that each object has an owner from the
start; the resource that it belongs to adopts it later.
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
from isotherm.resources.validation import protection as words
from isotherm.secrets import MASK
from isotherm.states import Action, Protection, Status
from isotherm.store.operations.arrive import Arrival
from isotherm.store.records import Acceptance, NewStack, Version, Wanted
from isotherm.store.transitions.versions import Protector
from isotherm.template import environment
from isotherm.template.text import document


class AskedProtection(msgspec.Struct):
    """The protection that a user asked for. The user who adopts the object asks for it now."""

    protect: list[str] = []


class ProtectionEntry(msgspec.Struct):
    """The protection of an object: on the request of a user, and by the template."""

    user: AskedProtection | None = None
    template: list[str] = []

    def by(self, user: str) -> Protector:
        """Return the protection, with the user who asks for it. Raises UserError for unknown words."""
        asked = words.level_of(self.user.protect) if self.user else Protection.NONE
        return Protector(asked, user if asked else "", words.level_of(self.template))


class StackProtectionEntry(msgspec.Struct):
    """The protection of a stack."""

    protected: bool = False


class ResourceEntry(msgspec.Struct):
    """One resource of an export document; of a nested stack, its export document. Other keys are ignored."""

    resource_id: str | None = None
    type: str = ""
    metadata: Any = None
    resource_data: dict[str, Any] | None = None
    # Finds the object if its creation was running.
    token: str | None = None
    protection: ProtectionEntry | None = None
    # Of a nested stack.
    stack_protection: StackProtectionEntry = msgspec.field(default_factory=StackProtectionEntry)
    status: str = ""
    template: str | dict[str, Any] | None = None
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    resources: dict[str, ResourceEntry] = {}


class ExportDocument(msgspec.Struct):
    """The parts of an export document that adoption reads."""

    template: str | dict[str, Any]
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    resources: dict[str, ResourceEntry] = {}
    stack_protection: StackProtectionEntry = msgspec.field(default_factory=StackProtectionEntry)

    @property
    def input(self) -> desired.StackInput:
        return desired.StackInput(_text(self.template), self.files, self.environment)


def _text(template: str | dict[str, Any]) -> str:
    return template if isinstance(template, str) else documents.encode(template)


def read(data: str | bytes | Mapping[str, Any]) -> ExportDocument:
    """Read an export document from JSON, YAML or plain data. Raises UserError if it is malformed."""
    try:
        plain = data if isinstance(data, Mapping) else document.load(data).data
        return msgspec.convert(plain, ExportDocument)
    except (errors.UserError, msgspec.ValidationError) as error:
        raise errors.UserError(f"Invalid adopt data: {error}", hint="Give the output of `isotherm export`.") from error


def refuse_masked(values: Mapping[str, Any]) -> None:
    """Raise UserError if the value of a parameter was masked when the document was exported."""
    masked = [name for name, value in values.items() if value == MASK]
    if masked:
        raise errors.UserError(f"Invalid adopt data: the value of parameter {masked[0]} is masked.",
                               hint="Give it, or export once more with --show-hidden.")


@dataclass(frozen=True, slots=True)
class AdoptedStack:
    """A stack that an adoption creates, with its input and desired state."""

    stack: NewStack
    operation_id: str
    input: desired.StackInput
    goal: desired.Desired


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """The versions of an adopted stack, and its nested stacks, each after its outer stack."""

    versions: list[Version]
    nested: list[Arrival]
    # By resource: what protected its object.
    protections: dict[str, Protector]


class AdoptionPlanner:
    """Turns the resources of an export document into rows. `desire` validates the input of a nested stack."""

    def __init__(
        self, types: Registry, new_id: Callable[[], str], now: float,
        desire: Callable[[desired.StackInput, desired.Identity], desired.Desired],
    ) -> None:
        self._types = types
        self._new_id = new_id
        self._now = now
        self._desire = desire

    def plan(self, entries: Mapping[str, ResourceEntry], outer: AdoptedStack) -> AdoptionPlan:
        """Return the rows to write. Raises UserError with every problem of the document."""
        found = self._problems(entries, outer.goal)
        problems = tuple(errors.Problem(f"Invalid adopt data: {problem}") for problem in found)
        if problems:
            raise errors.UserError(problems=problems)
        taken = AdoptionPlan([], [], {})
        for want in outer.goal.wanted:
            entry = entries.get(want.name)
            if entry is not None and outer.goal.bound.definitions[want.name].external_id is None:
                self._take(entry, want, outer, taken)
        return taken

    def _take(self, entry: ResourceEntry, want: Wanted, outer: AdoptedStack, taken: AdoptionPlan) -> None:
        target = documents.decode(want.definition, documents.Target)
        version = Version(
            0, outer.stack.id, want.name, outer.goal.bound.definitions[want.name].type, target.implementation,
            self._new_id(), entry.resource_id, Action.ADOPT, Status.IN_PROGRESS, "", "{}", None,
            documents.encode(entry.metadata), documents.encode(entry.resource_data or {}), None, "[]", None, False,
            want.deletion_policy, False, outer.operation_id,
            documents.encode(documents.Intent(Action.ADOPT, outer.operation_id)),
        )
        if self._is_nested(target.implementation):
            if entry.template is None:
                return
            version.physical_id = self._take_nested(entry, version, outer, taken)
        elif entry.resource_id is None:
            if entry.token is None:
                return
            version.token = entry.token
        taken.versions.append(version)
        if entry.protection is not None:
            taken.protections[want.name] = entry.protection.by(outer.stack.username)

    def _take_nested(self, entry: ResourceEntry, version: Version, outer: AdoptedStack, taken: AdoptionPlan) -> str:
        """Adopt a nested stack from its own export document, and return the id of the new stack."""
        values = environment.load(entry.environment).parameters
        child = contract.Child(_text(entry.template or {}), values)
        facade = {"metadata": entry.metadata, "deletion_policy": version.deletion_policy.name.capitalize(),
                  "update_policy": None}
        resource = masking.OuterResource(version.name, version.type, facade)
        input_ = masking.inner(outer.input, resource, child, self._types, masking.redactor(outer.input))
        input_ = replace(input_, files={**entry.files, **input_.files})
        around, operation_id = outer.stack, self._new_id()
        new = NewStack(self._new_id(), around.project, self._name(version, around), around.convergence, around.id,
                       around.depth + 1, around.username)
        try:
            goal = self._desire(input_, desired.Identity(new.name, new.id, new.project))
            within = self.plan(entry.resources, AdoptedStack(new, operation_id, input_, goal))
        except errors.UserError as error:
            raise _with_path(version.name, error) from error
        input_key, blobs = requests.stored(input_)
        acceptance = Acceptance(new.id, 0, operation_id, Action.INIT, input_key, disable_rollback=True, timeout_s=None,
                                blobs=blobs, description=goal.description)
        taken.nested.append(Arrival(
            new, acceptance, Status.COMPLETE, "", self._now, None, goal.wanted, within.versions, [], frozenset(), {}, [],
            {}, {}, within.protections, entry.stack_protection.protected))
        taken.nested.extend(within.nested)
        return new.id

    def _name(self, version: Version, stack: NewStack) -> str:
        """Return the name that the resource would give to its nested stack."""
        return contract.physical_name(stack.name, version.name, version.token)

    def _is_nested(self, implementation: str) -> bool:
        found = self._types.types.get(implementation)
        return nested_stack.is_template(implementation) or (found is not None and nested_stack.owns_nested_stack(found))

    def _problems(self, entries: Mapping[str, ResourceEntry], goal: desired.Desired) -> Iterator[str]:
        taken: dict[tuple[str, str], str] = {}
        for want in goal.wanted:
            name, definition = want.name, goal.bound.definitions[want.name]
            if definition.external_id is not None:
                continue  # an external resource: its object is not adopted
            entry = entries.get(name)
            if entry is None:
                yield f"resources.{name}: Resource ID was not provided."
                continue
            if entry.type and entry.type != definition.type:
                yield f"resources.{name}: the data are of {entry.type}, the template has {definition.type}."
            if MASK in (entry.resource_data or {}).values():
                yield f"resources.{name}: its own data are masked; export once more with --show-hidden."
            if entry.protection is not None and (wrong := _unknown_words(entry.protection)):
                yield f"resources.{name}: {wrong}"
            implementation = documents.decode(want.definition, documents.Target).implementation
            nested = self._is_nested(implementation)
            if nested and entry.template is None and entry.resource_id:
                yield f"resources.{name}: it is a nested stack, and its template and resources were not provided."
            if not nested and not entry.resource_id and entry.status == Status.IN_PROGRESS.name and entry.token is None:
                yield (f"resources.{name}: Resource ID was not provided, and it was under way when the data were made. "
                       "If it does not exist, leave out its status.")
            if not nested and (known := entry.resource_id or entry.token):
                # Two names of one implementation are one type.
                other = taken.setdefault((implementation, known), name)
                if other != name:
                    yield f"resources.{name}: {known} is already resource {other}."


def _unknown_words(entry: ProtectionEntry) -> str:
    try:
        entry.by("")
    except errors.UserError as error:
        return str(error)
    return ""


def _with_path(name: str, error: errors.UserError) -> errors.UserError:
    """Return the error with the path of the nested stack that it is about."""
    prefix = "Invalid adopt data: "
    texts = (str(problem).removeprefix(prefix) for problem in error.problems)
    return errors.UserError(problems=tuple(errors.Problem(f"{prefix}resources.{name}.{one}") for one in texts))
