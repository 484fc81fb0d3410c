"""Every property that can be read is changed behind the engine's back: it is seen, and repaired in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from isotherm.resources.reality import drift
from tests import drift_changes, outsider
from tests.clouds import CloudProject
from tests.drift_changes import CHANGES, RESOURCES, UNCHANGED
from tests.outsider import Outsider, seen

Run = Callable[..., str]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Return the names of the properties that the observer reads from here on, by type."""
    found: dict[str, set[str]] = {}
    compare = drift.compare

    def recorded(type_: Any, applied: Any, seen: Any, wanted: Any = None) -> Any:
        found.setdefault(type_.TYPE, set()).update(seen.properties)
        return compare(type_, applied, seen, wanted)

    monkeypatch.setattr(drift, "compare", recorded)
    return found


@pytest.mark.long
def test_every_property_is_seen_and_repaired(
    run: Run, cloud_project: CloudProject, around: dict[str, str], read: dict[str, set[str]]
) -> None:
    run("deploy", "s", "--parameter", f"policy={around['policy']}", template=drift_changes.TEMPLATE)
    made = outsider.ids(run)
    other = Outsider(cloud_project, {**around, **made})
    assert seen(run) == {}
    network: Any = cloud_project.sdk.network
    for name, address in (("third", "10.9.0.71"), ("fourth", "10.9.0.72")):
        port = network.create_port(network_id=made["net"], name=name, fixed_ips=[{"ip_address": address}])
        other.ids[name] = port.id
    wanted: dict[str, set[str]] = {}
    for change in CHANGES:
        other.change(change)
        if change.properties:
            wanted.setdefault(change.resource, set()).update(change.properties.split())
    assert seen(run) == wanted

    run("converge", "s")
    assert seen(run) == {}
    assert outsider.ids(run) == made, "repaired by another object"
    for name in ("third", "fourth"):
        network.delete_port(other.ids[name])
    changed: dict[str, set[str]] = {}
    for name, properties in wanted.items():
        changed.setdefault(RESOURCES[name]["type"], set()).update(properties)
    left = {kind: sorted(names - changed.get(kind, set()) - UNCHANGED.keys()) for kind, names in read.items()}
    assert {kind: names for kind, names in left.items() if names} == {}, "read, and not changed by the test"
    run("delete", "s", "--yes")
