"""What messages look like.

Each has a version. One that we do not know is not read, and fields that we do not know are passed over: so processes of two
versions share a broker while they are being replaced. The version grows only where a field changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

VERSION = 1
#: Ours have a few kilobytes. Whoever sends more means something else.
MOST_BYTES = 64 * 1024


class MessageRefused(Exception):
    """It is none of ours, or none that we understand."""


class Message(msgspec.Struct):
    """What processes say to each other. Who sent it passes over it."""

    v: int
    sender: str = ""
    stacks: tuple[str, ...] = ()


class _Head(msgspec.Struct):
    v: int


def encode(sender: str, stacks: Sequence[str] = ()) -> bytes:
    return msgspec.json.encode(Message(VERSION, sender, tuple(stacks)))


def decode(body: bytes) -> Message:
    if _decoded(body, _Head).v != VERSION:
        raise MessageRefused
    return _decoded(body, Message)


def hint(body: bytes) -> Mapping[str, Any]:
    """A notification about reality. It may be of another program, which knows of no version."""
    found = _decoded(body, dict[str, Any])
    if found.get("v", VERSION) != VERSION:
        raise MessageRefused
    return found


def _decoded(body: bytes, kind: type[T]) -> T:
    if len(body) > MOST_BYTES:
        raise MessageRefused
    try:
        return msgspec.json.decode(body, type=kind)
    except (ValueError, RecursionError) as error:
        raise MessageRefused from error
