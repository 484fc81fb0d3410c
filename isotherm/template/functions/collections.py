"""Functions that return lists and maps."""

from __future__ import annotations

import json
from typing import Any

from isotherm.template.functions.node import Function, Live, Misuse, Scope, pair


class MapMerge(Function):
    """Merges maps; later ones win, null ones are ignored."""

    __slots__ = ()
    form = "map_merge"

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, list | str):
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: "{self.name}" :'
                         ' [ { "key1": "val1" }, { "key2": "val2" } ]', "TypeError")
        merged: dict[Any, Any] = {}
        for each in args:
            if each is None:
                continue
            if not isinstance(each, dict):
                raise Misuse(f"Incorrect arguments: Items to merge must be maps. {each!r:.200} is type {type(each)}"
                             " instead of a dict", "TypeError")
            scope.budget.charge(len(each))
            merged.update(each)
        return merged


class MapReplace(Function):
    """Replaces keys and values of a map."""

    __slots__ = ()
    form = "map_replace"

    def _example(self) -> str:
        return (f'"{self.name}" : [ {{ "key1": "val1" }},'
                ' {"keys": {"key1": "key2"}, "values": {"val1": "val2"}}]')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, list) or len(args) != 2:
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: {self._example()}', "TypeError")
        given, changes = self._map(args[0]), self._map(args[1])
        if set(changes) - {"keys", "values"}:
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: {self._example()}', "ValueError")
        keys, values = self._map(changes.get("keys")), self._map(changes.get("values"))
        scope.budget.charge(len(given))
        replaced: dict[Any, Any] = {}
        for key, value in given.items():
            new = keys.get(key)
            if new is None:
                new = key
            elif new != key and _in(new, given):
                raise Misuse(f"key replacement {new} collides with a key in the input map", "ValueError")
            if _in(new, replaced):
                raise Misuse(f"key replacement {new} collides with a key in the output map", "ValueError")
            replaced[new] = values.get(value, value) if isinstance(value, str) else value
        return replaced

    def _map(self, value: Any) -> dict[Any, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Misuse(f'Incorrect arguments: to "{self.name}", arguments must be a list of maps. Example: '
                         f" {self._example()}", "TypeError")
        return value


class Filter(Function):
    """Removes values from a list."""

    __slots__ = ()
    form = "filter"
    first = (1,)

    def inspect(self) -> None:
        if not isinstance(self.args, list):
            raise Misuse(f'Argument to "{self.name}" must be a list')
        if len(self.args) != 2:
            raise Misuse(f'"{self.name}" expected 2 arguments of the form [values, sequence] but got'
                         f" {len(self.args)} arguments instead")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        unwanted, items = args
        if unwanted and not isinstance(unwanted, list):
            raise Misuse(f'"{self.name}" filters a list of values', "TypeError")
        if items and not isinstance(items, list):
            raise Misuse(f'"{self.name}" only works with lists', "TypeError")
        if not unwanted or not items:
            return items
        gone = ValueSet(scope)
        for each in unwanted:
            gone.add(each)
        return [item for item in items if item not in gone]


class Contains(Function):
    """Tests whether a sequence has a value, or a text a substring."""

    __slots__ = ()
    form = "contains"

    def inspect(self) -> None:
        if not self.args or not isinstance(self.args, list):
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: "{self.name}" :'
                         ' [ "value1", [ "value1", "value2"]]')
        if len(self.args) != 2:
            raise Misuse(f'Arguments to "{self.name}" must be of the form: [value1, [value1, value2]]')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        value, sequence = args
        if not isinstance(sequence, list | str):
            raise Misuse(f'Second argument to "{self.name}" should be a sequence.', "TypeError")
        if isinstance(sequence, str) and not isinstance(value, str):
            raise Misuse(f"'in <string>' requires string as left operand, not {type(value).__name__}", "TypeError")
        return value in sequence


class ListConcat(Function):
    """Joins lists; null ones are ignored."""

    __slots__ = ()
    form = "list_concat"

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, list):
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: "{self.name}" :'
                         " [ [ <value 1>, <value 2> ], [ <value 3>, <value 4> ] ]", "TypeError")
        items: list[Any] = []
        for each in args:
            if each is None:
                continue
            if not isinstance(each, list):
                raise Misuse("Incorrect arguments: Items to concat must be lists."
                             f" {json.dumps(args)[:200]} contains an item that is not a list: {json.dumps(each)[:200]}",
                             "TypeError")
            scope.budget.charge(len(each))
            items.extend(each)
        return self.made(items, scope)

    def made(self, items: list[Any], scope: Scope) -> list[Any]:
        return items


class ListConcatUnique(ListConcat):
    """Joins lists, and keeps the first of equal values."""

    __slots__ = ()
    form = "list_concat.unique"

    def made(self, items: list[Any], scope: Scope) -> list[Any]:
        seen = ValueSet(scope)
        unique = []
        for item in items:
            if item not in seen:
                seen.add(item)
                unique.append(item)
        return unique


class ValueSet:
    """A set of any plain values, by equality. Containers cannot be hashed: they are compared one by one, and charged."""

    def __init__(self, scope: Scope) -> None:
        self._scalars: set[Any] = set()
        self._containers: list[Any] = []
        self._scope = scope

    def add(self, value: Any) -> None:
        if isinstance(value, dict | list):
            self._containers.append(value)
        else:
            self._scalars.add(value)

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, dict | list):
            self._scope.budget.charge(len(self._containers))
            return value in self._containers
        return value in self._scalars


class MemberListToMap(Function):
    """Builds a map from the form of CloudFormation's requests: `.member.0.Name=key`, `.member.0.Value=value`."""

    __slots__ = ()
    form = "cfn.member_list_to_map"

    def inspect(self) -> None:
        if self.args is None:
            raise Misuse("cannot unpack non-iterable NoneType object")
        if isinstance(self.args, str) and len(self.args) == 3:
            self.args = list(self.args)
        if not isinstance(self.args, list) or len(self.args) != 3:
            raise Misuse('Wrong Arguments try: "\n'
                         f"            {{'{self.name}': ['Name', 'Value',\n"
                         "                                     ['.member.0.Name=key',\n"
                         "                                      '.member.0.Value=door']]}\n"
                         '            "')
        for what, value in zip(("Key", "Value"), self.args, strict=False):
            if not isinstance(value, str):
                raise Misuse(f"{self.name} {what} Name must be a string")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        key_name, value_name, items = args
        if not isinstance(items, list | str):
            raise Misuse("Member list must be a list", "TypeError")
        members: dict[str, dict[str, str]] = {}
        for number, item in enumerate(items):
            if not isinstance(item, str):
                raise Misuse("Member list items must be strings", "TypeError")
            name, equals, value = item.partition("=")
            if not equals:
                raise Misuse(f"dictionary update sequence element #{number} has length 1; 2 is required", "ValueError")
            parts = name.split(".")
            if len(parts) == 4 and parts[:2] == ["", "member"] and parts[2].isdigit():
                members.setdefault(parts[2], {})[parts[3]] = value
        return {each[key_name]: each[value_name] for each in members.values()
                if key_name in each and value_name in each}


class Select(Function):
    """Returns one item of a list or map, which may be given as JSON text; a missing item is an empty string."""

    __slots__ = ()
    form = "cfn.select"

    def inspect(self) -> None:
        self.args = pair(self, "[index, collection]")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        index, collection = args
        if isinstance(collection, str) and collection:
            collection = self._parsed(collection)
        if isinstance(collection, dict):
            if not isinstance(index, str):
                raise Misuse(f'Index to "{self.name}" must be a string', "TypeError")
            return collection.get(index, "")
        if isinstance(collection, list):
            return self._item(index, collection)
        if collection in (None, ""):
            return ""
        raise Misuse(f"Arguments to {self.name} not fully resolved", "ValueError")

    def _item(self, index: Any, items: list[Any]) -> Any:
        try:
            number = int(index)
        except (ValueError, TypeError, OverflowError):
            raise Misuse(f'Index to "{self.name}" must be an integer', "TypeError") from None
        try:
            return items[number]
        except IndexError:
            return ""

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise Misuse(f'"{self.name}": {exc}', "ValueError") from exc


def _in(key: Any, entries: dict[Any, Any]) -> bool:
    if isinstance(key, dict | list | Live):
        raise Misuse(f"unhashable type: '{type(key).__name__}'", "TypeError")
    return key in entries
