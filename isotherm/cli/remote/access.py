"""The address and the token of a service, from a URL or an entry of clouds.yaml.

An entry with `auth_type` none or admin_token, such as `isotherm up` writes, has an endpoint. Any other one logs in at
Keystone, whose catalogue has the endpoint of the orchestration service.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from isotherm import errors
from isotherm.clock import SystemClock
from isotherm.config import Settings
from isotherm.resources.openstack.port import clouds_yaml
from isotherm.resources.openstack.port.access import CloudAccess, Tls
from isotherm.resources.openstack.port.cloud import CloudPort

TOKEN = "ISOTHERM_REMOTE_TOKEN"
_SERVICE, _PROJECT = "orchestration", "default"
_ENDPOINT_ONLY = ("none", "admin_token")
_HINT = "Choose one with --remote or ISOTHERM_REMOTE, or give a URL."


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The base of all paths, with the project, and the token; empty: none is sent."""

    url: str
    token: str


class RemoteAccess(Protocol):
    """Finds the address of a service, and a token that is valid now."""

    @property
    def tls(self) -> Tls: ...

    async def address(self) -> ServiceAddress: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FixedAccess:
    """An address that was given with its token."""

    given: ServiceAddress
    tls: Tls = Tls()  # noqa: RUF009 - frozen

    async def address(self) -> ServiceAddress:
        return self.given

    async def close(self) -> None:
        """Close nothing: there are no connections."""


class KeystoneAccess:
    """The orchestration service in the catalogue of a cloud."""

    def __init__(self, access: CloudAccess) -> None:
        self._access = access
        self._port = CloudPort(Settings(), SystemClock())
        self.tls = access.tls

    async def address(self) -> ServiceAddress:
        token = await self._port.token(self._access)
        url = await self._port.endpoint(self._access, _SERVICE)
        return ServiceAddress(_with_project(url.rstrip("/"), token.project_id), token.id)

    async def close(self) -> None:
        await self._port.close()


def of(name: str) -> RemoteAccess:
    """Return the access that a name of clouds.yaml or a URL stands for."""
    if "://" in name:
        return FixedAccess(ServiceAddress(_of_url(name), os.environ.get(TOKEN, "")))
    entry, source = clouds_yaml.entry(name, hint=_HINT)
    if str(entry.get("auth_type")) not in _ENDPOINT_ONLY:
        return KeystoneAccess(clouds_yaml.access(name, entry, source))
    auth = entry.get("auth")
    auth = auth if isinstance(auth, dict) else {}
    url = auth.get("endpoint") or entry.get(f"{_SERVICE}_endpoint_override") or entry.get("endpoint")
    if not url:
        raise errors.UserError(f"{source}: cloud {name} has no endpoint.", hint="Add it below auth: http://HOST:8004/v1/PROJECT")
    return FixedAccess(ServiceAddress(_of_url(str(url)), str(auth.get("token") or "")), clouds_yaml.tls(entry))


def _of_url(text: str) -> str:
    """Return the URL with version and project: those of a standalone service where they are left out."""
    parts = urlsplit(text.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or not _has_valid_port(parts):
        raise errors.UserError(f"{text} is no address of a service.", hint="Such as http://127.0.0.1:8004/v1/default")
    return _with_project(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}", _PROJECT)


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _with_project(url: str, project: str) -> str:
    """Return a URL that ends with a project, as Heat's catalogue entries do."""
    return f"{url}/{project}" if url.rsplit("/", 1)[1] in ("v1", "v1.0") else url

