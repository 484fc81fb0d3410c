"""Reads the query parameters and headers of these routes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from isotherm.api.http import faults
from isotherm.api.request.call import Call
from isotherm.engine.overview import grouping
from isotherm.engine.overview.graphs import GraphQuery
from isotherm.states import NodeState

Choice = TypeVar("Choice")
# Characters of a part to search for, and groups that are opened at once.
_LONGEST, _OPENED = 255, 20


def number(call: Call, name: str, default: int, most: int, least: int = 1) -> int:
    """Return a number within limits."""
    text = call.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise faults.bad_request(f"{name} must be a whole number from {least} to {most}.", "ValueError")
    return int(text)


def choice(call: Call, name: str, choices: Mapping[str, Choice], default: Choice) -> Choice:
    text = call.query.get(name)
    if text is None:
        return default
    if text not in choices:
        raise faults.bad_request(f"{name} must be one of: {', '.join(choices)}.", "ValueError")
    return choices[text]


def part(call: Call, name: str) -> str:
    """Return a part of a name to search for."""
    text = call.query.get(name, "")
    if len(text) > _LONGEST or "\0" in text:
        raise faults.bad_request(f"{name} must be a text of at most {_LONGEST} characters.", "ValueError")
    return text


def states(call: Call) -> tuple[NodeState, ...]:
    words = [word for word in call.query.getlist("state") if word]
    if unknown := [word for word in words if word not in NodeState.__members__]:
        raise faults.bad_request(f"Unknown state: {unknown[0][:_LONGEST]}", "ValueError")
    return tuple(NodeState[word] for word in words)


def graph(call: Call) -> GraphQuery:
    level = choice(call, "group", {name: name for name in ("auto", *grouping.LEVELS)}, "auto")
    opened = call.query.getlist("open")
    if len(opened) > _OPENED:
        raise faults.bad_request(f"open may be given {_OPENED} times.", "ValueError")
    return GraphQuery(level, frozenset(opened), number(call, "limit", 150, 1000))


def position(call: Call, *kinds: type) -> tuple[Any, ...] | None:
    """Return the position in a marker, packed by `packed`."""
    text = call.query.get("marker")
    if not text:
        return None
    values = unpacked(text)
    if values is None or len(values) != len(kinds) or not all(
            isinstance(one, kind) and not isinstance(one, bool) for one, kind in zip(values, kinds, strict=True)):
        raise faults.bad_request("marker must be the `next` of the page before.", "ValueError")
    return tuple(values)


def packed(values: tuple[Any, ...] | None) -> str | None:
    """Return the marker of a position."""
    return None if values is None else base64.urlsafe_b64encode(msgspec.json.encode(values)).decode()


def unpacked(text: str) -> list[Any] | None:
    """Return the position of a marker; None if it is none."""
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(text.encode("ascii")))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    fits = isinstance(found, list) and all(not isinstance(one, int) or abs(one) < 2**62 for one in found)
    return found if fits else None
