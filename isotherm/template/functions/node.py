"""What a function in a template is once it has been read, and the trees that hold functions.

A tree is plain data, or *live*: a `Function`, or a `LiveMap` or `LiveList` that has one somewhere inside. Plain parts
are never copied or walked, which is what makes large templates cheap: walks (`walking`) only enter what is live.

A function goes through three times of judgement, and Heat's users see different errors for each:

    inspect    when the template is read: the shape of the arguments as written
    check      when the stack is validated: what it refers to
    evaluate   when its value is needed, with its arguments resolved

All three raise `Misuse`; who walks adds the path and turns it into a UserError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from isotherm import errors
from isotherm.template.functions.context import Reader
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


def functions(value: Any) -> Iterator[tuple[tuple[object, ...], Function]]:
    """Every function inside with its path, outer ones first."""
    if isinstance(value, Function):
        yield (), value
        for path, inner in functions(value.args):
            yield (value.name, *path), inner
        return
    for key, item in children(value):
        for path, inner in functions(item):
            yield (key, *path), inner


def children(value: Any) -> Iterator[tuple[object, Any]]:
    """What is live inside, with its key or index."""
    if isinstance(value, LiveMap):
        return ((key, item) for key, item in value.items() if isinstance(item, Live))
    if isinstance(value, LiveList):
        return ((index, item) for index, item in enumerate(value) if isinstance(item, Live))
    return iter(())


def user_error(misuse: Misuse, *outer: object) -> errors.UserError:
    """The error as users see it, with the path from `outer` down to the function."""
    return errors.UserError(misuse.message, kind=misuse.kind, path=misuse.located(*outer))


def pair(function: Function, form: str) -> list[Any]:
    """The two arguments of a function that takes just two; a text of two letters counts, as in Heat."""
    args = function.args
    if args is None:
        raise Misuse("cannot unpack non-iterable NoneType object")
    if isinstance(args, str) and len(args) == 2:
        args = list(args)
    if not isinstance(args, list) or len(args) != 2:
        raise Misuse(f'Arguments to "{function.name}" must be of the form {form}')
    return args
