"""The contents of a new cloud: users and endpoints in Keystone, flavors, an image, networks, a volume type. Repeatable."""

from __future__ import annotations

from pathlib import Path

import yaml
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from tools.cloud.place import Place
from tools.cloud.table import OTHERS
from tools.identity import seed
from tools.identity.seed import Person

PEOPLE = {
    **seed.PEOPLE,
    "admin": Person("admin", "admin", ("admin", "heat_stack_owner")),
    "demo": Person("demo", "demo", ("member", "reader", "heat_stack_owner", "creator")),
}
ROLES = (*seed.ROLES, "swiftoperator", "ResellerAdmin")
# Name, memory in MB, processors, disk in GB.
FLAVORS = (("m1.nano", 64, 1, 1), ("m1.tiny", 512, 1, 1), ("m1.small", 2048, 1, 20), ("m1.medium", 4096, 2, 40),
           ("m1.large", 8192, 4, 80))


def fill_identity(place: Place) -> None:
    """Create the people, the users of the services, and the catalogue."""
    api = seed.Api(place.identity, seed.log_in(place.identity, PEOPLE["admin"]))
    for role in ROLES:
        api.ensure("role", role)
    seed.add_people(api, PEOPLE.values())
    seed.add_people(api, (Person(service.name, "service", ("admin", "service")) for service in OTHERS))
    for service in OTHERS:
        for endpoint in service.endpoints:
            seed.publish(api, endpoint.name, endpoint.type, place.fill(endpoint.url, service.name))


def write_clouds(place: Place) -> None:
    """Write clouds.yaml, with an entry for each of the people."""
    entries = {name: {
        "region_name": seed.REGION, "interface": "public", "identity_api_version": 3, "auth": {
            "auth_url": place.identity, "username": name, "password": seed.PASSWORD, "project_name": person.project,
            "user_domain_name": "Default", "project_domain_name": "Default"}} for name, person in PEOPLE.items()}
    (place.folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": entries}, sort_keys=False))


def connect(folder: Path, entry: str) -> Connection:
    """Connect with an entry of the cloud's clouds.yaml, whatever the environment says of other clouds."""
    region = OpenStackConfig(config_files=[str(folder / "clouds.yaml")], load_envvars=False).get_one(entry)
    connection = Connection(config=region)
    # The cloud is on the loopback interface: no proxy leads there.
    connection.session.session.trust_env = False
    return connection


def fill_cloud(place: Place) -> None:
    """Create everything that the tests find on the cloud."""
    with connect(place.folder, "admin") as admin:
        for name, ram, vcpus, disk in FLAVORS:
            if not admin.compute.find_flavor(name):
                admin.compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=disk)
        if not admin.image.find_image("cirros"):
            admin.image.create_image("cirros", disk_format="raw", container_format="bare", visibility="public",
                                     data=bytes(65536), validate_checksum=False, use_import=False)
        if not admin.block_storage.find_type("loopback"):
            admin.block_storage.create_type(name="loopback", extra_specs={"volume_backend_name": "loopback"})
        _fill_networks(admin)


def _fill_networks(admin: Connection) -> None:
    network = admin.network
    public = network.find_network("public") or network.create_network(
        name="public", is_router_external=True, provider_network_type="flat", provider_physical_network="public")
    if not network.find_subnet("public-subnet", network_id=public.id):
        network.create_subnet(
            name="public-subnet", network_id=public.id, ip_version=4, cidr="172.24.0.0/16", gateway_ip="172.24.0.1",
            is_dhcp_enabled=False, allocation_pools=[{"start": "172.24.1.1", "end": "172.24.255.250"}])
    own = {"project_id": next(one["id"] for one in admin.list_projects() if one["name"] == "demo")}
    private = next(iter(network.networks(name="private", **own)), None) or network.create_network(name="private", **own)
    if not list(network.subnets(network_id=private.id)):
        network.create_subnet(name="private-subnet", network_id=private.id, ip_version=4, cidr="10.0.0.0/24", **own)
