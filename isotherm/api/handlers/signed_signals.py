"""Handles signals and reads of metadata at signed URLs, from servers and alarms without a token.

A URL is for one version of one resource.

The signature is checked first, then the rate, then the size: without a valid URL a client cannot make the API read a body.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from typing import Any

from starlette.responses import Response

from isotherm.api.http import bodies, faults, responses
from isotherm.api.request.call import Call

# Maximum size of a signal, as in the engine.
MOST_BYTES = 1 << 20
# Signals per resource: burst, and rate after it.
BURST, EACH_SECOND = 1000, 50
_REMEMBERED = 10_000
_MOMENT = re.compile(r"[1-9][0-9]{0,11}")


async def signal(call: Call) -> Response:
    check(call)
    RATE.check(call.path["token"], time.monotonic())
    details = await _details(call)
    await call.orchestrator.signals.send_to_version(call.path["stack_id"], call.path["token"], details)
    return responses.null()


async def metadata(call: Call) -> Response:
    """Return the metadata of the resource, for the agent on a server that has no user."""
    check(call)
    RATE.check(call.path["token"], time.monotonic())
    return responses.json(await call.orchestrator.resources.metadata_of_version(call.path["stack_id"], call.path["token"]))


def check(call: Call) -> None:
    """Refuse a URL that is not signed by this service, or has expired. The fault does not say which."""
    given = call.query.multi_items()
    query, signer = dict(given), call.service.signer
    expires = query.get("expires", "")
    path = getattr(call.request.state, "raw_path", b"")
    if (len(given) != 2 or "signature" not in query or not _MOMENT.fullmatch(expires) or signer is None
            or not signer.is_good(call.request.method, path, int(expires), query["signature"])
            or int(expires) <= time.time()):
        raise faults.forbidden("The URL has no valid signature for this request, or has expired.", "Forbidden")


async def _details(call: Call) -> dict[str, Any] | None:
    """Return the JSON object in the body, whatever its content type: senders are often plain curl."""
    raw = bytearray()
    async for chunk in call.request.stream():
        raw += chunk
        if len(raw) > MOST_BYTES:
            raise faults.Fault(413, f"The signal is larger than {MOST_BYTES >> 10:,} KiB.", "RequestLimitExceeded")
    return bodies.decode(bytes(raw)) if raw.strip() else None


class SignalRate:
    """Token bucket per resource, for signals with a signature and with a token.

    Remembers the most recent resources only.
    """

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, key: str, now: float) -> None:
        left, at = self._left.pop(key, (float(BURST), now))
        left = min(BURST, left + (now - at) * EACH_SECOND) - 1
        self._left[key] = (max(left, 0), now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        if left < 0:
            raise faults.Fault(429, "Too many signals for this resource. Retry later.", "RequestLimitExceeded",
                               {"Retry-After": "1"})


RATE = SignalRate()
