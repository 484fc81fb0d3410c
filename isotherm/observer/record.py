"""What follows from a look: it is kept, it is told once when drift begins and once when it ends, and some is mended.

A breaker for each resource: when it was repaired so often within the window, somebody else is taken to be at work on it.
Then it is told, and left alone until it has rested, or until somebody says that it may be repaired again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isotherm.config import Settings
from isotherm.observer import policies
from isotherm.observer.observe import Finding
from isotherm.states import DriftPolicy, WatchMode
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.records import Event
from isotherm.store.watch import inherited, observations, repair_records, resources
from isotherm.store.watch.goals import Need
from isotherm.store.watch.repair_records import Repair
from isotherm.store.watch.schedule import Watch


@dataclass(frozen=True, slots=True)
class WatchState:
    """What holds for the resources of a stack at the moment."""

    policy: DriftPolicy
    mode: WatchMode
    repairs: Mapping[str, Repair]


def watch_state(connection: Connection, watch: Watch, settings: Settings) -> WatchState:
    policy, mode = watch.policy, watch.mode
    for one in inherited.stacks(connection, watch):
        mode = max(mode, one.mode)
        policy = policy or policies.said(one.name, one.metadata, one.overrides) or one.policy
    return WatchState(policy or policies.WORDS[settings.observer_policy], mode,
                    repair_records.of_stack(connection, watch.stack_id))


@dataclass(slots=True)
class Result:
    """What a look led to: what is to be repaired, and what has just been given up."""

    to_repair: list[Need] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)


class DriftRecorder:
    """Keeps what was seen, and decides what follows."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(
        self, connection: Connection, watch: Watch, standing: WatchState, looks: Sequence[Finding], now: float,
        failed: Sequence[Need] = (),
    ) -> Result:
        """One unit of work; the caller has checked that the stack is still as it was when it was looked at.

        `failed` is what was repaired last, if that has failed: it counts as drifted, whatever it looks like.
        """
        resources.same(connection, [one.target.id for one in looks if one.same],
                          min((one.observation.seen_at for one in looks), default=now))
        changed = [one for one in looks if not one.same]
        counted = observations.record(connection, [one.observation for one in changed])
        known = [one for one in looks if one.drifted is not None and (one.same or one.target.id in counted)]
        result, touched, events = Result(), {}, []
        for look in known:
            before = standing.repairs.get(look.target.name)
            if before is None and not look.drifted:
                continue
            after, words = self._judge(watch, standing, look, before or Repair(look.target.name), result, now)
            if words or after != before:
                touched[after.name] = after
            events += [_event(watch, look.need, text) for text in words]
        for need in failed:
            before = touched.get(need.name) or standing.repairs.get(need.name)
            if before is None or any(one.name == need.name for one in result.to_repair):
                continue
            one, words = _copy(before), []
            self._rest(one, now)
            self._mend(watch, standing, need, one, result, words, now, "it fails")
            touched[one.name] = one
            events += [_event(watch, need, text) for text in words]
        repair_records.write(connection, watch.stack_id, touched.values())
        rows.insert_events(connection, events, now)
        return result

    def _judge(
        self, watch: Watch, standing: WatchState, look: Finding, before: Repair, result: Result, now: float
    ) -> tuple[Repair, list[str]]:
        one, words = _copy(before), []
        self._rest(one, now)
        if not look.drifted:
            if one.told_at is not None:
                one.told_at = None
                words.append("Drift is gone")
            return one, words
        if one.told_at is None:
            one.told_at = now
            words.append(f"Drift seen: {look.told()}")
        self._mend(watch, standing, look.need, one, result, words, now, "somebody undoes it")
        return one, words

    def _mend(  # noqa: PLR0913 - what is known of one resource, and what follows from it
        self, watch: Watch, standing: WatchState, need: Need, one: Repair, result: Result, words: list[str], now: float,
        why_not: str,
    ) -> None:
        """Have it repaired, unless that is in vain."""
        if one.tripped_at is not None or not is_to_repair(watch, standing, need):
            return
        if one.rounds < self._settings.observer_repair_limit:
            result.to_repair.append(need)
            return
        one.tripped_at = now
        result.given_up.append(one.name)
        words.append(f"Repair given up: it was repaired {one.rounds} times within "
                     f"{self._settings.observer_repair_window:g} seconds, and {why_not}")

    def _rest(self, one: Repair, now: float) -> None:
        """What was long ago does not count any more."""
        if one.tripped_at is None:
            if one.since is not None and now - one.since > self._settings.observer_repair_window:
                one.rounds, one.since = 0, None
        elif self._settings.observer_repair_rest and now - one.tripped_at > self._settings.observer_repair_rest:
            one.rounds, one.since, one.tripped_at = 0, None, None

    @staticmethod
    def count(repairs: Mapping[str, Repair], names: Sequence[str], now: float) -> list[Repair]:
        """The same, once these have been repaired once more."""
        counted = []
        for name in names:
            one = repairs.get(name) or Repair(name, told_at=now)
            counted.append(Repair(name, one.told_at, one.rounds + 1, one.since or now, now, one.tripped_at))
        return counted


def is_to_repair(watch: Watch, standing: WatchState, need: Need) -> bool:
    if standing.mode is not WatchMode.ACTIVE or need.external:
        return False
    return policies.of(need.name, need.metadata, watch.overrides, standing.policy) is DriftPolicy.REPAIR


def _copy(one: Repair) -> Repair:
    return Repair(one.name, one.told_at, one.rounds, one.since, one.last_at, one.tripped_at)


def _event(watch: Watch, need: Need, text: str) -> Event:
    return repair_records.event(watch.stack_id, watch.operation_id, need.name, need.type, need.physical_id, text)
