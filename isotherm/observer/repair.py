"""Decides which drifted resources are repaired, and writes what goes with an accepted repair.

Each resource has a breaker: if it was repaired `observer_repair_limit` times within `observer_repair_window`, something
else keeps changing it. The resource is then left alone until `observer_repair_rest` has passed or a user resets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.observer import watch_state
from isotherm.observer.watch_state import WatchState
from isotherm.store.database.writer import Connection
from isotherm.store.versions import protection
from isotherm.store.watch import repair_records, schedule
from isotherm.store.watch.goals import Goal, Need
from isotherm.store.watch.repair_records import Repair
from isotherm.store.watch.schedule import Watch


class RepairChoice(Enum):
    """The decision on one drifted resource."""

    LEAVE = "leave"
    REPAIR = "repair"
    GIVE_UP = "give up"


class Breaker:
    """Decides on repairs by policy, mode and the number of earlier repairs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def forget_old_repairs(self, repair: Repair, now: float) -> None:
        """Reset the count of a record whose window, or whose rest after giving up, has passed."""
        if repair.tripped_at is None:
            if repair.since is not None and now - repair.since > self._settings.observer_repair_window:
                repair.rounds, repair.since = 0, None
        elif self._settings.observer_repair_rest and now - repair.tripped_at > self._settings.observer_repair_rest:
            repair.rounds, repair.since, repair.tripped_at = 0, None, None

    def choose(self, watch: Watch, state: WatchState, need: Need, repair: Repair) -> RepairChoice:
        """Decide whether a drifted resource is repaired now, left alone, or given up."""
        if repair.tripped_at is not None or not watch_state.wants_repair(watch, state, need):
            return RepairChoice.LEAVE
        return RepairChoice.REPAIR if repair.rounds < self._settings.observer_repair_limit else RepairChoice.GIVE_UP

    def explain_giving_up(self, repair: Repair, why: str) -> str:
        """Return the text of the event."""
        return (f"{repair_records.GIVEN_UP}it was repaired {repair.rounds} times within "
                f"{self._settings.observer_repair_window:g} seconds, and {why}")


def refused(connection: Connection, stack_id: str, needs: Iterable[Need]) -> dict[str, str]:
    """Return why these resources of a stack may not be repaired, by name: they are protected from any change."""
    many = list(needs)
    return protection.refused_repairs(connection, stack_id, [one.name for one in many if not one.gone],
                                      [one.name for one in many if one.gone])


def counted(repairs: Mapping[str, Repair], names: Sequence[str], now: float) -> list[Repair]:
    """Return the records of these resources after one more repair."""
    found = []
    for name in names:
        one = repairs.get(name) or Repair(name, reported_at=now)
        found.append(Repair(name, one.reported_at, one.rounds + 1, one.since or now, now, one.tripped_at))
    return found


@dataclass(frozen=True, slots=True)
class PlannedRepair:
    """A repair that an observer asks for: one ordinary update of the stack that `goal` names.

    `next_turn` are the columns with which the watch of the stack goes on.
    """

    goal: Goal
    watch: Watch
    observer: str
    needs: Sequence[Need]
    next_turn: Mapping[str, Any]
    settings: Settings

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.needs]

    def record_acceptance(self, connection: Connection, operation_id: str, now: float) -> None:
        """Count the repair and give the watch back, in the transaction that accepts the update.

        Raises Superseded if another observer has the stack now, or if it is no longer to be repaired.
        """
        stack_id, names = self.watch.stack_id, self.names
        if not schedule.is_held(connection, self.watch, self.observer):
            raise errors.Superseded("another observer has this stack now")
        self._expect_still_wanted(connection, now)
        repairs = repair_records.of_stack(connection, stack_id)
        repair_records.write(connection, stack_id, counted(repairs, names, now))
        schedule.give_back(connection, self.watch, self.observer, **{**self.next_turn, "due": now})
        schedule.mark_repair(connection, {stack_id, self.goal.stack_id}, operation_id)
        schedule.hint(connection, stack_id, names, now)

    def _expect_still_wanted(self, connection: Connection, now: float) -> None:
        # Since the decision the project, or an outer stack, may have been paused, or a resource protected.
        watch = schedule.one(connection, self.watch.stack_id, now)
        state = watch_state.read(connection, watch, self.settings)
        if not all(watch_state.wants_repair(watch, state, one) for one in self.needs):
            raise errors.Superseded("how the stack is watched has changed")
        for reason in refused(connection, self.watch.stack_id, self.needs).values():
            raise errors.Superseded(reason)
