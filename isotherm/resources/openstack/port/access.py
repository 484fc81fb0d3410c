"""Access to a cloud: the identity to act as, and the addresses of its services. A token belongs to one `CloudAccess`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A secret of each process: with a plain hash, passwords could be guessed from a key in a log.
_SALT = os.urandom(16)


@dataclass(frozen=True, slots=True)
class Named:
    """A user or a project, by id, or by name with a domain."""

    id: str = ""
    name: str = ""
    domain_id: str = ""
    domain_name: str = ""

    def __bool__(self) -> bool:
        return bool(self.id or self.name)

    def __str__(self) -> str:
        return self.name or self.id

    def as_json(self) -> dict[str, Any]:
        """Return the form in which Keystone takes it. Keystone's own default domain stands for one that is not given."""
        if self.id:
            return {"id": self.id}
        by_name = self.domain_name and not self.domain_id
        return {"name": self.name,
                "domain": {"name": self.domain_name} if by_name else {"id": self.domain_id or "default"}}


@dataclass(frozen=True, slots=True)
class Login:
    """A credential of Keystone, and the scope of its tokens."""

    # Of auth/tokens: password, application_credential or token.
    method: str
    user: Named = Named()
    secret: str = field(default="", repr=False)
    # An application credential, by id, or by name together with its user.
    application: Named = Named()
    project: Named = Named()
    # The scope of a domain, in place of a project's.
    domain: Named = Named()
    # A trust has a scope of its own; Keystone refuses another scope beside it.
    trust: str = field(default="", repr=False)

    @property
    def is_given(self) -> bool:
        """Return whether the secret is a token that is used as it is, because no scope was asked for."""
        return self.method == "token" and not self.project and not self.domain and not self.trust

    def as_json(self) -> dict[str, Any]:
        """Return the body of POST auth/tokens."""
        identity: dict[str, Any] = {"methods": [self.method], self.method: self._secret()}
        auth: dict[str, Any] = {"identity": identity}
        if self.trust:
            auth["scope"] = {"OS-TRUST:trust": {"id": self.trust}}
        elif self.project:
            auth["scope"] = {"project": self.project.as_json()}
        elif self.domain:
            auth["scope"] = {"domain": {"id": self.domain.id} if self.domain.id else {"name": self.domain.name}}
        return {"auth": auth}

    def _secret(self) -> dict[str, Any]:
        if self.method == "token":
            return {"id": self.secret}
        if self.method == "password":
            return {"user": {**self.user.as_json(), "password": self.secret}}
        if self.application.id:
            return {"id": self.application.id, "secret": self.secret}
        return {"name": self.application.name, "user": self.user.as_json(), "secret": self.secret}


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS settings: the certificates that services of a cloud are verified with, and the client's own certificate."""

    verify: bool = True
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class CloudAccess:
    """One identity in one region of one cloud."""

    # Keystone, with its version: https://cloud.example.com:5000/v3.
    auth_url: str
    login: Login
    # Empty: the first region of the catalogue.
    region: str = ""
    interface: str = "public"
    tls: Tls = Tls()
    # Endpoints that are used instead of those of the catalogue: (service type, URL).
    endpoints: tuple[tuple[str, str], ...] = ()
    # The name of the cloud, for messages.
    name: str = ""

    @property
    def key(self) -> str:
        """The access without its secrets: equal for equal ones, and for no others."""
        whole = repr((self, self.login.secret, self.login.trust)).encode()
        return hashlib.blake2b(whole, key=_SALT, digest_size=16).hexdigest()

    def __str__(self) -> str:
        return f"cloud {self.name} ({self.auth_url})" if self.name else f"the cloud at {self.auth_url}"


def keystone_url(url: str) -> str:
    """Return the URL of Keystone's version 3, whatever version the given URL names."""
    url = url.rstrip("/")
    for ending in ("/v3", "/v2.0"):
        url = url.removesuffix(ending)
    return f"{url}/v3"


def interface_of(given: str) -> str:
    """Return public, internal or admin, of these and of the older publicURL, internalURL, adminURL."""
    return given.removesuffix("URL") or "public"


def endpoint_overrides(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the endpoints that an entry of clouds.yaml names: `network_endpoint_override` and so on."""
    ending = "_endpoint_override"
    return tuple(sorted((key.removesuffix(ending).replace("_", "-"), str(url))
                        for key, url in entry.items() if key.endswith(ending) and url))
