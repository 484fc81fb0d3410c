"""Closes the connection after a response that was sent before the end of a long or endless body.

A short body is read to its end: closing while the client still sends would lose the response.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Bodies up to this size are read to their end.
SHORT = 4 << 20


class EarlyClose:
    """Middleware that adds `Connection: close` to such a response."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _may_be_long(Headers(scope=scope)):
            await self._inner(scope, receive, send)
            return
        ended = False

        async def receiving() -> Message:
            nonlocal ended
            message = await receive()
            ended = not message.get("more_body", False)
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and not ended:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        await self._inner(scope, receiving, sending)


def _may_be_long(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return "transfer-encoding" in headers or not length.isdecimal() or int(length) > SHORT
