"""`yaql`: an expression over data.

Few templates have one, and yaql takes longer to import than the rest of the language: it is loaded with the first
expression.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from isotherm import loading
from isotherm.template.functions.node import Judged, Live, Misuse, Scope


@cache
def _sandbox() -> Any:
    return loading.load("isotherm.template.functions.sandbox")


class Yaql(Judged):
    __slots__ = ()
    form = "yaql"

    def inspect(self) -> None:
        if not isinstance(self.args, dict):
            raise Misuse(f'Arguments to "{self.name}" must be a map.')
        if "expression" not in self.args or set(self.args) - {"expression", "data"}:
            raise Misuse(repr(f'"{self.name}" syntax should be {self.name}:\n'
                              "              expression: $.data.var1.sum()\n"
                              "              data:\n"
                              "                var1: [3, 2, 1]"))

    def judge(self, args: Any) -> None:
        expression = args["expression"]
        if not isinstance(expression, Live):
            self._parse(expression)

    def evaluate(self, args: Any, scope: Scope) -> Any:
        expression = args["expression"]
        self._parse(expression)
        data = args.get("data", {})
        scope.budget.charge_shared(data)
        try:
            return _sandbox().evaluate(expression, data, scope.budget)
        except _sandbox().Refused as exc:
            raise Misuse(str(exc), exc.kind) from exc

    def _parse(self, text: Any) -> None:
        if not isinstance(text, str):
            raise Misuse(f'The "expression" argument to {self.name} must contain a string.', "TypeError")
        try:
            _sandbox().parse(text)
        except _sandbox().Refused as exc:
            raise Misuse(f"Bad expression {exc}.", "ValueError") from exc
