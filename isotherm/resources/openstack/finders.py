"""Finders: the id that the name of a cloud object stands for. Each takes the id itself as well.

A finder is an async function of a cloud and a value, see `cloud_lookups`. It raises NotFound for a name that nothing
has, and UserError for one that several objects have.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from isotherm import errors
from isotherm.resources.cloud_lookups import Existence
from isotherm.resources.context.context import Cloud
from isotherm.resources.openstack import rest

Finder = Callable[[Cloud, Any], Awaitable[Any]]

# The microversions of requests that do not need another one.
COMPUTE = {"OpenStack-API-Version": "compute 2.67"}
BLOCK_STORAGE = {"OpenStack-API-Version": "volume 3.60"}
# From 2.92 on Nova generates no keys; with 2.10 keys have types and users.
KEYPAIRS = {"OpenStack-API-Version": "compute 2.10"}
_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_WITH_DOMAIN = re.compile(r"(?P<name>.+)\{(?P<domain>.+)\}", re.DOTALL)


def in_neutron(path: str, key: str, kind: str, *, fields: str = "id") -> Finder:
    """Return the finder for objects of Neutron: by id, then by name. Empty `fields`: whole objects are read."""
    read = {"fields": fields} if fields else {}

    async def find(cloud: Cloud, value: Any) -> Any:
        service = rest.Service(cloud, "network")
        for query in ({"id": value}, {"name": value}):
            found = await service.pages(path, key, {**query, **read})
            if found:
                return only(kind, value, found)["id"]
        raise missing(kind, value)

    return find


def only(kind: str, value: Any, found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the only object of a list. Raises UserError if there are several."""
    if len(found) > 1:
        raise errors.UserError(f"No unique match found for {kind} '{value}': {len(found)} have this name. Use the id.",
                               kind="PhysicalResourceNameAmbiguity")
    return found[0]


def missing(kind: str, value: Any) -> errors.NotFound:
    return errors.NotFound(f"The {kind} ({value}) could not be found.", kind="EntityNotFound")


network = in_neutron("/networks", "networks", "Network")
subnet = in_neutron("/subnets", "subnets", "Subnet")
port = in_neutron("/ports", "ports", "Port")
router = in_neutron("/routers", "routers", "Router")
subnetpool = in_neutron("/subnetpools", "subnetpools", "SubnetPool")
address_scope = in_neutron("/address-scopes", "address_scopes", "AddressScope")
# Neutron leaves a policy that another project shares out of a list of ids alone.
qos_policy = in_neutron("/qos/policies", "policies", "QoSPolicy", fields="")
segment = in_neutron("/segments", "segments", "Segment")
floating_ip = in_neutron("/floatingips", "floatingips", "FloatingIP")


async def security_group(cloud: Cloud, value: Any) -> Any:
    """Find a security group; by name, only among those of the credential's project."""
    service = rest.Service(cloud, "network")
    found = await service.pages("/security-groups", "security_groups", {"id": value, "fields": "id"})
    if not found:
        query = {"name": value, "project_id": await cloud.project_id(), "fields": "id"}
        found = await service.pages("/security-groups", "security_groups", query)
    if not found:
        raise missing("SecurityGroup", value)
    return only("SecurityGroup", value, found)["id"]


def by_id(service: str, path: str, kind: str, headers: Mapping[str, str] | None = None) -> Finder:
    """Return the finder for objects that have no other name than their id."""

    async def find(cloud: Cloud, value: Any) -> Any:
        if await rest.Service(cloud, service, headers or {}).find(f"{path}/{rest.part(value)}") is None:
            raise missing(kind, value)
        return value

    return find


def in_list(service: str, path: str, key: str, kind: str, headers: Mapping[str, str] | None = None) -> Finder:
    """Return the finder for objects of a list that cannot be filtered by name: by id, then by name."""

    async def find(cloud: Cloud, value: Any) -> Any:
        # Without `is_public=None` administrators see no private objects; others see what they have access to.
        listed = await rest.Service(cloud, service, headers or {}).pages(path, key, {"is_public": None})
        return _named(kind, value, listed)["id"]

    return find


def _named(kind: str, value: Any, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the object of a list that has this id, or else this name."""
    for field in ("id", "name"):
        found = [one for one in listed if one[field] == value]
        if found:
            return only(kind, value, found)
    raise missing(kind, value)


def in_keystone(path: str, key: str, kind: str) -> Finder:
    """Return the finder for objects of Keystone: by id, then by name, or by `name{domain}`."""

    async def find(cloud: Cloud, value: Any) -> Any:
        service = rest.Service(cloud, "identity")
        query = {"name": value}
        with_domain = _WITH_DOMAIN.fullmatch(str(value))
        if with_domain:
            query = {"name": with_domain["name"], "domain_id": await domain(cloud, with_domain["domain"])}
        elif await service.find(f"{path}/{rest.part(value)}") is not None:
            return value
        found = await service.pages(path, key, query)
        if not found:
            raise missing(kind, value)
        return only(kind, value, found)["id"]

    return find


domain = in_keystone("/domains", "domains", "KeystoneDomain")
project = in_keystone("/projects", "projects", "KeystoneProject")
user = in_keystone("/users", "users", "KeystoneUser")

server = by_id("compute", "/servers", "Server", COMPUTE)
# The id of a key pair is its name.
keypair = by_id("compute", "/os-keypairs", "Key", KEYPAIRS)
flavor = in_list("compute", "/flavors", "flavors", "Flavor", COMPUTE)
volume = by_id("block-storage", "/volumes", "Volume", BLOCK_STORAGE)
volume_snapshot = by_id("block-storage", "/snapshots", "VolumeSnapshot", BLOCK_STORAGE)
volume_backup = by_id("block-storage", "/backups", "Volume backup", BLOCK_STORAGE)
volume_type = in_list("block-storage", "/types", "volume_types", "VolumeType", BLOCK_STORAGE)
qos_specs = in_list("block-storage", "/qos-specs", "qos_specs", "QoSSpecs", BLOCK_STORAGE)


def in_octavia(path: str, key: str, kind: str) -> Finder:
    """Return the finder for objects of Octavia: by id, then by name."""

    async def find(cloud: Cloud, value: Any) -> Any:
        service = rest.Service(cloud, "load-balancer")
        if await service.find(f"{path}/{rest.part(value)}") is not None:
            return value
        found = await service.pages(path, key, {"name": value})
        if not found:
            raise missing(kind, value)
        return only(kind, value, found)["id"]

    return find


load_balancer = in_octavia("/loadbalancers", "loadbalancers", "LoadBalancer")
listener = in_octavia("/listeners", "listeners", "Listener")
pool = in_octavia("/pools", "pools", "Pool")
load_balancer_flavor = in_octavia("/flavors", "flavors", "Flavor")
# The id of an availability zone is its name.
load_balancer_zone = by_id("load-balancer", "/availabilityzones", "AvailabilityZone")


async def image(cloud: Cloud, value: Any) -> Any:
    """Find an image: by id if the value looks like one, then by name."""
    return (await _whole_image(cloud, value))["id"]


async def _whole_image(cloud: Cloud, value: Any) -> dict[str, Any]:
    service = rest.Service(cloud, "image")
    shown = await service.find(f"/images/{rest.part(value)}") if _UUID.fullmatch(str(value)) else None
    if shown is not None:
        return dict(shown)
    found = await service.pages("/images", "images", {"name": value})
    if not found:
        raise missing("Image", value)
    return only("Image", value, found)


async def _whole_flavor(cloud: Cloud, value: Any) -> dict[str, Any]:
    listed = await rest.Service(cloud, "compute", COMPUTE).pages("/flavors/detail", "flavors", {"is_public": None})
    return _named("Flavor", value, listed)


async def image_of_flavor(cloud: Cloud, value: Any) -> str | None:
    """Return the problem with a server that boots from an image, and has a flavor."""
    if not isinstance(value, tuple):
        return "nova.image_of_flavor is a constraint on an image and a flavor together"
    named, with_flavor = value
    try:
        booted, size = await asyncio.gather(_whole_image(cloud, named), _whole_flavor(cloud, with_flavor))
    except errors.UserError:
        return None  # the constraints on the single properties say so
    problem = _misfit(named, booted, with_flavor, size)
    if problem:
        # Raised, so that the answer is not kept: the image may become active meanwhile.
        raise errors.UserError(problem)
    return None


def _misfit(image_name: Any, booted: dict[str, Any], flavor_name: Any, size: dict[str, Any]) -> str:
    """Return the reason, in Heat's words, for which Nova would refuse the server."""
    status, ram, disk = str(booted["status"]), booted.get("min_ram") or 0, booted.get("min_disk") or 0
    if status.lower() != "active":
        return f"Image status is required to be active not {status}."
    if size["ram"] < ram:
        return f"Image {image_name} requires {ram} minimum ram. Flavor {flavor_name} has only {size['ram']}."
    # With a disk of 0, a flavor leaves the size to the image.
    if 0 < size["disk"] < disk:
        return (f"Image {image_name} requires {disk} GB minimum disk space. Flavor {flavor_name} has only "
                f"{size['disk']} GB.")
    return ""


async def host(cloud: Cloud, value: Any) -> Any:
    """Find a compute host."""
    service = rest.Service(cloud, "compute", COMPUTE)
    if not await service.pages("/os-services", "services", {"binary": "nova-compute", "host": value}):
        raise missing("Host", value)
    return value


async def anything(cloud: Cloud, value: Any) -> Any:
    """Accept any value: networks of Nova do not exist any more."""
    return value


CONSTRAINTS: dict[str, Finder | Existence] = {
    "nova.server": Existence(server), "nova.keypair": Existence(keypair), "nova.flavor": Existence(flavor),
    "nova.host": Existence(host), "nova.network": Existence(anything), "glance.image": Existence(image),
    "cinder.volume": Existence(volume), "cinder.snapshot": Existence(volume_snapshot),
    "cinder.backup": Existence(volume_backup), "cinder.vtype": Existence(volume_type),
    "cinder.qos_specs": Existence(qos_specs),
    "keystone.domain": Existence(domain), "keystone.project": Existence(project), "keystone.user": Existence(user),
    "neutron.network": Existence(network), "neutron.subnet": Existence(subnet), "neutron.port": Existence(port),
    "neutron.router": Existence(router), "neutron.security_group": Existence(security_group),
    "neutron.subnetpool": Existence(subnetpool), "neutron.address_scope": Existence(address_scope),
    "neutron.qos_policy": Existence(qos_policy), "neutron.segment": Existence(segment),
    "octavia.loadbalancer": Existence(load_balancer), "octavia.listener": Existence(listener),
    "octavia.pool": Existence(pool), "octavia.flavor": Existence(load_balancer_flavor),
    "octavia.availabilityzone": Existence(load_balancer_zone),
    "nova.image_of_flavor": image_of_flavor,
}
