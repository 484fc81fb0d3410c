"""Authentication without an identity service: one token, generated on first use, for the user of this machine."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Protocol

from starlette.requests import Request

from isotherm.api.http import faults
from isotherm.identity.caller import Caller

PROJECT = "default"


class Authenticator(Protocol):
    """Port: returns the caller of a request, or raises Unauthorized."""

    async def authenticate(self, request: Request) -> Caller: ...


class Standalone:
    """Authenticates one user by one token."""

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("the token is empty")
        self._token = token.encode()

    async def authenticate(self, request: Request) -> Caller:
        given = request.headers.get("x-auth-token", "").encode("utf-8", "surrogateescape")
        if not secrets.compare_digest(given, self._token):
            raise faults.Unauthorized()
        return owner()


def owner() -> Caller:
    """Return the user of this machine."""
    return Caller(PROJECT, "isotherm", "isotherm", frozenset({"admin", "member", "reader"}), True, PROJECT)


def token(path: Path) -> str:
    """Return the token in the file. Generate it if the file does not exist, readable by the user only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        made = secrets.token_urlsafe(32)
        file.write(made + "\n")
    return made
