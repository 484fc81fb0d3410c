"""The cookie of a session.

On http, cookies do not know ports: another program on this machine could see or set one. So the name has the port, and the
value is good for this service alone.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response


def name(request: Request) -> str:
    if _is_secure(request):
        return "__Host-isotherm"
    return f"isotherm-{(request.scope.get('server') or ('', 0))[1] or 0}"


def read(request: Request) -> str:
    """Return the value of the cookie; "" if there is none."""
    return request.cookies.get(name(request), "")


def write(request: Request, response: Response, value: str, seconds: float) -> None:
    response.set_cookie(name(request), value, max_age=int(seconds), path="/", secure=_is_secure(request), httponly=True,
                        samesite="strict")


def remove(request: Request, response: Response) -> None:
    response.delete_cookie(name(request), path="/", secure=_is_secure(request), httponly=True, samesite="strict")


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
