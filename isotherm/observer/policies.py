"""What is to be done about a resource, and how often it is looked at. Pure.

What was said through the API of one resource comes first, then its own metadata (`isotherm: {drift: repair}`), then the
stack; then, of each stack around it, what was said of the resource that it is there, and of that stack; then the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.planning import documents
from isotherm.states import DriftPolicy

KEY, DRIFT = "isotherm", "drift"
WORDS = {policy.name.lower(): policy for policy in DriftPolicy}


def of(name: str, metadata: str, overrides: Mapping[str, int], stack: DriftPolicy) -> DriftPolicy:
    """The policy for a resource with this metadata, in a stack with these."""
    return said(name, metadata, overrides) or stack


def said(name: str, metadata: str, overrides: Mapping[str, int]) -> DriftPolicy | None:
    """What was said of the resource alone."""
    if name in overrides:
        return DriftPolicy(overrides[name])
    # Most metadata says nothing about it, and need not be read.
    return _in_metadata(documents.decode_any(metadata)) if f'"{KEY}"' in metadata else None


def _in_metadata(metadata: Any) -> DriftPolicy | None:
    told = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    word = told.get(DRIFT) if isinstance(told, Mapping) else None
    return WORDS.get(word) if isinstance(word, str) else None


class Intervals:
    """How often a resource is looked at."""

    def __init__(self, settings: Settings) -> None:
        self._else = settings.observer_interval
        self._types = dict(_pair(one) for one in settings.observer_type_intervals)

    def of(self, type_: str, stack_s: float | None) -> float:
        """In seconds. What was said of the stack comes first."""
        if stack_s is not None:
            return stack_s
        fits = [name for name in self._types if type_ == name or (name.endswith("*") and type_.startswith(name[:-1]))]
        return self._types[max(fits, key=len)] if fits else self._else

    def round(self, stack_s: float | None) -> float:
        """How often a stack has its turn."""
        return min([self._else, *self._types.values()]) if stack_s is None else stack_s


def _pair(told: str) -> tuple[str, float]:
    name, _, seconds = told.rpartition("=")
    try:
        return name.strip(), float(seconds)
    except ValueError:
        raise errors.UserError(f"observer_type_intervals: '{told}' is not TYPE=SECONDS.", kind="ValueError",
                               hint="For example: OS::Nova::Server=300, OS::Neutron::*=120") from None
