"""Parses the URL of a broker, in the form of OpenStack's `transport_url` or of AMQP.

    rabbit://user:password@one:5672,user:password@two:5672/vhost?ssl=1
    amqps://user:password@host/vhost

Errors never quote the URL: it contains a password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from isotherm import errors

_HINT = "such as rabbit://user:password@host:5672/vhost; amqp:// is the same, amqps:// is with TLS"
_URL = re.compile(r"(?P<scheme>[a-z0-9+]+)://(?P<hosts>[^/?]*)(?:/(?P<vhost>[^?]*))?(?:\?(?P<query>.*))?", re.IGNORECASE)
_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+)(?::(?P<port>\d{1,5}))?")
_SCHEMES = {"rabbit": False, "amqp": False, "amqps": True}
_TRUE = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of one broker, or of one node of a cluster."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    vhost: str
    tls: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def censored(self, text: str) -> str:
        """Return a text without the password of this address."""
        return text.replace(self.password, "***") if self.password else text


def parse(url: str) -> tuple[Address, ...]:
    """Return the addresses of a URL. They are equivalent."""
    found = _URL.fullmatch(url.strip())
    if found is None or found["scheme"].lower() not in _SCHEMES:
        raise _wrong("this is not the URL of a broker")
    query = parse_qs(found["query"] or "")
    tls = _SCHEMES[found["scheme"].lower()] or query.get("ssl", ["0"])[-1].lower() in _TRUE
    # OpenStack and RabbitMQ's own clients take an empty vhost for the default.
    vhost = unquote(found["vhost"] or "") or "/"
    return tuple(_one(part, vhost, tls=tls) for part in found["hosts"].split(","))


def _one(part: str, vhost: str, *, tls: bool) -> Address:
    who, _, where = part.rpartition("@")
    found = _HOST.fullmatch(where)
    if found is None or int(found["port"] or 0) > 65535:
        raise _wrong("it names no host, or no port that exists")
    user, _, password = who.partition(":")
    return Address(found["host"].strip("[]"), int(found["port"] or (5671 if tls else 5672)),
                   unquote(user) or "guest", unquote(password) if who else "guest", vhost, tls)


def _wrong(what: str) -> errors.UserError:
    return errors.UserError(f"[DEFAULT] transport_url: {what}", hint=_HINT)
