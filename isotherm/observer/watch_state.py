"""The policy, mode and repair records of a stack, with the settings that it inherits from the stacks that contain it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isotherm.config import Settings
from isotherm.observer import policies
from isotherm.states import DriftPolicy, WatchMode
from isotherm.store.database.writer import Connection
from isotherm.store.watch import inherited, repair_records
from isotherm.store.watch.goals import Need
from isotherm.store.watch.repair_records import Repair
from isotherm.store.watch.schedule import Watch


@dataclass(frozen=True, slots=True)
class WatchState:
    """The policy and mode of a stack, and the repair records of its resources by name."""

    policy: DriftPolicy
    mode: WatchMode
    repairs: Mapping[str, Repair]


def read(connection: Connection, watch: Watch, settings: Settings) -> WatchState:
    """Return the state of a watched stack. The nearest policy wins; the most restrictive mode of all stacks holds."""
    policy, mode = watch.policy, watch.mode
    for one in inherited.stacks(connection, watch):
        mode = max(mode, one.mode)
        policy = policy or policies.of_resource(one.name, one.metadata, one.overrides) or one.policy
    return WatchState(policy or policies.WORDS[settings.observer_policy], mode,
                      repair_records.of_stack(connection, watch.stack_id))


def wants_repair(watch: Watch, state: WatchState, need: Need) -> bool:
    """Return whether drift of this resource is to be repaired, by mode and policy."""
    if state.mode is not WatchMode.ACTIVE or need.external:
        return False
    return policies.of(need.name, need.metadata, watch.overrides, state.policy) is DriftPolicy.REPAIR
