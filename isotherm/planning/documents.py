"""The JSON documents that the engine keeps in the store's text columns, and nothing else reads."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import msgspec

from isotherm.secrets import is_sealed, unreadable
from isotherm.states import Action

T = TypeVar("T")


class Target(msgspec.Struct, array_like=True):
    """What a node is to become: the frozen definition, and what the environment has to say about it."""

    definition: Any
    # The type that does the work.
    implementation: str
    # The attributes that somebody reads: other resources, or the outputs.
    exports: list[str] = []
    # Actions that the environment forbids: update, replace.
    restricted: list[str] = []
    # Places at which the environment wants it to pause.
    hooks: list[str] = []
    # Of a stack inside: what it is made of besides its properties.
    surroundings: str = ""
    # What its type kept for the snapshot that the stack is brought back to.
    restored: Any = None


class Published(msgspec.Struct, array_like=True):
    """What others may read of a resource."""

    reference: Any
    attributes: dict[str, Any] = {}


class Intent(msgspec.Struct):
    """What is about to be done to the cloud, durable before it is done: whoever finds it later knows all there is."""

    action: Action
    operation_id: str
    # What will have been applied when it is done.
    digest: str | None = None
    after: dict[str, Any] = {}
    metadata: Any = None
    requires: list[int] = []
    before: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    update_policy: Any = None
    handled: bool = False
    progress: Any = None
    # How many pauses of the type's Poll there have been: whoever takes the step up goes on with the next one.
    attempts: int = 0
    # Whether the type said of its only attempt that nothing was asked of the cloud.
    not_begun: bool = False
    # Whether it follows an attempt with an unknown end: it asks for the same, and never counts as not begun.
    repeated: bool = False


class Surroundings(msgspec.Struct):
    """Files, by their hash, and the environment that some resources of a stack still have around them."""

    names: list[str]
    files: dict[str, str] = {}
    environment: dict[str, Any] = {}


class Input(msgspec.Struct):
    """All that was asked for in one operation. The template and the files are kept apart, by their hash."""

    template: str
    files: dict[str, str] = {}
    environment: dict[str, Any] = {}
    # Of the resource that this stack is inside of: what resource_facade reads.
    facade: dict[str, Any] | None = None
    # Attributes that the resource around this stack wants to know, besides those that the template itself reads.
    exports: dict[str, list[list[Any]]] = {}
    # By resource: what its type kept for the snapshot that the stack was brought back to.
    restored: dict[str, Any] = {}
    # Of a stack inside: what the stack around it hides.
    secrets: tuple[str, ...] = ()
    # Of a group: what those members keep that an update in batches has not reached.
    older: list[Surroundings] = []


_encoder = msgspec.json.Encoder()


def encode(document: object) -> str:
    return _encoder.encode(document).decode()


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(text: str, kind: type[T]) -> T:
    """Raises Unreadable for what the store could not open."""
    try:
        found: T = _decoder(kind).decode(text)  # type: ignore[arg-type]  # a type is hashable
    except msgspec.DecodeError:
        if is_sealed(text):
            raise unreadable(text) from None
        raise
    return found


def decode_any(text: str) -> Any:
    return decode(text, Any)
