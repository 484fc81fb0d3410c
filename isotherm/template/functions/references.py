"""Functions that refer to resources and parameters.

Those that refer to resources remain after stage one: a definition's dependencies are their `uses`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.template.functions.context import Reader
from isotherm.template.functions.node import Function, Known, Live, Misuse, Scope, pair


def incorrect(name: object, hint: str = "") -> Misuse:
    return Misuse(f'The specified reference "{name}" (in unknown) is incorrect.', "InvalidTemplateReference", hint)


def select(value: Any, path: tuple[Any, ...]) -> Any:
    """Follow a path into an attribute's value; return None where it does not exist."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list | str) and isinstance(step, int):
            try:
                value = value[step]
            except IndexError:
                return None
        else:
            return None
    return value


class GetResource(Function):
    """Returns the reference id of a resource."""

    __slots__ = ()
    form = "get_resource"

    def is_ready(self, hidden: frozenset[str]) -> bool:
        return False

    def uses(self) -> Iterator[tuple[object, tuple[Any, ...] | None]]:
        if not isinstance(self.args, Live):
            yield self.args, None

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, str):
            raise _unhashable(args) if isinstance(args, dict | list) else incorrect(args)
        return scope.references.reference_id(args)


class GetAttr(Function):
    """Returns an attribute of a resource, or a part of it: the resource itself follows the path."""

    __slots__ = ()
    form = "get_attr"
    gives_all: ClassVar[bool] = False

    def inspect(self) -> None:
        if not isinstance(self.args, list):
            raise Misuse(f'Argument to "{self.name}" must be a list')
        if len(self.args) < 2:
            raise Misuse(f'Arguments to "{self.name}" must be of the form [resource_name, attribute, (path), ...]')

    def is_ready(self, hidden: frozenset[str]) -> bool:
        return False

    def uses(self) -> Iterator[tuple[object, tuple[Any, ...] | None]]:
        resource = self.args[0]
        if isinstance(resource, Live):
            return
        needed: list[Any] = []
        for part in self._path():
            if isinstance(part, Live):
                break
            needed.append(part)
        yield resource, tuple(needed) if needed and needed[0] is not None else ()

    def _path(self) -> list[Any]:
        """Return the part of the arguments that the resource has to know in advance."""
        return list(self.args[1:])

    def check(self, args: Any, known: Known) -> None:
        resource, attribute = args[0], args[1] if len(args) > 1 else None
        if isinstance(resource, Live):
            return
        if not known.has_resource(resource):
            raise incorrect(resource, errors.meant(resource, known.names()))
        if isinstance(attribute, str) and not known.has_attribute(resource, attribute):
            names = known.names(resource)
            raise Misuse(f"The Referenced Attribute ({resource} {attribute}) is incorrect.",
                         hint=errors.meant(attribute, names) or f"attributes are: {', '.join(names) or 'none'}")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        resource, attribute = args[0], args[1] if len(args) > 1 else None
        if not isinstance(resource, str):
            raise incorrect(resource)
        if attribute is None and self.gives_all:
            return scope.references.attributes(resource)
        if not isinstance(attribute, str):
            raise Misuse(f"'{type(attribute).__name__}' object is not subscriptable", "TypeError")
        return self.ask(scope, resource, attribute, tuple(args[2:]))

    def ask(self, scope: Scope, resource: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return scope.references.attribute(resource, attribute, path)


class GetAttrThenSelect(GetAttr):
    """`get_attr` of the first HOT version: reads the whole attribute, then follows the path."""

    __slots__ = ()
    form = "get_attr.then_select"

    def _path(self) -> list[Any]:
        return list(self.args[1:2])

    def ask(self, scope: Scope, resource: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return select(scope.references.attribute(resource, attribute, ()), path)


class GetAttrAll(GetAttr):
    """`get_attr` that, without the name of an attribute, returns all attributes as a map."""

    __slots__ = ()
    form = "get_attr.all"
    gives_all = True

    def inspect(self) -> None:
        if not self.args:
            raise Misuse(f'Arguments to "{self.name}" can be of the next forms: [resource_name] or'
                         " [resource_name, attribute, (path), ...]")
        if isinstance(self.args, str) and len(self.args) == 1:
            self.args = [self.args]  # Heat's behaviour, which templates may rely on
        if not isinstance(self.args, list):
            raise Misuse(f'Argument to "{self.name}" must be a list')


class GetAtt(GetAttr):
    """CloudFormation's form: a resource and an attribute."""

    __slots__ = ()
    form = "cfn.get_att"

    def inspect(self) -> None:
        self.args = pair(self, "[resource_name, attribute]")


class GetParam(Function):
    """Returns the value of a parameter, or a part of it; a missing part is an empty string.

    A call whose arguments need a resource keeps the values that it may have to read then, unless they are hidden.
    """

    __slots__ = ("taken",)
    form = "get_param"

    def __init__(self, name: str, args: Any) -> None:
        super().__init__(name, args)
        self.taken: Mapping[str, Any] = {}

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Function:
        node = cls(name, args)
        if isinstance(args, Live):
            asked = list(node.parameters())
            node.taken = {one: value for one, value in reader.plain.items() if one in asked or None in asked}
        return node

    def extra(self) -> Any:
        return self.taken or None

    def restore(self, extra: Any) -> None:
        self.taken = extra or {}

    def is_ready(self, hidden: frozenset[str]) -> bool:
        args = self.args
        if not hidden:
            return True
        name = args[0] if isinstance(args, list) and args else args
        return not (isinstance(name, str) and name in hidden)

    def parameters(self) -> Iterator[str | None]:
        name = self.args[0] if isinstance(self.args, list) and self.args else self.args
        if isinstance(name, str):
            yield name
        elif isinstance(name, Live):
            yield None

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not args:
            raise Misuse(f'Function "{self.name}" must have arguments', "ValueError")
        if isinstance(args, str):
            return self.value(args, (), scope)
        if not isinstance(args, list):
            raise Misuse(f'Argument to "{self.name}" must be string or list', "TypeError")
        if not isinstance(args[0], str):
            raise Misuse(f'Parameter name in "{self.name}" must be string', "TypeError")
        return self.value(args[0], args[1:], scope)

    def value(self, name: str, path: Any, scope: Scope) -> Any:
        try:
            value = self.taken[name] if name in self.taken else scope.references.parameter(name)
        except errors.UserError as exc:
            raise Misuse(exc.problems[0].message, exc.kind) from None
        for step in path:
            value = _part(value, step)
        scope.budget.charge_shared(value)
        return value


class Ref(Function):
    """CloudFormation's form: refers to a resource if one has the name, otherwise to a parameter."""

    __slots__ = ()
    form = "ref"

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Function:
        if isinstance(args, dict | list | Live):
            raise Misuse(_unhashable(args).message)
        if args in reader.resource_names:
            return ResourceRef(name, args)
        return ParamRef.read(name, args, reader)


class ResourceRef(GetResource):
    __slots__ = ()
    form = "ref.resource"


class ParamRef(GetParam):
    """A parameter by its name only. The name of no parameter is an invalid reference."""

    __slots__ = ("is_declared",)
    form = "cfn.param_ref"

    def __init__(self, name: str, args: Any) -> None:
        super().__init__(name, args)
        self.is_declared = True

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Function:
        node = cls(name, args)
        node.is_declared = isinstance(args, str) and args in reader.parameter_names
        return node

    def extra(self) -> Any:
        return self.is_declared

    def restore(self, extra: Any) -> None:
        self.is_declared = bool(extra)

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if isinstance(args, dict | list):
            raise _unhashable(args)
        if not self.is_declared:
            raise incorrect(args)
        return self.value(args, (), scope)


def _unhashable(args: Any) -> Misuse:
    return Misuse(f"unhashable type: '{type(args).__name__}'", "TypeError")


def _part(value: Any, step: Any) -> Any:
    if isinstance(value, dict):
        return value.get(step, "") if isinstance(step, str | int | float | None) else ""
    if isinstance(value, list | str):
        try:
            index = int(step) if isinstance(step, str | int) else None
            return value[index] if index is not None else ""
        except (ValueError, IndexError):
            return ""
    return ""
