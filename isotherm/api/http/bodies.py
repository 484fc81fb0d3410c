"""Reads request bodies: a JSON object of limited size, or nothing.

As in Heat, a body that does not begin like an object, or has another content type, is ignored. The limit applies to the
bytes read, whatever Content-Length says.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request

from isotherm.api.http import faults

_KINDS = ("", "application/json")


async def read(request: Request, limit: int) -> dict[str, Any] | None:
    """Return the object in the body; None if there is none."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise faults.bad_request(
                f"Request limit exceeded: JSON body size ({len(raw)} bytes or more) exceeds maximum allowed size ({limit} "
                "bytes).", "RequestLimitExceeded")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not raw.startswith(b"{") or not (kind in _KINDS or kind.startswith("text/plain")):
        return None
    return decode(bytes(raw))


def decode(raw: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
        return found
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise faults.bad_request(str(error)) from None
    except RecursionError:
        raise faults.bad_request("The lists and objects in the body are nested too deeply.") from None
