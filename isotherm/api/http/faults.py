"""Maps errors to the responses that Heat's clients expect: a status, a type they branch on, and a message.

The status follows from the kind of the error. Where Heat answers 500 to a user's mistake, this API answers 400: a 500 is
always a defect of Isotherm.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import responses

log = logging.getLogger(__name__)

_FORBIDDEN = ("Forbidden", "InvalidTenant", "NotAuthorized")
_NOT_FOUND = ("EntityNotFound", "NotFound", "ResourceNotFound", "SnapshotNotFound", "ResourceNotAvailable")
_CONFLICT = ("ActionInProgress", "Conflict", "StackExists")
STATUS = {**dict.fromkeys(_FORBIDDEN, 403), **dict.fromkeys(_NOT_FOUND, 404), **dict.fromkeys(_CONFLICT, 409)}

MALFORMED = "The server could not comply with the request since it is either malformed or otherwise incorrect."
_EXPLANATIONS = {
    400: MALFORMED,
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: MALFORMED,
    409: "There was a conflict when trying to complete your request.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
}


class Fault(Exception):
    """A refusal of a request before it reaches the engine."""

    def __init__(self, status: int, message: str = "", kind: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.kind = kind or f"HTTP{HTTPStatus(status).phrase.title().replace(' ', '')}"
        self.headers = headers or {}
        super().__init__(message or _EXPLANATIONS.get(status, HTTPStatus(status).phrase))


class Unauthorized(Fault):
    """401: the request has no valid token."""

    def __init__(self, challenge: str = 'Keystone uri="http://127.0.0.1"') -> None:
        super().__init__(401, "The request you have made requires authentication.", "Unauthorized",
                         {"WWW-Authenticate": challenge})


def bad_request(message: str = MALFORMED, kind: str = "HTTPBadRequest") -> Fault:
    return Fault(400, message, kind)


def forbidden(message: str = "", kind: str = "HTTPForbidden") -> Fault:
    return Fault(403, message, kind)


def response(error: Exception) -> Response:
    """Return the response for an error."""
    if isinstance(error, Unauthorized):
        body = {"error": {"code": 401, "title": "Unauthorized", "message": str(error)}}
        return responses.json(body, 401, error.headers)
    if isinstance(error, Fault):
        return _envelope(error.status, error.kind, str(error), error.headers)
    if isinstance(error, errors.UserError):
        return _envelope(_status(error), error.kind, message(error))
    if isinstance(error, errors.Unreadable):
        return _envelope(500, "InvalidEncryptionKey", str(error))
    if isinstance(error, errors.Unavailable):
        return _envelope(503, "ServiceUnavailable", str(error), {"Retry-After": str(math.ceil(error.retry_after_s))})
    log.error("unexpected error in a request", exc_info=error)
    return _envelope(500, type(error).__name__, "")


def message(error: errors.UserError) -> str:
    """Return the message as Heat's API sends it: with a second colon after each part but the last."""
    first = error.problems[0]
    if first.kind != "StackValidationFailed":
        return str(first)
    return ": : ".join(part for part in (first.label, first.path, first.message) if part)


def _status(error: errors.UserError) -> int:
    if error.kind in STATUS:
        return STATUS[error.kind]
    if isinstance(error, errors.NotFound):
        return 404
    return 409 if isinstance(error, errors.Conflict) else 400


def _envelope(status: int, kind: str, text: str, headers: Mapping[str, str] | None = None) -> Response:
    inner = {"type": kind, "traceback": None, **({"message": text} if text else {})}
    body = {"code": status, "title": HTTPStatus(status).phrase,
            "explanation": _EXPLANATIONS.get(status, HTTPStatus(status).phrase), "error": inner}
    return responses.json(body, status, headers)
