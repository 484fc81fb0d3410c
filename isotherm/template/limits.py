"""Limits on the size of a template, as written and as evaluated.

A small text can expand to a huge value (aliases, `repeat`, doubling `str_replace`), so sizes are counted during the
expansion. `Limits` are the bounds, `Budget` is the remainder during one evaluation. Counting instead of reading a clock
keeps this package pure, and gives the same answer on a slow machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from isotherm import errors


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one template. Characters count 1 each, so do numbers and containers."""

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 100
    max_nodes: int = 20_000_000
    max_alias_nodes: int = 500_000
    max_entries: int = 5_000  # of parameters, conditions and outputs, each
    max_name_chars: int = 255
    max_value: int = 4_000_000  # one evaluated function
    max_evaluated: int = 128_000_000  # all evaluated functions of a template
    yaql_iterations: int = 200
    yaql_memory_bytes: int = 10_000
    yaql_steps: int = 10_000


DEFAULT = Limits()


def exceeded(what: str, limit: int) -> errors.UserError:
    return errors.UserError(f"Request limit exceeded: {what} (limit: {limit})", kind="RequestLimitExceeded")


class Budget:
    """The remaining size of the values that one evaluation may produce."""

    __slots__ = ("_shared", "left", "limits")

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.limits = limits
        self.left = limits.max_evaluated
        self._shared: dict[int, tuple[object, int]] = {}

    def charge(self, size: int) -> None:
        """Charge for a value. Call this before making a big one."""
        if size > self.limits.max_value:
            raise exceeded("evaluated value is too large", self.limits.max_value)
        self.left -= size
        if self.left < 0:
            raise exceeded("evaluated template is too large", self.limits.max_evaluated)

    def work(self, amount: int) -> None:
        """Charge for effort that produces no value."""
        self.left -= amount
        if self.left < 0:
            raise exceeded("evaluation takes too much work", self.limits.max_evaluated)

    def charge_shared(self, value: object) -> None:
        """Charge for one more use of an existing value; a container is measured once."""
        if isinstance(value, str):
            self.charge(len(value))
        elif isinstance(value, dict | list):
            known = self._shared.get(id(value))
            if known is None:
                known = self._shared[id(value)] = (value, self.measure(value))
            self.charge(known[1])

    def measure(self, value: object) -> int:
        """Return the size of a value, counted as a tree; stop as soon as it exceeds the budget."""
        size = 0
        stack = [value]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                size += len(item)
            elif isinstance(item, dict):
                stack.extend(item.values())
                stack.extend(item)
            elif isinstance(item, list):
                stack.extend(item)
            size += 1
            if size > self.limits.max_value:
                raise exceeded("evaluated value is too large", self.limits.max_value)
        return size
