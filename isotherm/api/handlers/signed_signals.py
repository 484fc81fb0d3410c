"""Signals at signed addresses: from servers and alarms that have no token, for one version of one resource.

The signature is looked at first, then how often the resource was signalled lately, then how much is sent: nobody who has
no good address can make us read anything.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from typing import Any

from starlette.responses import Response

from isotherm.api.http import bodies, faults, responses
from isotherm.api.request.call import Call

# As much as the engine keeps of one signal.
MOST_BYTES = 1 << 20
# So many signals may come at once for one resource, and then so many each second.
BURST, EACH_SECOND = 1000, 50
_REMEMBERED = 10_000
_MOMENT = re.compile(r"[1-9][0-9]{0,11}")


async def signal(call: Call) -> Response:
    check(call)
    RATE.check(call.path["token"], time.monotonic())
    details = await _details(call)
    await call.orchestrator.signals.send_to_version(call.path["stack_id"], call.path["token"], details)
    return responses.null()


def check(call: Call) -> None:
    """Refuse whoever has not got exactly this address from us, or too long ago. What is wrong is not told."""
    given = call.query.multi_items()
    query, signer = dict(given), call.service.signer
    expires = query.get("expires", "")
    path = getattr(call.request.state, "raw_path", b"")
    if (len(given) != 2 or "signature" not in query or not _MOMENT.fullmatch(expires) or signer is None
            or not signer.is_good(call.request.method, path, int(expires), query["signature"])
            or int(expires) <= time.time()):
        raise faults.forbidden("This address is not signed, or not for this, or not any more.", "Forbidden")


async def _details(call: Call) -> dict[str, Any] | None:
    """The object in the body, whatever it is said to be: those who send it are often curl."""
    raw = bytearray()
    async for chunk in call.request.stream():
        raw += chunk
        if len(raw) > MOST_BYTES:
            raise faults.Fault(413, f"A signal holds at most {MOST_BYTES >> 10:,} KiB.", "RequestLimitExceeded")
    return bodies.decode(bytes(raw)) if raw.strip() else None


class Rate:
    """How often each resource may be signalled, with a signature or with a token: a bucket that fills slowly.

    Only the latest resources are remembered.
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
            raise faults.Fault(429, "This resource was signalled too often. Wait a little.", "RequestLimitExceeded",
                               {"Retry-After": "1"})


RATE = Rate()
