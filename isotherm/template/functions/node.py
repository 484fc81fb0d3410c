"""What a function in a template is once it has been read, and the walks over trees that hold functions.

A tree is plain data, or *live*: a `Function`, or a `LiveMap` or `LiveList` that has one somewhere inside. Plain parts
are never copied or walked, which is what makes large templates cheap: the walks below only enter what is live.

A function goes through three times of judgement, and Heat's users see different errors for each:

    inspect    when the template is read: the shape of the arguments as written
    check      when the stack is validated: what it refers to
    evaluate   when its value is needed, with its arguments resolved

All three raise `Misuse`; who walks adds the path and turns it into a UserError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

from isotherm import errors
from isotherm.template.functions.reading import Reader
from isotherm.template.limits import Budget


class Misuse(Exception):
    """A function used wrongly; never leaves this package. `path` is collected from the inside out, on the way up."""

    def __init__(self, message: str, kind: str = "StackValidationFailed") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.path: list[object] = []

    def located(self, *outer: object) -> str:
        return path_text([*outer, *reversed(self.path)])

    def __str__(self) -> str:
        place = self.located()
        return f"{place}: {self.message}" if place else self.message


class References(Protocol):
    """What other resources and hidden parameters are worth: asked when a definition is resolved."""

    def reference_id(self, resource: str) -> object:
        """What `get_resource` gives: the physical id, or the name while there is none."""

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        """The value of an attribute, followed along `path`; None while it is not known."""

    def attributes(self, resource: str) -> object:
        """All attributes as a map."""

    def parameter(self, name: str) -> object:
        """The value of a parameter; raises UserError when it was not provided."""


class Known(Protocol):
    """What validation knows about resources: which exist, and which attributes their types have."""

    def has_resource(self, name: object) -> bool: ...

    def has_attribute(self, resource: str, attribute: str) -> bool: ...


class Scope:
    """What an evaluation may use: references, and a budget for what it makes."""

    __slots__ = ("budget", "references")

    def __init__(self, references: References, budget: Budget) -> None:
        self.references = references
        self.budget = budget


class Live:
    """The mark of what needs resolving."""

    __slots__ = ()


class LiveMap(dict[Any, Any], Live):
    """A map with a function somewhere inside."""

    __slots__ = ()


class LiveList(list[Any], Live):
    """A list with a function somewhere inside."""

    __slots__ = ()


class Nothing(Live):
    """What a two-armed `if` leaves when its condition is false: the item or entry disappears."""

    __slots__ = ()


NOTHING = Nothing()


class Function(Live):
    """A call in a template: the name it was called by, and its arguments as read."""

    __slots__ = ("args", "name")
    form: ClassVar[str] = ""
    first: ClassVar[tuple[object, ...]] = ()  # arguments that are resolved before the others: their errors speak first

    def __init__(self, name: str, args: Any) -> None:
        self.name = name
        self.args = args

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        """Make the call from its arguments; a function that needs its surroundings takes them here."""
        node = cls(name, args)
        node.inspect()
        return node

    def inspect(self) -> None:
        """Judge the arguments as written; they may hold functions. Raises Misuse."""

    def check(self, args: Any, known: Known) -> None:
        """Judge what can be judged before values exist. Raises Misuse."""

    def evaluate(self, args: Any, scope: Scope) -> Any:
        """The value, from resolved arguments. Raises Misuse."""
        raise NotImplementedError

    def is_ready(self, hidden: frozenset[str]) -> bool:
        """Whether plain arguments are enough to evaluate it before any resource exists."""
        return True

    def uses(self) -> Iterator[tuple[object, tuple[Any, ...] | None]]:
        """Resources it refers to: (name, None) by reference, (name, (attribute, *path)) by attribute."""
        return iter(())

    def parameters(self) -> Iterator[str | None]:
        """Names of parameters it reads when resolved late; None stands for any."""
        return iter(())

    def extra(self) -> Any:
        """Data beyond the arguments that a frozen definition has to carry."""
        return None

    def restore(self, extra: Any) -> None:
        """The other way round."""

    def with_args(self, args: Any) -> Function:
        if args is self.args:
            return self
        copy = type(self)(self.name, args)
        copy.restore(self.extra())
        return copy

    def __eq__(self, other: object) -> bool:
        return (type(self) is type(other) and isinstance(other, Function) and self.name == other.name
                and self.args == other.args and self.extra() == other.extra())

    __hash__ = None  # type: ignore[assignment]  # arguments are mutable containers

    def __repr__(self) -> str:
        return f"{{{self.name}: {self.args!r}}}"


class Judged(Function):
    """A function whose arguments are checked as they were written: parts that were functions then are let through."""

    __slots__ = ("flaw",)

    def __init__(self, name: str, args: Any) -> None:
        super().__init__(name, args)
        self.flaw: Misuse | None = None

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        node = super().read(name, args, reader)
        try:
            node.judge(args)
        except Misuse as misuse:
            node.flaw = misuse
        return node

    def judge(self, args: Any) -> None:
        raise NotImplementedError

    def check(self, args: Any, known: Known) -> None:
        if self.flaw is not None:
            raise Misuse(self.flaw.message)

    def with_args(self, args: Any) -> Function:
        copy = super().with_args(args)
        if isinstance(copy, Judged):
            copy.flaw = self.flaw
        return copy


def path_text(path: list[object]) -> str:
    """Heat's grammar of paths: `resources.r.properties.list[0].key`; names that are numbers look like indices."""
    text = ""
    for part in path:
        if isinstance(part, int) or (isinstance(part, str) and part.isdigit()):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def reduce(value: Any, scope: Scope, hidden: frozenset[str]) -> Any:
    """Stage one: evaluate all that needs no other resource. What fails stays, to fail again when it is asked for."""
    if isinstance(value, Function):
        return _reduce_function(value, scope, hidden)
    if isinstance(value, LiveMap):
        return _settled_map({key: reduce(item, scope, hidden) if isinstance(item, Live) else item
                             for key, item in value.items()})
    if isinstance(value, LiveList):
        return _settled_list([reduce(item, scope, hidden) if isinstance(item, Live) else item for item in value])
    return value


def _settled_map(items: dict[Any, Any]) -> Any:
    live = False
    for item in items.values():
        if isinstance(item, Live):
            if item is NOTHING:
                return _settled_map({key: each for key, each in items.items() if each is not NOTHING})
            live = True
    return LiveMap(items) if live else items


def _settled_list(items: list[Any]) -> Any:
    live = False
    for item in items:
        if isinstance(item, Live):
            if item is NOTHING:
                return _settled_list([each for each in items if each is not NOTHING])
            live = True
    return LiveList(items) if live else items


def _reduce_function(function: Function, scope: Scope, hidden: frozenset[str]) -> Any:
    args = function.args
    if isinstance(args, Live):
        args = _arguments(args, lambda item: reduce(item, scope, hidden), function.first)
        function = function.with_args(args)
    if isinstance(args, Live) or not function.is_ready(hidden):
        return function
    try:
        function.check(args, _NOBODY)
        value = function.evaluate(args, scope)
    except Misuse as misuse:
        if misuse.kind == "RequestLimitExceeded":  # it would only take as long again
            raise errors.UserError(misuse.message, kind=misuse.kind) from misuse
        return function
    return value


def _arguments(args: Any, walk: Callable[[Any], Any], first: tuple[object, ...]) -> Any:
    """Direct arguments keep their place: where an `if` leaves nothing, a function sees null."""
    if isinstance(args, LiveList):
        items = list(args)
        for index in sorted(range(len(items)), key=lambda index: index not in first) if first else range(len(items)):
            if isinstance(items[index], Live):
                items[index] = _null(walk(items[index]))
        return LiveList(items) if any(isinstance(item, Live) for item in items) else items
    if isinstance(args, LiveMap):
        entries = dict(args)
        for key in sorted(entries, key=lambda key: key not in first) if first else args:
            if isinstance(entries[key], Live):
                entries[key] = _null(walk(entries[key]))
        return LiveMap(entries) if any(isinstance(item, Live) for item in entries.values()) else entries
    return _null(walk(args))


def _null(value: Any) -> Any:
    return None if value is NOTHING else value


def resolve(value: Any, scope: Scope) -> Any:
    """Stage two: plain data. Raises Misuse."""
    if isinstance(value, Function):
        args = value.args
        if isinstance(args, Live):
            args = _arguments(args, lambda item: resolve(item, scope), value.first)
        return value.evaluate(args, scope)
    if isinstance(value, LiveMap):
        entries = {key: resolve(item, scope) if isinstance(item, Live) else item for key, item in value.items()}
        return {key: item for key, item in entries.items() if item is not NOTHING}
    if isinstance(value, LiveList):
        items = [resolve(item, scope) if isinstance(item, Live) else item for item in value]
        return [item for item in items if item is not NOTHING]
    return value


def check(value: Any, known: Known) -> None:
    """Judge every function inside. Heat joins a function's own path and that of its arguments with a colon."""
    if isinstance(value, Function):
        try:
            check(value.args, known)
            value.check(value.args, known)
        except Misuse as misuse:
            outer = Misuse(str(misuse))
            outer.path.append(value.name)
            raise outer from misuse
        return
    for key, item in _children(value):
        try:
            check(item, known)
        except Misuse as misuse:
            misuse.path.append(key)
            raise


def functions(value: Any) -> Iterator[tuple[tuple[object, ...], Function]]:
    """Every function inside with its path, outer ones first."""
    if isinstance(value, Function):
        yield (), value
        for path, inner in functions(value.args):
            yield (value.name, *path), inner
        return
    for key, item in _children(value):
        for path, inner in functions(item):
            yield (key, *path), inner


def _children(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, LiveMap):
        return ((key, item) for key, item in value.items() if isinstance(item, Live))
    if isinstance(value, LiveList):
        return ((index, item) for index, item in enumerate(value) if isinstance(item, Live))
    return iter(())


class _Nobody:
    """Stage one knows no resources: whoever asks is not ready then."""

    def has_resource(self, name: object) -> bool:
        return True

    def has_attribute(self, resource: str, attribute: str) -> bool:
        return True


_NOBODY = _Nobody()


def user_error(misuse: Misuse, *outer: object) -> errors.UserError:
    """The error as users see it, with the path from `outer` down to the function."""
    return errors.UserError(misuse.message, kind=misuse.kind, path=misuse.located(*outer))
