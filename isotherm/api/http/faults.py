"""Maps errors to the responses that Heat's clients expect: a status, a type they branch on, and a message.

The status follows from the kind of the error. Where Heat answers 500 to a user's mistake, this API answers 400: a 500 is
always a defect of Isotherm.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import responses
from isotherm.planning import masking

log = logging.getLogger(__name__)

_FORBIDDEN = ("Forbidden", "InvalidTenant", "NotAuthorized", "Protected")
_NOT_FOUND = ("EntityNotFound", "NotFound", "ResourceNotFound", "SnapshotNotFound", "ResourceNotAvailable")
_CONFLICT = ("ActionInProgress", "Conflict", "GenerationMoved", "OutputsInUse", "PlanOutdated", "StackExists")
STATUS = {**dict.fromkeys(_FORBIDDEN, 403), **dict.fromkeys(_NOT_FOUND, 404), **dict.fromkeys(_CONFLICT, 409)}

# Problems that a body lists, and those that its explanation tells.
MOST_PROBLEMS, _EXPLAINED = 200, 20

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
        # A fault in place of an error of the engine, for Heat's clients: its cause knows more.
        causes = error.__cause__.problems if isinstance(error.__cause__, errors.UserError) else ()
        return _envelope(error.status, error.kind, str(error), error.headers, causes)
    if isinstance(error, errors.UserError):
        return _envelope(_status(error), error.kind, message(error), problems=error.problems)
    if isinstance(error, errors.Unreadable):
        return _envelope(500, "InvalidEncryptionKey", str(error))
    if isinstance(error, errors.Unavailable):
        return _envelope(503, "ServiceUnavailable", str(error), {"Retry-After": str(math.ceil(error.retry_after_s))})
    # It may quote a value of the request, and which values are secret is not known here (I17).
    log.error("unexpected error in a request", exc_info=masking.loggable(error))
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


def _envelope(status: int, kind: str, text: str, headers: Mapping[str, str] | None = None,
              problems: Sequence[errors.Problem] = ()) -> Response:
    inner = {"type": kind, "traceback": None, **({"message": text} if text else {})}
    body: dict[str, Any] = {"code": status, "title": HTTPStatus(status).phrase,
                            "explanation": _explanation(status, problems), "error": inner}
    if problems:
        body["problems"] = [_problem(one) for one in problems[:MOST_PROBLEMS]]
    return responses.json(body, status, headers)


def _explanation(status: int, problems: Sequence[errors.Problem]) -> str:
    """Return Heat's sentence for the status, with the problems if one sentence cannot tell them: several, or a hint."""
    text = _EXPLANATIONS.get(status, HTTPStatus(status).phrase)
    if len(problems) < 2 and not any(one.hint for one in problems):
        return text
    told = [f"{one} (hint: {one.hint})" if one.hint else str(one) for one in problems[:_EXPLAINED]]
    more = [f"and {len(problems) - _EXPLAINED} more"] if len(problems) > _EXPLAINED else []
    return "\n".join([text, *told, *more])


def _problem(one: errors.Problem) -> dict[str, Any]:
    """Return one problem for a program. The position is that in the text of `source`."""
    mark = None if one.mark is None else {"line": one.mark.line, "column": one.mark.column, "source": one.mark.source}
    return {"message": one.message, "kind": one.kind, "label": one.label, "path": one.path, "hint": one.hint, "mark": mark}
