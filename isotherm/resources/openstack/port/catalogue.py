"""The catalogue of a token: endpoints by service type.

A service has several types in catalogues of different ages, and URLs with and without a version. `endpoint` returns the
versioned base under which the paths of the service's API reference stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from isotherm import errors
from isotherm.resources.openstack.port.access import CloudAccess

# The types that one service has in catalogues, best first. The first is the official one, except where the official one
# may stand for another version.
_SAME = (
    ("block-storage", "volumev3", "block-store", "volume"),
    ("shared-file-system", "sharev2", "share"),
    ("workflow", "workflowv2"),
    ("alarming", "alarm"),
    ("key-manager", "keymanager"),
    ("container-infrastructure-management", "container-infra", "container-infrastructure"),
    ("database", "trove"),
    ("load-balancer", "loadbalancer"),
    ("dns", "designate"),
    ("compute", "computev21"),
)
_ALIASES = {name: names for names in _SAME for name in names}
# By the first type: the path that stands before all others.
_VERSIONS = {
    "network": "v2.0", "compute": "v2.1", "image": "v2", "block-storage": "v3", "load-balancer": "v2/lbaas",
    "identity": "v3", "key-manager": "v1", "dns": "v2", "messaging": "v2", "alarming": "v2", "workflow": "v2",
    "shared-file-system": "v2", "metric": "v1", "orchestration": "v1", "container-infrastructure-management": "v1",
    "baremetal": "v1",
}
_VERSION = re.compile(r"v\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of a catalogue."""

    region: str
    interface: str
    url: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The endpoints of a token, by the service types of the catalogue."""

    services: Mapping[str, Sequence[Endpoint]]

    @classmethod
    def of(cls, given: Sequence[Mapping[str, Any]]) -> Catalogue:
        """Return the catalogue of the body of a token."""
        services: dict[str, list[Endpoint]] = {}
        for service in given:
            endpoints = (Endpoint(str(one.get("region_id") or one.get("region") or ""), str(one.get("interface")),
                                  str(one.get("url") or "")) for one in service.get("endpoints", ()))
            services.setdefault(str(service.get("type")), []).extend(endpoints)
        return cls(services)

    def endpoint(self, service: str, access: CloudAccess) -> str:
        """Return the versioned base URL of a service. Raises Permanent if the catalogue has none."""
        url = self._given(service, access)
        if url is None:
            raise errors.Permanent(self._missing(service, access))
        return versioned(_names(service)[0], url)

    def has(self, service: str, access: CloudAccess) -> bool:
        """Return whether there is an endpoint of a service."""
        return self._given(service, access) is not None

    def _given(self, service: str, access: CloudAccess) -> str | None:
        names, overrides = _names(service), dict(access.endpoints)
        return next((overrides[name] for name in names if name in overrides), None) or self._url(names, access)

    def _url(self, names: Sequence[str], access: CloudAccess) -> str | None:
        for name in names:
            for endpoint in self.services.get(name, ()):
                if endpoint.url and endpoint.interface == access.interface and access.region in ("", endpoint.region):
                    return endpoint.url
        return None

    def _missing(self, service: str, access: CloudAccess) -> str:
        has = ", ".join(sorted(name for name in self.services if self._url((name,), access))) or "none"
        where = f"in region {access.region}" if access.region else "in any region"
        regions = sorted({one.region for many in self.services.values() for one in many})
        elsewhere = "" if access.region in ("", *regions) else f" The catalogue has the regions {', '.join(regions)}."
        return (f"The catalogue of {access} has no {access.interface} endpoint of the service {service} {where}. "
                f"Services that it has there: {has}.{elsewhere}")


def _names(service: str) -> tuple[str, ...]:
    return _ALIASES.get(service, (service,))


def versioned(service: str, url: str) -> str:
    """Return a URL with the version of the service; what follows a version, such as a project's id, stays."""
    url = url.rstrip("/")
    version = _VERSIONS.get(service)
    if version is None:
        return url
    root = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
    path = url[len(root):].strip("/").split("/")
    at = next((i for i, part in enumerate(path) if _VERSION.fullmatch(part)), len(path))
    before, after = path[:at], path[at + 1:]
    tail = version.split("/")[1:]
    if after[:len(tail)] == tail:
        after = after[len(tail):]
    return "/".join([root, *filter(None, before), version, *after])
