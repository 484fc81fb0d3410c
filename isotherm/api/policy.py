"""Who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from isotherm.api.caller import Caller


class Policy(Protocol):
    """Raises a fault of status 403 if the caller may not do what the rule stands for."""

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None: ...
