"""Records which test exercises which feature of a client, so that none is left out.

A test says beforehand what it exercises, and fails if it did not do so. Tests of completeness compare what all tests say
with what the client itself says that it has. This holds in every process that runs tests.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])
MARK = "exercises"


def exercises(*names: str) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        setattr(test, MARK, frozenset(names))
        return test

    return mark


def promised(test: Callable[..., Any]) -> frozenset[str]:
    found: frozenset[str] = getattr(test, MARK, frozenset())
    return found


def all_of(*modules: ModuleType) -> set[str]:
    return {name for module in modules for test in vars(module).values() for name in promised(test)}
