"""The headers that a template may send: all but those of the HTTP protocol itself.

Length, framing and connection headers are set by the client. A template that set them could smuggle a request past a
proxy, or address another host than the one that was checked.
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
    """Return whether a header is set by the client."""
    lower = name.strip().lower()
    return lower in _OWN or lower.startswith(_OWN_PREFIX)


@dataclass(frozen=True, slots=True)
class Sendable(Constraint):
    """The constraint for names of headers, and maps of headers, that a template may send."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRING, Kind.MAP})
    name: ClassVar[str] = "CustomConstraint"
    key: ClassVar[str] = "custom_constraint"

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        found = sorted(name for name in (value if isinstance(value, Mapping) else [value]) if is_own(str(name)))
        if not found:
            return None
        return (f"{', '.join(found)} cannot be set: the length of a request and the host of its connection follow from "
                "the URL and the body")

    def facts(self) -> object:
        return "isotherm.http_header"
