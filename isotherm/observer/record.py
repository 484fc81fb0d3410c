"""Records the findings of one stack: observations, one event when drift begins and one when it ends, and repair records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isotherm.config import Settings
from isotherm.observer import repair, watch_state
from isotherm.observer.observe import Finding
from isotherm.observer.watch_state import WatchState
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.records import Event
from isotherm.store.watch import observations, repair_records, resources
from isotherm.store.watch.goals import Need
from isotherm.store.watch.repair_records import Repair
from isotherm.store.watch.schedule import Watch


@dataclass(slots=True)
class Recorded:
    """The result of recording: resources to repair, and the names of those that were given up just now."""

    to_repair: list[Need] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    # Repair records that have changed, by name of the resource.
    repairs: dict[str, Repair] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    # By name, why resources may not be repaired.
    refused: Mapping[str, str] = field(default_factory=dict)


class DriftRecorder:
    """Records findings, and decides for each drifted resource whether it is repaired."""

    def __init__(self, settings: Settings) -> None:
        self._breaker = repair.Breaker(settings)

    def record(
        self, connection: Connection, watch: Watch, state: WatchState, findings: Sequence[Finding], now: float,
        failed: Sequence[Need] = (),
    ) -> Recorded:
        """Write the findings and return what is to be repaired.

        The caller has checked that the stack is as it was when it was observed. `failed` are the resources of the last
        repair, if it has failed: they count as drifted, whatever was observed.
        """
        known = self._write_observations(connection, findings, now)
        drifted = [*(one.need for one in known if one.drifted), *failed]
        recorded = Recorded(refused=repair.refused(connection, watch.stack_id, drifted))
        for finding in known:
            self._judge_finding(watch, state, finding, recorded, now)
        for need in failed:
            self._judge_failed_repair(watch, state, need, recorded, now)
        repair_records.write(connection, watch.stack_id, recorded.repairs.values())
        rows.insert_events(connection, recorded.events, now)
        return recorded

    def _write_observations(self, connection: Connection, findings: Sequence[Finding], now: float) -> list[Finding]:
        """Write what was observed, and return the findings that hold: observed, and newer than what was stored."""
        resources.same(connection, [one.target.id for one in findings if one.same],
                       min((one.observation.seen_at for one in findings), default=now))
        changed = [one for one in findings if not one.same]
        counted = observations.record(connection, [one.observation for one in changed])
        return [one for one in findings if one.drifted is not None and (one.same or one.target.id in counted)]

    def _judge_finding(self, watch: Watch, state: WatchState, finding: Finding, recorded: Recorded, now: float) -> None:
        before = state.repairs.get(finding.target.name)
        if before is None and not finding.drifted:
            return
        after = _copy(before or Repair(finding.target.name))
        self._breaker.forget_old_repairs(after, now)
        texts = []
        if finding.drifted and after.reported_at is None:
            after.reported_at = now
            texts.append(f"{repair_records.DRIFT_SEEN}{finding.describe()}{self._refusal(watch, state, finding, recorded)}")
        elif not finding.drifted and after.reported_at is not None:
            after.reported_at = None
            texts.append("Drift is gone")
        if finding.drifted:
            texts += self._choose(watch, state, finding.need, after, recorded, now, "something undoes the repairs")
        if texts or after != before:
            recorded.repairs[after.name] = after
        recorded.events += [_event(watch, finding.need, text) for text in texts]

    def _refusal(self, watch: Watch, state: WatchState, finding: Finding, recorded: Recorded) -> str:
        """Return what the event adds where the policy asks for a repair and a protection forbids it."""
        reason = recorded.refused.get(finding.target.name)
        return f". Not repaired: {reason}" if reason and watch_state.wants_repair(watch, state, finding.need) else ""

    def _judge_failed_repair(self, watch: Watch, state: WatchState, need: Need, recorded: Recorded, now: float) -> None:
        before = recorded.repairs.get(need.name) or state.repairs.get(need.name)
        if before is None or any(one.name == need.name for one in recorded.to_repair):
            return
        after = _copy(before)
        self._breaker.forget_old_repairs(after, now)
        texts = self._choose(watch, state, need, after, recorded, now, "it fails")
        recorded.repairs[after.name] = after
        recorded.events += [_event(watch, need, text) for text in texts]

    def _choose(  # noqa: PLR0913 - one resource: its stack, its record, and where the decision is kept
        self, watch: Watch, state: WatchState, need: Need, record: Repair, recorded: Recorded, now: float, why: str
    ) -> list[str]:
        """Decide whether the resource is repaired, and return the texts of events about that."""
        if need.name in recorded.refused:
            return []
        choice = self._breaker.choose(watch, state, need, record)
        if choice is repair.RepairChoice.REPAIR:
            recorded.to_repair.append(need)
        if choice is not repair.RepairChoice.GIVE_UP:
            return []
        record.tripped_at = now
        recorded.given_up.append(record.name)
        return [self._breaker.explain_giving_up(record, why)]


def _copy(one: Repair) -> Repair:
    return Repair(one.name, one.reported_at, one.rounds, one.since, one.last_at, one.tripped_at)


def _event(watch: Watch, need: Need, text: str) -> Event:
    return repair_records.event(watch.stack_id, watch.operation_id, need.name, need.type, need.physical_id, text)
