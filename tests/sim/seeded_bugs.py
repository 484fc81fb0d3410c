"""The list of seeded bugs, and helpers that change a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]


class Bugs(dict[str, Bug]):
    """By name."""

    def add(self, apply: Bug) -> Bug:
        self[apply.__name__] = apply
        return apply


def nothing(*_arguments: Any, **_named: Any) -> None:
    return None


def wrapped(patch: Patch, owner: Any, name: str, around: Callable[..., Any]) -> None:
    """`around` gets the original and its arguments."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *arguments, **named: around(original, *arguments, **named))
