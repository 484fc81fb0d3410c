"""Checks of moves between stacks: what refers to a resource, what it refers to, and its definition in the other stack.

A definition can move as it stands if everything that it names means the same in the other stack. With values, what does not
is replaced by its present value. Pure: computed from the inputs of both stacks and the published values of one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.planning import desired, documents
from isotherm.planning.references import PublishedReferences
from isotherm.resources.registry import Registry
from isotherm.store.records import Input, Wanted
from isotherm.template import environment
from isotherm.template.model import definitions
from isotherm.template.text import cut, paste
from isotherm.template.versions import Dialect

_VALUES_HINT = "`--with-values` writes its present value into the definition."


class Kind(Enum):
    """The kinds of things that a function refers to."""

    RESOURCE = "resource"
    PARAMETER = "parameter"
    FILE = "file"
    CONDITION = "condition"
    MAPPING = "mapping"


# By form of a function: what it names.
_KINDS = {
    "get_resource": Kind.RESOURCE, "get_attr": Kind.RESOURCE, "cfn.get_att": Kind.RESOURCE, "get_param": Kind.PARAMETER,
    "get_file": Kind.FILE, "if": Kind.CONDITION, "cfn.find_in_map": Kind.MAPPING,
}


@dataclass(frozen=True, slots=True)
class Use:
    """A place in a template that names something, by the path to it."""

    kind: Kind
    name: str
    path: tuple[str | int, ...]

    @property
    def place(self) -> str:
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two stacks: its input, and its desired state before the move."""

    identity: desired.Identity
    input: desired.StackInput
    goal: desired.Desired

    @property
    def dialect(self) -> Dialect:
        return self.goal.bound.dialect

    @property
    def section(self) -> str:
        return self.dialect.words.resources

    @property
    def entries(self) -> Mapping[str, Any]:
        """Return the resources as the template writes them."""
        return self.goal.bound.template.resources


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The inputs of both stacks after a move."""

    home: desired.StackInput
    target: desired.StackInput


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A resource, its name in the other stack, and whether references become values."""

    name: str
    new_name: str
    with_values: bool


def side(input_: desired.StackInput, identity: desired.Identity, types: Registry) -> Side:
    """Return a stack with the desired state of its accepted input."""
    return Side(identity, input_, desired.desire(input_, identity, types, validate=False))


def plan(home: Side, target: Side, asked: MoveRequest, published: Sequence[Input], types: Registry) -> MovePlan:
    """Return the inputs of both stacks after the move. Raises UserError with every place that keeps the resource."""
    if asked.name not in home.goal.bound.definitions:
        raise errors.NotFound(f"The Resource ({asked.name}) could not be found in Stack {home.identity.name}.",
                              kind="ResourceNotFound", hint="`isotherm resources STACK` shows what there is.")
    problems = [*_bound(home, asked.name, published, types), *_first_problems(home, target, asked),
                *_readers(home, asked.name)]
    uses = [one for one in _own_uses(home, asked.name) if not _is_portable(one, home, target)]
    problems += _own_problems(home, target, asked, uses)
    if problems:
        raise errors.UserError(problems=tuple(problems))
    entry = dict(home.entries[asked.name])
    if uses:
        entry = _with_values(home, entry, asked.name, uses, published)
    files = {use.name: home.input.files[use.name] for use in _own_uses(home, asked.name)
             if use.kind is Kind.FILE and use.name in home.input.files and use not in uses}
    restored = dict(home.input.restored)
    moved = {asked.new_name: restored.pop(asked.name)} if asked.name in restored else {}
    return MovePlan(
        replace(home.input, template=_without(home, asked.name), restored=restored,
                environment=_without_moves(home.input.environment, asked.name)),
        replace(target.input, template=_with(target, asked.new_name, entry), files={**target.input.files, **files},
                restored={**target.input.restored, **moved}))


def _without(home: Side, name: str) -> str:
    text = cut.without(home.input.template, home.section, name)
    if text is not None:
        return text
    entries = {key: one for key, one in home.entries.items() if key != name}
    return documents.encode({**home.goal.bound.template.data, home.section: entries})


def _without_moves(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an environment whose moves do not lead to the resource: it would be missing there in the next update."""
    loaded = environment.load(given)
    if name not in loaded.moved.values():
        return given
    return replace(loaded, moved={old: new for old, new in loaded.moved.items() if new != name}).as_dict()


def _with(target: Side, name: str, entry: Any) -> str:
    text = paste.into(target.input.template, target.section, name, entry)
    if text is not None:
        return text
    return documents.encode({**target.goal.bound.template.data, target.section: {**target.entries, name: entry}})


# What keeps a resource.


def _bound(home: Side, name: str, published: Sequence[Input], types: Registry) -> Iterator[errors.Problem]:
    """Yield why the type says that the resource belongs to its stack."""
    definition = home.goal.bound.definitions[name]
    want = next(one for one in home.goal.wanted if one.name == name)
    type_ = types.implementation(documents.decode(want.definition, documents.Target).implementation)
    if reason := type_.bound_to_stack(_resolved(definition, published, home.goal.values.__getitem__).properties or {}):
        yield errors.Problem(f"{definition.type} cannot move to another stack: {reason}.", f"{home.section}.{name}",
                             hint="Create another one in the other stack.")


def _first_problems(home: Side, target: Side, asked: MoveRequest) -> Iterator[errors.Problem]:
    path = f"{home.section}.{asked.name}"
    for one in (home, target):
        if one.input.parts:
            yield errors.Problem(f"an update of stack {one.identity.name} has left resources out: "
                                 f"{', '.join(one.input.parts.names)}.", hint="Update the stack without limits first.")
    if home.dialect.family is not target.dialect.family:
        yield errors.Problem("the templates of the two stacks are in different languages.", path,
                             hint="Import the object into the other stack instead: forget it, then `isotherm import`.")
    if asked.new_name in target.entries:
        yield errors.Problem(f"stack {target.identity.name} has a resource {asked.new_name} already.", path,
                             hint="Give another name: isotherm move A/RES B/NAME.")


def _readers(home: Side, name: str) -> Iterator[errors.Problem]:
    """Yield the places of a stack that refer to the resource."""
    bound, words = home.goal.bound, home.dialect.words
    data = bound.template.data
    places = [use.place for section in (words.resources, words.outputs)
              for use in _uses(data.get(section) or {}, home, (section,))
              if use.kind is Kind.RESOURCE and use.name == name and use.path[:2] != (words.resources, name)]
    # Those that no function of the template names, such as requirements that a type implies.
    readers = [f"{words.resources}.{want.name}" for want in home.goal.wanted if name in want.requires and want.name != name]
    readers += [f"{words.outputs}.{key}" for key, output in bound.outputs.items() if name in output.requires]
    places += [one for one in readers if not any(place == one or place.startswith(f"{one}.") for place in places)]
    for place in places:
        yield errors.Problem(f"it refers to resource {name}, which would leave the stack.", place,
                             hint="Update the stack so that nothing refers to it, or move what does first.")


def _own_problems(home: Side, target: Side, asked: MoveRequest, uses: Collection[Use]) -> Iterator[errors.Problem]:
    """Yield the places of a definition that mean nothing, or something else, in the other stack."""
    known = {use.name for use in uses if use.kind is Kind.RESOURCE}
    if not asked.with_values:
        for use in uses:
            yield errors.Problem(f"it refers to {use} of stack {home.identity.name}{_elsewhere(use, target)}.", use.place,
                                 hint=_VALUES_HINT)
        for name in sorted(home.goal.bound.definitions[asked.name].requires - known):
            yield errors.Problem(f"it needs resource {name} of stack {home.identity.name}.",
                                 f"{home.section}.{asked.name}", hint=_VALUES_HINT)
        return
    for use in uses:
        if use.kind is Kind.PARAMETER and use.name in home.goal.values.hidden:
            yield errors.Problem(f"parameter {use.name} is hidden: its value is not written into a template.", use.place,
                                 hint=f"Give stack {target.identity.name} a hidden parameter {use.name} of the same value.")


def _elsewhere(use: Use, target: Side) -> str:
    if use.kind is Kind.PARAMETER and use.name in target.goal.values:
        return f", which has another value in stack {target.identity.name}"
    if use.kind is Kind.FILE and use.name in target.input.files:
        return f", which has another content in stack {target.identity.name}"
    return ""


def _is_portable(use: Use, home: Side, target: Side) -> bool:
    """Return whether a name means the same in both stacks."""
    if use.kind is Kind.PARAMETER:
        mine, other = home.goal.values, target.goal.values
        if use.name not in mine or use.name not in other:
            return False
        return bool(mine[use.name] == other[use.name]) and (use.name in mine.hidden) == (use.name in other.hidden)
    if use.kind is Kind.FILE:
        text = home.input.files.get(use.name)
        return text is not None and target.input.files.get(use.name, text) == text
    return False


# What a template names.


def _own_uses(home: Side, name: str) -> list[Use]:
    words, entry = home.dialect.words, home.entries[name]
    found = list(_uses(entry, home, (words.resources, name)))
    condition = entry.get(words.condition)
    if condition is not None:
        found.append(Use(Kind.CONDITION, str(condition), (words.resources, name, words.condition)))
    return found


def _uses(tree: Any, home: Side, path: tuple[str | int, ...]) -> Iterator[Use]:
    """Yield what the functions of a tree name, and the requirements that resources declare."""
    if isinstance(tree, list):
        for index, one in enumerate(tree):
            yield from _uses(one, home, (*path, index))
    if not isinstance(tree, Mapping):
        return
    if len(tree) == 1:
        ((word, argument),) = tree.items()
        yield from _named(word, argument, home, path)
    for key, one in tree.items():
        if key == home.dialect.words.depends_on and len(path) == 2:
            for needed in one if isinstance(one, list) else [one]:
                yield Use(Kind.RESOURCE, str(needed), (*path, str(key)))
        else:
            yield from _uses(one, home, (*path, str(key)))


def _named(word: Any, argument: Any, home: Side, path: tuple[str | int, ...]) -> Iterator[Use]:
    """Yield what a function names, if this is one."""
    form = home.dialect.functions.get(word, "")
    first = argument[0] if isinstance(argument, list) and argument else argument
    if not isinstance(first, str):
        return
    if form == "ref":
        kind = Kind.PARAMETER if first in home.goal.values else Kind.RESOURCE
        yield Use(kind, first, path)
    elif kind_of := _KINDS.get(form) or _KINDS.get(form.partition(".")[0]):
        name = first.partition(".")[0] if form == "cfn.get_att" and isinstance(argument, str) else first
        yield Use(kind_of, name, path)


# Values in place of references.


def _with_values(
    home: Side, entry: dict[str, Any], name: str, uses: Collection[Use], published: Sequence[Input]
) -> dict[str, Any]:
    """Return the definition with present values wherever it refers to what the other stack does not have."""
    words, definition = home.dialect.words, home.goal.bound.definitions[name]
    resolved = _resolved(definition, published, home.goal.values.__getitem__)
    values = {words.properties: resolved.properties, words.metadata: resolved.metadata,
              words.update_policy: resolved.update_policy, words.external_id: resolved.external_id}
    places = {use.path[2:4] for use in uses}
    for word in (words.depends_on, words.condition):
        if any(place[:1] == (word,) for place in places):
            entry.pop(word, None)
    for word, value in values.items():
        keys = {place[1] for place in places if len(place) > 1 and place[0] == word}
        if any(place == (word,) for place in places):
            entry[word] = value
        elif keys:
            now = value or {}
            entry[word] = {key: now.get(key) if key in keys else one for key, one in entry[word].items()
                           if key not in keys or key in now}
    return entry


def _resolved(
    definition: definitions.Definition, published: Sequence[Input], parameter: Callable[[str], object]
) -> definitions.Resolved:
    return definition.resolve(PublishedReferences(published, parameter))


# The same resource in both stacks.


def compared(
    home: Side, target: Side, asked: MoveRequest, goals: tuple[desired.Desired, desired.Desired], published: Sequence[Input]
) -> tuple[Wanted, list[Wanted]]:
    """Return the definition in the other stack, and those of the first that read alike and are written otherwise.

    `goals` are the desired states of both stacks after the move. Raises UserError if anything else would change.
    """
    after_home, after_target = goals
    wanted = next(want for want in after_target.wanted if want.name == asked.new_name)
    before = next(want for want in home.goal.wanted if want.name == asked.name)
    problems = [*_differences(home, after_target, (before, wanted), published),
                *_other_changes(target, after_target, asked.new_name)]
    if problems:
        raise errors.UserError(problems=tuple(problems))
    digests = {want.name: want.digest for want in home.goal.wanted}
    return wanted, [want for want in after_home.wanted if want.digest != digests.get(want.name)]


def _differences(
    home: Side, after: desired.Desired, both: tuple[Wanted, Wanted], published: Sequence[Input]
) -> Iterator[errors.Problem]:
    before, wanted = both
    path = f"{home.section}.{before.name}"
    mine, other = (documents.decode(want.definition, documents.Target) for want in both)
    if (mine.implementation, mine.restricted, mine.hooks) != (other.implementation, other.restricted, other.hooks):
        yield errors.Problem("the environments of the two stacks give its type, its hooks or its restricted actions "
                             "another meaning.", path, hint="Update one of the stacks to an environment that does not.")
    if wanted.requires:
        yield errors.Problem(f"it would need {', '.join(wanted.requires)} in the other stack.", path)
    own = home.goal.bound.definitions[before.name]
    there = after.bound.definitions[wanted.name]
    now = _resolved(own, published, home.goal.values.__getitem__)
    then = _resolved(there, (), after.values.__getitem__)
    if (own.type, own.deletion_policy, now) != (there.type, there.deletion_policy, then):
        yield errors.Problem("its definition means something else in the other stack.", path,
                             hint="Write it so that it refers to nothing of its stack.")


def _other_changes(target: Side, after: desired.Desired, name: str) -> Iterator[errors.Problem]:
    digests = {want.name: want.digest for want in target.goal.wanted}
    for want in after.wanted:
        if want.name != name and digests.get(want.name) != want.digest:
            yield errors.Problem(f"it would change, because its type would need resource {name}.",
                                 f"{target.section}.{want.name}", hint="Import the object in an update of its own instead.")
