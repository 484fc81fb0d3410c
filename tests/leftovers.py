"""Objects that a test has left in its project on the cloud: found, named and deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from openstack import exceptions
from openstack.connection import Connection

PATIENCE_S = 240.0


class Kind(NamedTuple):
    """A kind of objects: how those of a project are listed, and how one is deleted."""

    name: str
    list: Callable[[], Iterable[Any]]
    delete: Callable[[Any], object]


def removed(sdk: Connection, project_id: str, user_id: str) -> list[str]:
    """Delete everything that is left in a project; return the objects as texts, none if it was empty.

    A kind is deleted before those that it uses, and all are named before the first is deleted.
    """
    identity: Any = sdk.identity  # v3: the SDK's type is that of v2 or v3
    kinds = [*_load_balancers(sdk, project_id), *_compute(sdk), *_network(sdk, project_id), *_storage(sdk, project_id),
             Kind("trust", lambda: identity.trusts(trustor_user_id=user_id), identity.delete_trust)]
    left = [f"{kind.name} {_text(one)}" for kind in kinds for one in kind.list()]
    for kind in kinds if left else ():
        _delete(kind)
    return left


def forget_default_groups(admin: Connection, project_id: str) -> None:
    """Delete the default security group, which only an administrator may.

    Neutron makes one at the first look: a list of this project's groups would make it again.
    """
    for group in admin.network.security_groups(name="default"):
        if group.project_id == project_id:
            admin.network.delete_security_group(group)


def _load_balancers(sdk: Connection, project_id: str) -> Iterator[Kind]:
    if sdk.config.get_session().get_endpoint(service_type="load-balancer"):
        proxy = sdk.load_balancer
        # An administrator would see those of all projects.
        yield Kind("load balancer", lambda: proxy.load_balancers(project_id=project_id),
                   lambda one: proxy.delete_load_balancer(one, cascade=True))


def _compute(sdk: Connection) -> Iterator[Kind]:
    compute = sdk.compute
    # For a moment Nova still lists a server that it has deleted, with this status.
    yield Kind("server", lambda: (one for one in compute.servers() if one.status != "DELETED"),
               lambda one: compute.delete_server(one, force=True))
    yield Kind("key pair", compute.keypairs, compute.delete_keypair)
    yield Kind("server group", compute.server_groups, compute.delete_server_group)


def _network(sdk: Connection, project_id: str) -> Iterator[Kind]:
    network, own = sdk.network, {"project_id": project_id}

    def clear(router: Any) -> None:
        network.update_router(router, routes=[])
        for port in network.ports(device_id=router.id):
            if port.device_owner == "network:router_interface":
                network.remove_interface_from_router(router, port=port.id)
        network.delete_router(router)

    def cut(trunk: Any) -> None:
        network.update_trunk(trunk, is_admin_state_up=True)
        network.delete_trunk(trunk)

    yield Kind("trunk", lambda: network.trunks(**own), cut)
    yield Kind("floating ip", lambda: network.ips(**own), network.delete_ip)
    yield Kind("router", lambda: network.routers(**own), clear)
    yield Kind("port", lambda: network.ports(**own), network.delete_port)
    yield Kind("network", lambda: network.networks(**own), network.delete_network)
    yield Kind("subnet pool", lambda: network.subnet_pools(**own), network.delete_subnet_pool)
    yield Kind("address scope", lambda: network.address_scopes(**own), network.delete_address_scope)
    yield Kind("QoS policy", lambda: network.qos_policies(**own), network.delete_qos_policy)
    yield Kind("security group", lambda: (one for one in network.security_groups(**own) if one.name != "default"),
               network.delete_security_group)


def _storage(sdk: Connection, project_id: str) -> Iterator[Kind]:
    volumes, objects, images = sdk.block_storage, sdk.object_store, sdk.image

    def empty(container: Any) -> None:
        for one in list(objects.objects(container)):
            objects.delete_object(one, container=container)
        objects.delete_container(container)

    yield Kind("volume backup", volumes.backups, volumes.delete_backup)
    yield Kind("volume snapshot", volumes.snapshots, volumes.delete_snapshot)
    yield Kind("volume", volumes.volumes, lambda one: volumes.delete_volume(one, cascade=True))
    yield Kind("image", lambda: images.images(owner=project_id), images.delete_image)
    yield Kind("container", objects.containers, empty)


def _text(one: Any) -> str:
    """Return the name and the id of an object. Neutron's ports mostly have no name."""
    return " ".join(dict.fromkeys(text for text in (one.name, one.id) if text))


def _delete(kind: Kind) -> None:
    """Delete all objects of a kind, and wait until they are gone. A busy one is asked again."""
    deadline = time.monotonic() + PATIENCE_S
    while found := list(kind.list()):
        for one in found:
            try:
                kind.delete(one)
            except (exceptions.NotFoundException, exceptions.ConflictException, exceptions.BadRequestException) as error:
                if time.monotonic() > deadline:
                    raise AssertionError(f"{kind.name} {_text(one)} cannot be deleted: {error}") from error
        assert time.monotonic() < deadline, f"{kind.name} {_text(found[0])} is still there"
        time.sleep(0.1)
