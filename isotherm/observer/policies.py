"""The drift policy of a resource, and how often it is observed. Pure.

The first of these that is set wins: the policy of the resource set through the API, its metadata
(`isotherm: {drift: repair}`), the policy of its stack; then for each outer stack, the policy of the resource that holds
the nested stack and the policy of that stack; then the settings.
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
    """Return the policy of a resource, in a stack with this policy and these overrides."""
    return of_resource(name, metadata, overrides) or stack


def of_resource(name: str, metadata: str, overrides: Mapping[str, int]) -> DriftPolicy | None:
    """Return the policy that was set for the resource itself, if any."""
    if name in overrides:
        return DriftPolicy(overrides[name])
    # Most metadata has no policy: searching the text is cheaper than decoding it.
    return _in_metadata(documents.decode_any(metadata)) if f'"{KEY}"' in metadata else None


def _in_metadata(metadata: Any) -> DriftPolicy | None:
    own = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    word = own.get(DRIFT) if isinstance(own, Mapping) else None
    return WORDS.get(word) if isinstance(word, str) else None


class Intervals:
    """The seconds between two observations of a resource, by type."""

    def __init__(self, settings: Settings) -> None:
        self._default = settings.observer_interval
        self._types = dict(_pair(one) for one in settings.observer_type_intervals)

    def of(self, type_: str, stack_s: float | None) -> float:
        """Return the interval of a type, in seconds. The interval of the stack, if set, comes first."""
        if stack_s is not None:
            return stack_s
        fits = [name for name in self._types if type_ == name or (name.endswith("*") and type_.startswith(name[:-1]))]
        return self._types[max(fits, key=len)] if fits else self._default

    def round(self, stack_s: float | None) -> float:
        """Return the seconds between two rounds through a stack: the shortest interval of all types."""
        return min([self._default, *self._types.values()]) if stack_s is None else stack_s


def _pair(option: str) -> tuple[str, float]:
    name, _, seconds = option.rpartition("=")
    try:
        return name.strip(), float(seconds)
    except ValueError:
        raise errors.UserError(f"observer_type_intervals: '{option}' is not TYPE=SECONDS.", kind="ValueError",
                               hint="For example: OS::Nova::Server=300, OS::Neutron::*=120") from None
