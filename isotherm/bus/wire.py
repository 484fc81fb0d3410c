"""The format of messages.

Each message has a version. Messages of an unknown version are refused, and unknown fields are ignored, so that processes of
two releases can share a broker. The version grows only when a field changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

VERSION = 1
#: Messages of this package have a few kilobytes. Larger ones are refused.
MOST_BYTES = 64 * 1024


class MessageRefused(Exception):
    """The message is not one of this package, or of an unknown version."""


class Message(msgspec.Struct):
    """A message between processes. Senders ignore their own messages."""

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
    """Decode a notification about reality. Other programs send it without a version."""
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
