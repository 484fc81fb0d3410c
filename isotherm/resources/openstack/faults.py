"""The errors of OpenStack's services, made of their answers: the kind, the service's own words and the request id.

    NoSuchObject   404, or 410: there is no such object
    InUse          409: the object is in use, or is being changed
    Rejected       400, 403, 413...: the request is wrong, forbidden, or over a quota
    ServiceError   500: the service failed, and may have acted all the same

Answers that pass (429, 502, 503, 504) are errors.Temporary; with 429 the service says that it has not begun. So is 500
where a request only reads: an object that is waited for has not failed because it could not be read once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.resources.context.local_access import Reply

#: How Nova says that the status of a volume forbids what is asked for, with 400. It may pass.
OF_STATUS = "status must be"
_TEXT_CHARS = 600
_LONGEST_PAUSE_S = 300.0
_PASSING = frozenset({502, 503, 504})
_RATE_LIMITED = 429
# How services say that an equal object exists, with 409.
_EXISTS = ("already exist", "duplicate", "already in use", "already used")
_TAG = re.compile(r"<[^>]*>")


class NoSuchObject(errors.Permanent):
    """There is no such object."""


class InUse(errors.Permanent):
    """The object is in use or is being changed, or an equal object exists."""


class Rejected(errors.Permanent):
    """The service refuses the request: it is wrong, forbidden, or over a quota."""


class ServiceError(errors.Permanent):
    """The service failed while it handled the request."""


def check(service: str, reply: Reply, *, is_read: bool = False) -> None:
    """Raise the error that an answer means. An answer below 400 means none."""
    if reply.status >= 400:
        raise of(service, reply, is_read=is_read)


def of(service: str, reply: Reply, *, is_read: bool = False) -> errors.CloudError:
    """Return the error that an answer means."""
    text = describe(service, reply)
    pause_s = _pause_s(reply)
    # Cinder tells a quota by 413 and a pause of 0 seconds: that does not pass.
    if reply.status == _RATE_LIMITED or (reply.status == 413 and pause_s):
        return errors.NotBegun(text, pause_s)
    if reply.status in _PASSING or (is_read and reply.status >= 500):
        return errors.Temporary(text, pause_s)
    if reply.status in (404, 410):
        return NoSuchObject(text)
    if reply.status == 409 and "quota" not in text.lower():
        return InUse(text, object_exists=any(word in text.lower() for word in _EXISTS))
    return ServiceError(text) if reply.status >= 500 else Rejected(text)


def describe(service: str, reply: Reply) -> str:
    """Return what the service says, with the status and the id under which its log has the request."""
    said = _message(reply.body) or "no explanation"
    request = reply.headers.get("x-openstack-request-id") or reply.headers.get("x-compute-request-id", "")
    known = f" (HTTP {reply.status})" + (f" (Request-ID: {request})" if request else "")
    return f"{said[:_TEXT_CHARS]}{known} from the service {service}"


def _message(body: bytes) -> str:
    """Return the message in the body of an error. Each service wraps it in another form."""
    try:
        data = msgspec.json.decode(body)
    except msgspec.DecodeError:
        text = html.unescape(_TAG.sub(" ", body.decode("utf-8", "replace")))
        return " ".join(text.split())
    return _message_in(data)


def _message_in(data: Any) -> str:
    if isinstance(data, str):
        return data
    if not isinstance(data, Mapping):
        return ""
    for name in ("message", "faultstring", "error_message", "description", "title"):
        if isinstance(data.get(name), str) and data[name]:
            return str(data[name])
    # {"NeutronError": {...}}, {"badRequest": {...}}, {"error": {...}}: one key whose value has the message.
    return next(filter(None, map(_message_in, data.values())), "")


def _pause_s(reply: Reply) -> float | None:
    """Return the pause of the header Retry-After, in seconds; None without one."""
    text = reply.headers.get("retry-after", "")
    return min(float(text), _LONGEST_PAUSE_S) if text.isdigit() and text.isascii() else None
