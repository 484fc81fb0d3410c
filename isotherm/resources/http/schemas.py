"""The property schemas of Isotherm::Http::Object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isotherm.resources.http import headers
from isotherm.resources.schema import ANY, INTEGER, LIST, MAP, NUMBER, STRING, Schema
from isotherm.template.parameters import constraints

CREATE, READ, UPDATE, DELETE, FIND, READY, OBJECT = "create", "read", "update", "delete", "find", "ready", "object"
URL, METHOD, BODY, STATUSES, ID_PATH, OBJECT_PATH = "url", "method", "body", "statuses", "id_path", "object_path"
HEADERS, AUTH, AUTH_HEADER, TOKEN_HEADER, TIMEOUT = "headers", "auth", "auth_header", "token_header", "timeout_secs"
PATH, VALUES, FAILED = "path", "values", "failed"

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_HEADER = (constraints.AllowedPattern(pattern=r"[A-Za-z0-9!#$%&'*+.^_|~\-]*"), headers.Sendable())
_URL = (constraints.AllowedPattern(pattern="https?://[^ ]+", description="a URL begins with http:// or https://"),)


def _call(what: str, method: str, statuses: Sequence[int], *, url: str = "", body: bool = True) -> dict[str, Schema]:
    """Return the schema of one request; `url` is its description where the URL is optional."""
    found = {
        URL: Schema(STRING, f"The address to {what}. " + (url or "It has to be given."), required=not url,
                    constraints=_URL),
        METHOD: Schema(STRING, "The method.", default=method, constraints=(constraints.AllowedValues(allowed=_METHODS),)),
        STATUSES: Schema(LIST, "The answers that mean success.", default=list(statuses), schema=Schema(INTEGER)),
    }
    if body:
        found[BODY] = Schema(ANY, "What is sent: a text as it is, anything else as JSON. Not given: the object.")
    return found


def _of(description: str, schema: Mapping[str, Schema], *, required: bool = False) -> Schema:
    return Schema(MAP, description, schema=schema, required=required, update_allowed=True, observable=False)


def _steering(kind: str, description: str, default: str) -> Schema:
    found = _HEADER if kind == HEADERS else ()
    return Schema(STRING, description, default=default, update_allowed=True, observable=False, constraints=found)


_AS_READ = "That of read if it is not given."
PROPERTIES: Mapping[str, Schema] = {
    OBJECT: Schema(MAP, "What the object is to be. What the service adds to it does not count as a change.", default={},
                   update_allowed=True),
    CREATE: _of("How it is made. A change of the URL replaces the object.",
                _call("make it", "POST", (200, 201, 202, 204)), required=True),
    READ: _of("How it is looked at. 404 and 410 mean that it is gone.",
              _call("look at it", "GET", (200,), body=False), required=True),
    UPDATE: _of("How it is changed in place. Not given: a change of the object replaces it.",
                _call("change it", "PUT", (200, 201, 202, 204), url=_AS_READ)),
    DELETE: _of("How it is deleted. After 202 it is looked at until it is gone.",
                _call("delete it", "DELETE", (200, 202, 204), url=_AS_READ, body=False)),
    FIND: _of("How an object is found by {token}, after a crash. Not given: the service is expected to know a repeated "
              "request by its token_header.", {
                  URL: Schema(STRING, "The address to ask.", required=True, constraints=_URL),
                  ID_PATH: Schema(STRING, "Where in the answer the id is.", default="0.id"),
              }),
    READY: _of("When it is ready, for services that take their time. Not given: at once.", {
        PATH: Schema(STRING, "Where in what is read the state is.", default="status"),
        VALUES: Schema(LIST, "The states in which it is ready.", required=True, schema=Schema(STRING)),
        FAILED: Schema(LIST, "The states in which it has failed.", default=[], schema=Schema(STRING)),
    }),
    ID_PATH: _steering("", "Where its id is: a path in the answer to create, such as items.0.id; header:NAME for the last "
                       "part of a header's value; or {token}, if it is made under an address with {token} in it.", "id"),
    OBJECT_PATH: _steering("", "Where in what is read the object is. Empty: it is the whole.", ""),
    HEADERS: Schema(MAP, "Headers to send with each request. Those by which HTTP itself is spoken cannot be set.",
                    default={}, schema=Schema(STRING), update_allowed=True, observable=False,
                    constraints=(headers.Sendable(),)),
    AUTH: Schema(STRING, "The value of the header that authenticates, such as a token. Give it by a hidden parameter.",
                 default="", update_allowed=True, observable=False, write_only=True),
    AUTH_HEADER: _steering(HEADERS, "The name of that header.", "Authorization"),
    TOKEN_HEADER: _steering(HEADERS, "The header by which the service knows a repeated request to create, such as "
                            "Idempotency-Key: a request whose answer was lost is then sent again.", ""),
    TIMEOUT: Schema(NUMBER, "How long one request may take, in seconds.", default=30, update_allowed=True,
                    observable=False, constraints=(constraints.Range(minimum=1, maximum=600),)),
}
