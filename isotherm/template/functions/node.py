"""Functions as parsed, and the trees that hold them.

A tree is plain data, or *live*: a `Function`, or a `LiveMap` or `LiveList` that has one somewhere inside. Plain parts are
never copied or walked, which makes large templates cheap: the walks (`walk`) enter live parts only.

A function is checked at three times, and Heat's users see different errors for each:

    inspect    when the template is parsed: the form of the arguments as written
    check      when the stack is validated: the references
    evaluate   when its value is needed, with its arguments resolved

All three raise `Misuse`; the walk adds the path and turns it into a UserError.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, ClassVar, Protocol

from isotherm import errors
from isotherm.template.functions.context import Reader
from isotherm.template.limits import Budget


class Misuse(Exception):
    """A function used wrongly; never leaves this package. `path` is collected from the inside out, on the way up."""

    def __init__(self, message: str, kind: str = "StackValidationFailed", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint
        self.path: list[object] = []

    def located(self, *outer: object) -> str:
        return path_text([*outer, *reversed(self.path)])

    def __str__(self) -> str:
        place = self.located()
        return f"{place}: {self.message}" if place else self.message


class References(Protocol):
    """The values of other resources and of hidden parameters, read when a definition is resolved."""

    def reference_id(self, resource: str) -> object:
        """Return the value of `get_resource`: the physical id, or the name while there is none."""

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        """Return the value of an attribute, followed along `path`; None while it is unknown."""

    def attributes(self, resource: str) -> object:
        """Return all attributes as a map."""

    def parameter(self, name: str) -> object:
        """Return the value of a parameter. Raises UserError if it was not provided."""


class Known(Protocol):
    """The resources that validation knows, and the attributes of their types."""

    def has_resource(self, name: object) -> bool: ...

    def has_attribute(self, resource: str, attribute: str) -> bool: ...

    def names(self, resource: str | None = None) -> Collection[str]:
        """Return the names of all resources, or of the attributes of one: those that a hint may name."""


class Scope:
    """The scope of an evaluation: references, and a budget for the values that it makes."""

    __slots__ = ("budget", "references")

    def __init__(self, references: References, budget: Budget) -> None:
        self.references = references
        self.budget = budget


class Live:
    """Base of all values that need resolving."""

    __slots__ = ()


class LiveMap(dict[Any, Any], Live):
    """A map with a function somewhere inside."""

    __slots__ = ()


class LiveList(list[Any], Live):
    """A list with a function somewhere inside."""

    __slots__ = ()


class Nothing(Live):
    """The value of an `if` without an else arm and with a false condition: its item or entry is removed."""

    __slots__ = ()


NOTHING = Nothing()


class Function(Live):
    """A call in a template: the name of the function, and its parsed arguments."""

    __slots__ = ("args", "name")
    form: ClassVar[str] = ""
    first: ClassVar[tuple[object, ...]] = ()  # resolved before the other arguments: their errors are reported first

    def __init__(self, name: str, args: Any) -> None:
        self.name = name
        self.args = args

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        """Make the call from its arguments; a function that needs its context takes it here."""
        node = cls(name, args)
        node.inspect()
        return node

    def inspect(self) -> None:
        """Check the arguments as written; they may hold functions. Raises Misuse."""

    def check(self, args: Any, known: Known) -> None:
        """Check everything that needs no values. Raises Misuse."""

    def evaluate(self, args: Any, scope: Scope) -> Any:
        """Return the value, from resolved arguments. Raises Misuse."""
        raise NotImplementedError

    def is_ready(self, hidden: frozenset[str]) -> bool:
        """Return whether it can be evaluated from plain arguments, before any resource exists."""
        return True

    def uses(self) -> Iterator[tuple[object, tuple[Any, ...] | None]]:
        """Yield the resources it refers to: (name, None) by reference, (name, (attribute, *path)) by attribute."""
        return iter(())

    def parameters(self) -> Iterator[str | None]:
        """Yield the names of the parameters that it reads in stage two; None stands for any."""
        return iter(())

    def extra(self) -> Any:
        """Return the data beyond the arguments that a frozen definition has to store."""
        return None

    def restore(self, extra: Any) -> None:
        """Restore the data that `extra` returned."""

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
    """A function whose arguments are checked as written: parts that are functions are accepted."""

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
    """Return a path in Heat's grammar: `resources.r.properties.list[0].key`; numeric names look like indices."""
    text = ""
    for part in path:
        if isinstance(part, int) or (isinstance(part, str) and part.isdigit()):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def functions(value: Any) -> Iterator[tuple[tuple[object, ...], Function]]:
    """Yield every function inside with its path, outer ones first."""
    if isinstance(value, Function):
        yield (), value
        for path, inner in functions(value.args):
            yield (value.name, *path), inner
        return
    for key, item in children(value):
        for path, inner in functions(item):
            yield (key, *path), inner


def children(value: Any) -> Iterator[tuple[object, Any]]:
    """Yield the live values inside, with their keys or indices."""
    if isinstance(value, LiveMap):
        return ((key, item) for key, item in value.items() if isinstance(item, Live))
    if isinstance(value, LiveList):
        return ((index, item) for index, item in enumerate(value) if isinstance(item, Live))
    return iter(())


def user_error(misuse: Misuse, *outer: object) -> errors.UserError:
    """Return the error for users, with the path from `outer` down to the function."""
    return errors.UserError(misuse.message, kind=misuse.kind, path=misuse.located(*outer), hint=misuse.hint)


def pair(function: Function, form: str) -> list[Any]:
    """Return the two arguments of a function that takes two; a text of two characters is accepted, as in Heat."""
    args = function.args
    if args is None:
        raise Misuse("cannot unpack non-iterable NoneType object")
    if isinstance(args, str) and len(args) == 2:
        args = list(args)
    if not isinstance(args, list) or len(args) != 2:
        raise Misuse(f'Arguments to "{function.name}" must be of the form {form}')
    return args
