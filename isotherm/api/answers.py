"""What goes out: JSON, or the small pages that Heat's clients expect where there is nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import HTMLResponse, Response

_encode = msgspec.json.Encoder().encode
# What a browser is told, should one ever show an answer: it is data, whatever it looks like.
SAFE = {"X-Content-Type-Options": "nosniff"}


def json(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(data), status, {**SAFE, **(headers or {})}, "application/json")


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
