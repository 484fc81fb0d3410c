"""Requests of aiohttp that call a function once their connection is open, right before anything is sent.

A caller checks there that it may still send, and learns that the request has left. aiohttp is loaded at the first request.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from isotherm import loading

if TYPE_CHECKING:
    import aiohttp

_before: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("before_send", default=None)


def call_before_send(before: Callable[[], None] | None) -> None:
    """Set the function that the requests of this task call."""
    _before.set(before)


@cache
def request_class() -> type[aiohttp.ClientRequest]:
    """Return the class of requests for a session."""
    http = loading.load("aiohttp")

    class CheckedRequest(http.ClientRequest):  # type: ignore[misc, name-defined]  # aiohttp is imported late
        async def send(self, conn: Any) -> Any:
            before = _before.get()
            if before is not None:
                before()
            return await super().send(conn)

    return CheckedRequest
