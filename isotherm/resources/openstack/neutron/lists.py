"""Lists of maps whose order Neutron does not keep, such as addresses and rules: sent, and compared with live ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SUBNET, SUBNET_ID = "subnet", "subnet_id"


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map without the keys that have no value."""
    return {name: one for name, one in value.items() if one is not None}


def addresses_to_wire(value: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return fixed addresses as Neutron takes them."""
    return [{(SUBNET_ID if name == SUBNET else name): one for name, one in without_nulls(address).items()}
            for address in value]


def addresses_from_wire(value: Iterable[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return Neutron's fixed addresses as the property has them."""
    return [{SUBNET: one.get(SUBNET_ID), "ip_address": one.get("ip_address")} for one in value or ()]


def in_order_of(wanted: Sequence[Mapping[str, Any]], live: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return live items in the order of the wanted ones that they agree with; the others come last."""
    left = list(live)
    # Items that say more choose first: one that names only a subnet agrees with each address of the subnet.
    chosen: dict[int, dict[str, Any]] = {}
    for index in sorted(range(len(wanted)), key=lambda one: -len(without_nulls(wanted[one]))):
        match = next((one for one in left if _agrees(wanted[index], one)), None)
        if match is not None:
            left.remove(match)
            chosen[index] = match
    return [*(chosen[index] for index in sorted(chosen)), *left]


def _agrees(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    return all(live.get(name) == one for name, one in without_nulls(wanted).items())
