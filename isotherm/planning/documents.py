"""The JSON documents in the store's text columns, which only the engine and the observer read."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import msgspec

from isotherm.secrets import is_sealed, unreadable
from isotherm.states import Action

T = TypeVar("T")


class Target(msgspec.Struct, array_like=True):
    """The wanted state of a node: the frozen definition, and what the environment adds to it."""

    definition: Any
    # The type that does the work.
    implementation: str
    # The attributes that other resources or outputs read.
    exports: list[str] = []
    # Actions that the environment forbids: update, replace.
    restricted: list[str] = []
    # Hooks that the environment sets.
    hooks: list[str] = []
    # Of a nested stack: a hash of the files and the environment that it inherits.
    inherited_digest: str = ""
    # What its type kept for the snapshot that is restored.
    restored: Any = None


class Published(msgspec.Struct, array_like=True):
    """The published values of a resource."""

    reference: Any
    attributes: dict[str, Any] = {}


class Intent(msgspec.Struct):
    """An intent: what is about to be done to an object, durable before it is done, complete for another worker."""

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
    # Number of pauses of the type's Poll so far, so that another worker continues with the next one.
    attempts: int = 0
    # Whether the type said of its only attempt that nothing was asked of the cloud.
    not_begun: bool = False
    # Whether it follows an attempt with an unknown end: it asks for the same, and never counts as not begun.
    repeated: bool = False
    # Of an adoption: the live properties of an object that is imported as it is.
    live: dict[str, Any] | None = None


# The digest of an imported object that differs from its definition: no definition has it.
UNLIKE = "differs"


class OlderInput(msgspec.Struct):
    """Files, by their hash, and the environment that some resources of a stack still have."""

    names: list[str]
    files: dict[str, str] = {}
    environment: dict[str, Any] = {}


class KeptInput(msgspec.Struct):
    """The older input that some resources of a stack keep."""

    names: list[str]
    input: Input


class PartsDocument(msgspec.Struct):
    """The resources of a stack to which its newest input does not apply yet, because an update left them out."""

    # Those that keep the definitions of older inputs.
    kept: list[KeptInput] = []
    # Those of the newest template that do not exist yet.
    absent: list[str] = []
    # Attributes that the kept definitions read, besides those that the newest template reads.
    exports: dict[str, list[list[Any]]] = {}


class Input(msgspec.Struct):
    """The whole input of an operation. Template and files are stored apart, by their hash."""

    template: str
    files: dict[str, str] = {}
    environment: dict[str, Any] = {}
    # Of the parent resource of a nested stack: what resource_facade reads.
    facade: dict[str, Any] | None = None
    # Attributes that the parent resource reads, besides those that the template itself reads.
    exports: dict[str, list[list[Any]]] = {}
    # By resource: what its type kept for the snapshot that was restored.
    restored: dict[str, Any] = {}
    # Of a nested stack: the secrets of its parent stack.
    secrets: tuple[str, ...] = ()
    # Of a group: files and environment of the members that a rolling update has not reached.
    older: list[OlderInput] = []
    # The resources that updates have left out; None: there are none.
    parts: PartsDocument | None = None


_encoder = msgspec.json.Encoder()


def encode(document: object) -> str:
    return _encoder.encode(document).decode()


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(text: str, kind: type[T]) -> T:
    """Decode a document. Raises Unreadable for a text that the store could not open."""
    try:
        found: T = _decoder(kind).decode(text)  # type: ignore[arg-type]  # a type is hashable
    except msgspec.DecodeError:
        if is_sealed(text):
            raise unreadable(text) from None
        raise
    return found


def decode_any(text: str) -> Any:
    return decode(text, Any)
