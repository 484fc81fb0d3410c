"""`if`, the functions of conditions, and functions that a version does not have any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isotherm.template.functions.context import Reader
from isotherm.template.functions.node import NOTHING, Function, Known, Misuse, Scope


class If(Function):
    """Returns one of two values. Only the chosen one is parsed: the other may refer to missing resources."""

    __slots__ = ()
    form = "if"
    arms: tuple[int, ...] = (3,)

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        if not isinstance(args, list) or len(args) not in cls.arms:
            raise Misuse(f'Arguments to "{name}" must be of the form:'
                         " [condition_name, value_if_true, value_if_false]")
        is_true = reader.is_true(reader.parse_condition(args[0]))
        if not is_true and len(args) == 2:
            return NOTHING
        return cls(name, reader.parse(args[1 if is_true else 2]))

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return args


class IfNullable(If):
    """`if` that, with two arguments and a false condition, removes the item or entry."""

    __slots__ = ()
    form = "if.nullable"
    arms = (2, 3)


class _Condition(Function):
    """A function that returns a boolean; its operands may be names of conditions."""

    __slots__ = ("is_true",)

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        node = cls(name, args)
        node.inspect()
        node.is_true = reader.is_true
        return node

    def __init__(self, name: str, args: Any) -> None:
        super().__init__(name, args)
        self.is_true: Callable[[Any], bool] = _unknown


def _unknown(value: Any) -> bool:
    raise NotImplementedError("a condition is never evaluated apart from its template")


class Equals(Function):
    __slots__ = ()
    form = "equals"

    def inspect(self) -> None:
        if not isinstance(self.args, list) or len(self.args) != 2:
            raise Misuse(f'Arguments to "{self.name}" must be of the form: [value_1, value_2]')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return args[0] == args[1]


class Not(_Condition):
    __slots__ = ()
    form = "not"

    def inspect(self) -> None:
        if self.args is None:
            raise Misuse(f'Argument to "{self.name}" must be a condition')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return not self.is_true(args)


class CfnNot(_Condition):
    __slots__ = ()
    form = "cfn.not"

    def inspect(self) -> None:
        if not isinstance(self.args, list) or len(self.args) != 1:
            raise Misuse(f'Arguments to "{self.name}" must be of the form: [condition]')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return not self.is_true(args[0])


class And(_Condition):
    __slots__ = ()
    form = "and"

    def inspect(self) -> None:
        if not isinstance(self.args, list):
            raise Misuse(f'Arguments to "{self.name}" must be a list of conditions')
        if len(self.args) < 2:
            raise Misuse(f'The minimum number of condition arguments to "{self.name}" is 2.')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return all(self.is_true(each) for each in args)


class Or(And):
    __slots__ = ()
    form = "or"

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return any(self.is_true(each) for each in args)


class Removed(Function):
    """A function that this version dropped: an error in validation, plain data otherwise."""

    __slots__ = ()
    form = "removed"

    def check(self, args: Any, known: Known) -> None:
        raise Misuse(f"The template version is invalid: The function {self.name} is not supported in this version of"
                     " HOT.", "InvalidTemplateVersion")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return {self.name: args}


class OutOfPlace(Function):
    """A function of the template language that conditions cannot use."""

    __slots__ = ()

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Any:
        raise Misuse(f'The function "{name}" is invalid in this context')
