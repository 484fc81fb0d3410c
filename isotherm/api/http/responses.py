"""Builds responses: JSON, streamed lists, and the status pages that Heat sends where there is no result."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

_encode = msgspec.json.Encoder().encode
# A browser that shows a response must not guess its type.
SAFE = {"X-Content-Type-Options": "nosniff"}
_HTML, _JSON = "text/html", "application/json"
# The header with the id of the operation that a request began. Heat's clients ignore it.
OPERATION = "Isotherm-Operation"
_QUALITY = re.compile(r"[01](\.[0-9]{0,3})?")
_TEXTS = {202: "The request is accepted for processing.", 404: "The resource could not be found."}


def json(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(data), status, {**SAFE, **(headers or {})}, "application/json")


async def json_list(key: str, pieces: AsyncIterator[list[Any]]) -> Response:
    """Stream a list under a key as it is read. An error before the first piece becomes an error response."""
    first = await anext(pieces, None) or []
    second = await anext(pieces, None)
    if second is None:
        return json({key: first})
    return StreamingResponse(_encode_list(key, [*first, *second], pieces), 200, SAFE, "application/json")


async def _encode_list(key: str, first: list[Any], pieces: AsyncIterator[list[Any]]) -> AsyncIterator[bytes]:
    # [1:-1] strips the brackets of each encoded piece; commas join the pieces to one list.
    yield b'{' + _encode(key) + b":[" + _encode(first)[1:-1]
    comma = b"," if first else b""
    async for piece in pieces:
        if piece:
            yield comma + _encode(piece)[1:-1]
            comma = b","
    yield b"]}"


def null(headers: Mapping[str, str] | None = None) -> Response:
    """Return a response without a result: clients expect the four bytes `null`."""
    return json(None, headers=headers)


def no_content(headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=204, headers={**SAFE, **(headers or {})})


def begun(operation_id: str) -> dict[str, str]:
    """Return the header that names the operation which a request began."""
    return {OPERATION: operation_id}


def status_page(request: Request, status: int, headers: Mapping[str, str] | None = None, text: str = "") -> Response:
    """Answer a status without a result, in the form that the client accepts: HTML, JSON or plain text, as Heat does."""
    phrase = HTTPStatus(status).phrase
    text, headers = text or _TEXTS.get(status, phrase), {**SAFE, **(headers or {})}
    form = _accepted(request.headers.get("accept", ""))
    if form == _JSON:
        return json({"message": text, "code": f"{status} {phrase}", "title": phrase}, status, headers)
    if form == _HTML:
        title = f"{status} {phrase}"
        body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
        return HTMLResponse(body, status, headers)
    return PlainTextResponse(f"{status} {phrase}\n\n{text}\n", status, headers)


def redirect(request: Request, location: str) -> Response:
    text = f"The resource was found at {location}; you should be redirected automatically."
    return status_page(request, 302, {"Location": location}, text)


def _accepted(header: str) -> str:
    """Return the offer with the highest quality in an Accept header, the first of equals; "" if none is accepted."""
    wanted: dict[str, float] = {}
    for one in header.split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        given = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        wanted[kind] = float(given) if _QUALITY.fullmatch(given) else 0.0
    qualities = {offer: _quality(wanted, offer) for offer in (_HTML, _JSON)}
    best = max(qualities, key=lambda offer: qualities[offer])
    return best if qualities[best] > 0 else ""


def _quality(wanted: Mapping[str, float], offer: str) -> float:
    """Return how much an offer is wanted: its own range counts before wider ones."""
    ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
    return next((wanted[one] for one in ranges if one in wanted), 0.0)
