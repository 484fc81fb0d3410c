"""Which headers a template may send: all but those by which HTTP itself is spoken.

Length, framing and fate of a connection are the client's to say. A template that says something else of them could
smuggle a request of its own past a proxy, or speak to another host than the one that was judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from isotherm.template.parameters.constraints import Coerce, Constraint, CustomConstraints, Kind

_OWN = frozenset({"connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te", "trailer",
                  "transfer-encoding", "upgrade"})
_OWN_PREFIX = "proxy-"


def is_own(name: str) -> bool:
    """Whether the header is the client's to send."""
    lower = name.strip().lower()
    return lower in _OWN or lower.startswith(_OWN_PREFIX)


@dataclass(frozen=True, slots=True)
class Sendable(Constraint):
    """The name of a header, or a map of headers by name, that a template may send."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRING, Kind.MAP})
    name: ClassVar[str] = "CustomConstraint"
    key: ClassVar[str] = "custom_constraint"

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        found = sorted(name for name in (value if isinstance(value, Mapping) else [value]) if is_own(str(name)))
        if not found:
            return None
        return (f"{', '.join(found)} cannot be set: how a request is framed, and whom the connection is to, follows from "
                "the URL and the body")

    def facts(self) -> object:
        return "isotherm.http_header"
