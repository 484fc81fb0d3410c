"""Functions that read sources beside the resources: files, mappings, the parent resource, the zones of a cloud.

Each takes its source when it is parsed. Normally it is evaluated in stage one; only a call whose arguments need a resource
stores its source in the frozen definition.
"""

from __future__ import annotations

from typing import Any, Self

from isotherm.template.functions.context import Facade, Reader
from isotherm.template.functions.node import Function, Misuse, Scope


class _Sourced(Function):
    """A function with a source of its own."""

    __slots__ = ("source",)

    def __init__(self, name: str, args: Any) -> None:
        super().__init__(name, args)
        self.source: Any = None

    @classmethod
    def read(cls, name: str, args: Any, reader: Reader) -> Self:
        node = cls(name, args)
        node.inspect()
        node.source = node.take(reader)
        return node

    def take(self, reader: Reader) -> Any:
        raise NotImplementedError

    def extra(self) -> Any:
        return self.source

    def restore(self, extra: Any) -> None:
        self.source = extra


class GetFile(_Sourced):
    """Returns the content of a file sent with the template. It never opens a path."""

    __slots__ = ()
    form = "get_file"

    def take(self, reader: Reader) -> Any:
        return reader.files

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, str):
            raise Misuse(f'Argument to "{self.name}" must be a string', "TypeError")
        content = self.source.get(args)
        if content is None:
            raise Misuse(f'No content found in the "files" section for {self.name} path: {args}', "ValueError")
        scope.budget.charge_shared(content)
        return content


class FindInMap(_Sourced):
    """Returns a value of the Mappings section."""

    __slots__ = ()
    form = "cfn.find_in_map"

    def inspect(self) -> None:
        if self.args is None or isinstance(self.args, int | float):
            raise Misuse(f"cannot unpack non-iterable {type(self.args).__name__} object")
        if isinstance(self.args, Function):
            raise Misuse(f"cannot unpack non-iterable {self.args.name} object")
        if len(self.args) != 3:
            few = f"not enough values to unpack (expected 3, got {len(self.args)})"
            raise Misuse(repr(few if len(self.args) < 3 else "too many values to unpack (expected 3)"))
        if not isinstance(self.args, list):
            self.args = list(self.args)

    def take(self, reader: Reader) -> Any:
        return reader.mappings

    def evaluate(self, args: Any, scope: Scope) -> Any:
        value = self.source or {}
        for key in args:
            if isinstance(key, dict | list):
                raise Misuse(f"unhashable type: '{type(key).__name__}'", "TypeError")
            if not isinstance(value, dict):
                raise Misuse(f"'{type(value).__name__}' object is not subscriptable", "TypeError")
            if key not in value:
                raise Misuse(repr(key), "KeyError")
            value = value[key]
        scope.budget.charge_shared(value)
        return value


class GetAzs(_Sourced):
    """Returns the availability zones of the cloud."""

    __slots__ = ()
    form = "cfn.get_azs"

    def take(self, reader: Reader) -> Any:
        return list(reader.zones)

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return list(self.source)


class ResourceFacade(_Sourced):
    """Returns a field of the parent's resource that this template implements."""

    __slots__ = ()
    form = "resource_facade"
    words = ("metadata", "deletion_policy", "update_policy")

    def inspect(self) -> None:
        if not isinstance(self.args, str) or self.args not in self.words:
            raise Misuse(f'Incorrect arguments to "{self.name}" should be one of: {", ".join(self.words)}')

    def take(self, reader: Reader) -> Any:
        facade = reader.facade
        return None if facade is None else [facade.metadata, facade.deletion_policy, facade.update_policy]

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if self.source is None:
            raise Misuse(f'"{self.name}" is only of use in the template of a resource', "AttributeError")
        return self.source[self.words.index(args)]


class CfnResourceFacade(ResourceFacade):
    __slots__ = ()
    form = "cfn.resource_facade"
    words = ("Metadata", "DeletionPolicy", "UpdatePolicy")


__all__ = ["CfnResourceFacade", "Facade", "FindInMap", "GetAzs", "GetFile", "ResourceFacade"]
