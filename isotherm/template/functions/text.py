"""Functions that return text."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

from isotherm.template.functions.node import Function, Live, Misuse, Scope


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError) as exc:
        raise Misuse(str(exc), type(exc).__name__) from exc


class Join(Function):
    """Joins a list of strings with a delimiter."""

    __slots__ = ()
    form = "list_join"
    first = tuple(range(1, 100))
    lists = ""

    def inspect(self) -> None:
        args = self.args
        if not isinstance(args, list) or len(args) < 2 or (len(args) > 2 and not self.lists):
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: "{self.name}" : [ " ", [ "str1", "str2"]'
                         f"{self.lists}]")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        delimiter, *lists = args
        items: list[str] = []
        for each in lists:
            if each is None:
                continue
            if not isinstance(each, list):
                raise Misuse(f'"{self.name}" must operate on a list', "TypeError")
            items.extend(self.item(item, scope) for item in each)
        if not isinstance(delimiter, str):
            raise Misuse(f'"{self.name}" delimiter must be a string', "TypeError")
        scope.budget.charge(sum(map(len, items)) + len(delimiter) * len(items))
        return delimiter.join(items)

    def item(self, item: Any, scope: Scope) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        raise Misuse(f"Items to join must be strings not {_brief(item)}", "TypeError")


class CfnJoin(Join):
    __slots__ = ()
    form = "cfn.join"


class JoinMultiple(Join):
    """Joins several lists; maps and lists among the items are written as JSON."""

    __slots__ = ()
    form = "list_join.multiple"
    lists = " ..."

    def item(self, item: Any, scope: Scope) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if isinstance(item, dict | list):
            scope.budget.charge(scope.budget.measure(item))
            return as_json(item)
        raise Misuse(f"Items to join must be string, map or list not {_brief(item)}", "TypeError")


class Replace(Function):
    """Replaces names in a text by values: longest name first, and never inside an inserted value."""

    __slots__ = ()
    form = "str_replace"
    first: ClassVar[tuple[object, ...]] = ("template",)

    def inspect(self) -> None:
        if not isinstance(self.args, dict):
            raise Misuse(f'Arguments to "{self.name}" must be a map')
        if "template" not in self.args or "params" not in self.args:
            raise Misuse(repr(f'"{self.name}" syntax should be {self.name}:\n'
                              "              template: This is var1 template var2\n"
                              "              params:\n"
                              "                var1: a\n"
                              "                var2: string"))
        if not isinstance(self.args["params"], dict) and not isinstance(self.args["params"], Live):
            raise Misuse(f'"{self.name}" parameters must be a mapping')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return self.replaced(args["template"], args["params"], scope)

    def replaced(self, template: Any, params: Any, scope: Scope) -> str:
        if not isinstance(template, str):
            raise Misuse(f'"{self.name}" template must be a string', "TypeError")
        if not isinstance(params, dict):
            raise Misuse(f'"{self.name}" params must be a map', "TypeError")
        # In the order of replacement: Heat reports the first wrong one in this order.
        ordered = sorted(params, key=lambda name: (-len(str(name)), str(name)))
        values = {str(name): self.value(name, params[name], scope) for name in ordered}
        if "" in values:
            raise Misuse("empty separator", "ValueError")
        # Searching many names in a long text is charged too, even where none is found.
        scope.budget.charge(len(template) * len(values) // 64)
        text, found = _substitute(template, values, scope)
        self.judge(values, found)
        return text

    def value(self, name: Any, value: Any, scope: Scope) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return str(value)
        raise Misuse(f'"{self.name}" params must be strings or numbers, param {name} is not valid', "TypeError")

    def judge(self, values: dict[str, str], found: set[str]) -> None:
        """Check the names that occurred; here a name may be missing."""


class CfnReplace(Replace):
    """CloudFormation's form: a map and a text."""

    __slots__ = ()
    form = "cfn.replace"
    first = (1,)

    def inspect(self) -> None:
        if self.args is None:
            raise Misuse("cannot unpack non-iterable NoneType object")
        if not isinstance(self.args, list) or len(self.args) != 2:
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: {{"{self.name}": '
                         '[ {"$var1": "foo", "%var2%": "bar"}, "$var1 is %var2%"]}')
        if not isinstance(self.args[0], dict | Live):
            raise Misuse(f'"{self.name}" parameters must be a mapping')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        return self.replaced(args[1], args[0], scope)


class ReplaceJson(Replace):
    """Replaces names; maps and lists among the values are written as JSON."""

    __slots__ = ()
    form = "str_replace.json"

    def value(self, name: Any, value: Any, scope: Scope) -> str:
        if isinstance(value, dict | list):
            scope.budget.charge(scope.budget.measure(value))
            return as_json(value)
        return super().value(name, value, scope)


class ReplaceStrict(ReplaceJson):
    """Replaces names, each of which has to occur."""

    __slots__ = ()
    form = "str_replace.strict"

    def judge(self, values: dict[str, str], found: set[str]) -> None:
        absent = sorted(name for name in values if name not in found)
        if absent:
            raise Misuse(f"The following params were not found in the template: {','.join(absent)}", "ValueError")


class ReplaceVeryStrict(ReplaceStrict):
    """Replaces names, each of which has to occur and to have a value that is not empty."""

    __slots__ = ()
    form = "str_replace.very_strict"

    def value(self, name: Any, value: Any, scope: Scope) -> str:
        if value is None or (isinstance(value, str | dict | list) and not value):
            raise Misuse(f"{self.name} has an undefined or empty value for param {name},"
                         " must be a defined non-empty value", "ValueError")
        return super().value(name, value, scope)


class Split(Function):
    """Splits a text at a delimiter, or returns one of the pieces."""

    __slots__ = ()
    form = "str_split"

    def _usage(self, what: str) -> str:
        return f'Incorrect {what} to "{self.name}" should be: "{self.name}" : [ ",", "apples,pears", <index>]'

    def inspect(self) -> None:
        if isinstance(self.args, str | dict):
            raise Misuse(self._usage("arguments"))

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, list) or len(args) < 2:
            raise Misuse(self._usage("arguments"), "ValueError")
        delimiter, text = args[0], args[1]
        if text is None:
            return None
        if not isinstance(text, str):
            raise Misuse(f"'{type(text).__name__}' object has no attribute 'split'", "AttributeError")
        pieces = _cut(text, delimiter, scope)
        return self._piece(pieces, args[2]) if len(args) > 2 else pieces

    def _piece(self, pieces: list[str], index: Any) -> str:
        if not isinstance(index, str | int | float):
            raise Misuse("int() argument must be a string, a bytes-like object or a real number, not"
                         f" '{type(index).__name__}'", "TypeError")
        try:
            return pieces[int(index)]
        except (ValueError, OverflowError):
            raise Misuse(self._usage("index"), "ValueError") from None
        except IndexError:
            raise Misuse(f'Incorrect index to "{self.name}" should be between 0 and {len(pieces) - 1}',
                         "ValueError") from None


class CfnSplit(Function):
    __slots__ = ()
    form = "cfn.split"

    def inspect(self) -> None:
        if self.args is None:
            raise Misuse("cannot unpack non-iterable NoneType object")
        if not isinstance(self.args, list) or len(self.args) != 2:
            raise Misuse(f'Incorrect arguments to "{self.name}" should be: "{self.name}" : [ ",", "str1,str2"]]')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        delimiter, text = args
        if not isinstance(text, str):
            raise Misuse(f"String to split must be string; got {type(text)}", "TypeError")
        if not isinstance(delimiter, str):
            raise Misuse(f"Delimiter for {self.name} must be string", "TypeError")
        return _cut(text, delimiter, scope)


class Digest(Function):
    """Returns the digest of a text by a named algorithm."""

    __slots__ = ()
    form = "digest"

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
            raise Misuse(f'Argument to function "{self.name}" must be a list of strings', "TypeError")
        if len(args) != 2:
            raise Misuse(f'Function "{self.name}" usage: ["<algorithm>", "<value>"]', "ValueError")
        algorithm, text = args
        if algorithm.lower() not in hashlib.algorithms_available:
            known = ", ".join(sorted(hashlib.algorithms_available))
            raise Misuse(f"Algorithm must be one of {known}", "ValueError")
        try:
            # Templates use digests for names and change detection, not for security.
            return hashlib.new(algorithm.lower(), text.encode("latin-1"), usedforsecurity=False).hexdigest()
        except (ValueError, TypeError) as exc:
            raise Misuse(str(exc), type(exc).__name__) from exc


class Base64(Function):
    """Returns the text unchanged: resource types encode it where they need to."""

    __slots__ = ()
    form = "cfn.base64"

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, str):
            raise Misuse(f'"{self.name}" argument must be a string', "TypeError")
        return args


def _cut(text: str, delimiter: Any, scope: Scope) -> list[str]:
    if delimiter is not None and not isinstance(delimiter, str):
        raise Misuse(f"must be str or None, not {type(delimiter).__name__}", "TypeError")
    if delimiter == "":
        raise Misuse("empty separator", "ValueError")
    scope.budget.charge(2 * len(text))
    return text.split(delimiter)


def _substitute(template: str, values: dict[str, str], scope: Scope) -> tuple[str, set[str]]:
    """Return the text with all names replaced, and the names that occurred."""
    names = sorted((name for name in values if name in template), key=lambda name: (-len(name), name))
    pieces: list[tuple[str, bool]] = [(template, False)]  # text, and whether it is an inserted value
    found: set[str] = set()
    for name in names:
        cut: list[tuple[str, bool]] = []
        for text, is_value in pieces:
            if is_value or name not in text:
                cut.append((text, is_value))
                continue
            found.add(name)
            for part in text.split(name):
                cut.append((part, False))
                cut.append((values[name], True))
            cut.pop()
        pieces = cut
        scope.budget.charge(len(pieces))
    scope.budget.charge(sum(len(text) for text, _ in pieces))
    return "".join(text for text, _ in pieces), found


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:200] + "..."
