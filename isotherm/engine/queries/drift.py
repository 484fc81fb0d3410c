"""Views of drift: the wanted, the last applied and the live value of each property, and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.engine.queries import views
from isotherm.observer import policies
from isotherm.observer.watch_state import WatchState
from isotherm.planning import documents
from isotherm.states import DriftPolicy, ObservationResult
from isotherm.store.watch.schedule import Watch

NEVER, IN_SYNC, DRIFTED, GONE, UNSEEN = "never_seen", "in_sync", "drifted", "gone", "unseen"


def resource(row: Mapping[str, Any], watch: Watch | None, standing: WatchState, refused: str = "") -> dict[str, Any]:
    """Return the view of a resource. `refused`: why it may not be repaired, if a protection forbids that."""
    policy = policies.of(row["name"], row["metadata"], {} if watch is None else watch.overrides, standing.policy)
    return {
        "resource_name": row["name"], "resource_type": row["type"], "physical_resource_id": row["physical_id"],
        "drift": _word(row), "reason": row["reason"] or "", "observed_time": views.time(row["seen_at"]),
        "drifted_since": views.time(row["drifted_since"]), "policy": policy.name.lower(),
        "repairs": row["rounds"] or 0, "repaired_time": views.time(row["last_at"]),
        "given_up_since": views.time(row["tripped_at"]),
        "not_repaired": refused if policy is DriftPolicy.REPAIR else "",
        "properties": properties(row),
    }


def properties(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the views of the drifted properties of a resource."""
    return [_property(one, pending=bool(row["pending"])) for one in documents.decode_any(row["drift"])]


def _word(row: Mapping[str, Any]) -> str:
    if row["result"] is None:
        return NEVER
    if row["result"] == ObservationResult.GONE:
        return GONE
    if row["result"] == ObservationResult.UNSEEN:
        return UNSEEN
    return DRIFTED if row["drifted_since"] is not None else IN_SYNC


def _property(one: Mapping[str, Any], *, pending: bool) -> dict[str, Any]:
    """Return the view of a drifted property. While a change is pending, the wanted value is unknown here."""
    wanted = None if pending else one["wanted"]
    return {"property": one["property"], "wanted": wanted, "applied": one["applied"], "live": one["live"],
            "change_pending": pending}


def stack(
    named: tuple[str, str], watch: Watch | None, standing: WatchState, times: tuple[float | None, float | None],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    state = DRIFTED if counts["drifted"] or counts["gone"] else IN_SYNC if counts["in_sync"] else NEVER
    return {
        "stack_id": named[0], "stack_name": named[1], "drift": UNSEEN if state == NEVER and counts["unseen"] else state,
        "policy": standing.policy.name.lower(), "mode": standing.mode.name.lower(),
        "interval": None if watch is None else watch.interval_s, "observed_time": views.time(times[0]),
        "next_time": views.time(times[1]), "counts": dict(counts),
        "given_up": sorted(one.name for one in standing.repairs.values() if one.tripped_at is not None),
    }
