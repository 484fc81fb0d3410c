"""What goes out: JSON, or the small pages that Heat's clients expect where there is nothing to say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import HTMLResponse, Response, StreamingResponse

_encode = msgspec.json.Encoder().encode
# What a browser is told, should one ever show an answer: it is data, whatever it looks like.
SAFE = {"X-Content-Type-Options": "nosniff"}


def json(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(data), status, {**SAFE, **(headers or {})}, "application/json")


async def listed(key: str, pieces: AsyncIterator[list[Any]]) -> Response:
    """A list under a key, sent on as it is read. What goes wrong before the first piece is there is an error as ever."""
    first = await anext(pieces, None) or []
    second = await anext(pieces, None)
    if second is None:
        return json({key: first})
    return StreamingResponse(_written(key, [*first, *second], pieces), 200, SAFE, "application/json")


async def _written(key: str, first: list[Any], pieces: AsyncIterator[list[Any]]) -> AsyncIterator[bytes]:
    # A list without its brackets is what stands between two commas.
    yield b'{' + _encode(key) + b":[" + _encode(first)[1:-1]
    comma = b"," if first else b""
    async for piece in pieces:
        if piece:
            yield comma + _encode(piece)[1:-1]
            comma = b","
    yield b"]}"


def none() -> Response:
    """An answer without a result: clients expect the four bytes `null`."""
    return json(None)


def no_content() -> Response:
    return Response(status_code=204, headers=SAFE)


def page(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A page with a title and nothing else."""
    title = f"{status} {HTTPStatus(status).phrase}"
    return HTMLResponse(f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>", status,
                        {**SAFE, **(headers or {})})


def redirect(location: str) -> Response:
    return page(302, {"Location": location})
