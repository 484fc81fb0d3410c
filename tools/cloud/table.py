"""The services of the cloud as a table: databases, configuration, preparation, daemons and endpoints of each.

Texts are templates: `$etc`, `$state`, `$port_nova`, `$url_glance` and others (see `place.Place.fill`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process that is started, and the URL that answers once it is ready."""

    name: str
    command: str
    ready: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An entry of Keystone's catalogue."""

    name: str
    type: str
    url: str


@dataclass(frozen=True, slots=True)
class Service:
    """A service, with the user of the same name that it logs in as."""

    name: str
    #: Templates of its configuration, written to `$etc/NAME`.
    files: tuple[str, ...]
    #: Commands that are run once, one after the other.
    prepare: tuple[str, ...]
    daemons: tuple[Daemon, ...]
    endpoints: tuple[Endpoint, ...] = ()
    databases: tuple[str, ...] = ()


def api(name: str, module: str, port: str, more: str = "", **environment: str) -> Daemon:
    """Describe an API that uwsgi serves."""
    command = (f"$bin/uwsgi --http-socket $address:$port_{port} --module {module}:application --need-app --enable-threads "
               "--threads 8 --processes 1 --die-on-term --buffer-size 65535 --add-header 'Connection: close' "
               f"--disable-logging --listen 100 --procname-prefix '{name} ' {more}")
    return Daemon(name, command, f"$url_{port}/", environment)


def together(name: str, **daemons: str) -> Daemon:
    """Describe daemons that share a process tree: `nova_conductor="MODULE=CONFIG"`."""
    words = " ".join(f"{one.replace('_', '-')}={text}" for one, text in daemons.items())
    return Daemon(name, f"$bin/python -m loopback.together $log {words}")


_KEYSTONE = "--config-file $etc/keystone/keystone.conf"
_OWNER = "--keystone-user $user --keystone-group $group"
_NOVA = "--config-file $etc/nova/nova-compute.conf --config-file $etc/nova/nova.conf"
_NOVA_FILES = "$etc/nova/nova-compute.conf,$etc/nova/nova.conf"
_CINDER = "$etc/cinder/cinder.conf"
# Nova fills these in from its own configuration, so that the ports of the servers may change.
_CELL_DATABASE = "'{scheme}://{username}:{password}@{hostname}:{port}/%s?{query}'"
_CELL_TRANSPORT = "'{scheme}://{username}:{password}@{hostname}:{port}/{path}'"
_SWIFT = "account:$port_account container:$port_container object:$port_object"

KEYSTONE = Service(
    "keystone", ("keystone.conf",),
    (f"$bin/python -m loopback.manage keystone.cmd.manage {_KEYSTONE} db_sync -- {_KEYSTONE} fernet_setup {_OWNER} -- "
     f"{_KEYSTONE} credential_setup {_OWNER} -- {_KEYSTONE} bootstrap --bootstrap-password $password "
     "--bootstrap-region-id $region --bootstrap-public-url $identity --bootstrap-internal-url $identity "
     "--bootstrap-admin-url $identity",),
    (api("keystone", "keystone.wsgi.api", "keystone", OS_KEYSTONE_CONFIG_DIR="$etc/keystone"),),
    databases=("keystone",))

OTHERS = (
    Service(
        "nova", ("nova-compute.conf", "nova.conf"),
        (f"$bin/python -m loopback.manage nova.cmd.manage {_NOVA} api_db sync -- "
         f"{_NOVA} cell_v2 map_cell0 --database_connection {_CELL_DATABASE % 'nova_cell0'} -- "
         f"? {_NOVA} cell_v2 create_cell --name cell1 --database_connection {_CELL_DATABASE % 'nova'} "
         f"--transport-url {_CELL_TRANSPORT} -- {_NOVA} db sync",),
        (together("nova", nova_conductor=f"nova.cmd.conductor={_NOVA_FILES}",
                  nova_scheduler=f"nova.cmd.scheduler={_NOVA_FILES}",
                  nova_compute="loopback.compute=$etc/nova/nova-compute.conf"),
         api("nova-api", "loopback.quick_api", "nova", LOOPBACK_APPLICATION="nova.wsgi.osapi_compute",
             OS_NOVA_CONFIG_DIR="$etc/nova",
             OS_NOVA_CONFIG_FILES="$prefix/etc/nova/api-paste.ini;nova-compute.conf;nova.conf",
             OS_NOVA_DISABLE_EVENTLET_PATCHING="1")),
        (Endpoint("nova", "compute", "$url_nova/v2.1"),),
        ("nova", "nova_api", "nova_cell0")),
    Service(
        "neutron", ("neutron.conf",),
        ("$bin/neutron-db-manage --config-file $etc/neutron/neutron.conf upgrade heads",),
        (api("neutron", "neutron.wsgi.api", "neutron", OS_NEUTRON_CONFIG_DIR="$etc/neutron",
             OS_NEUTRON_CONFIG_FILES="neutron.conf"),),
        (Endpoint("neutron", "network", "$url_neutron"),),
        ("neutron",)),
    Service(
        "cinder", ("cinder.conf",),
        (f"$bin/cinder-manage --config-file {_CINDER} db sync",),
        (together("cinder", cinder_scheduler=f"cinder.cmd.scheduler={_CINDER}",
                  cinder_volume=f"cinder.cmd.volume={_CINDER}", cinder_backup=f"cinder.cmd.backup={_CINDER}"),
         api("cinder-api", "loopback.quick_api", "cinder", f"--pyargv '--config-file {_CINDER}'",
             LOOPBACK_APPLICATION="cinder.wsgi.api")),
        (Endpoint("cinderv3", "volumev3", "$url_cinder/v3/%(project_id)s"),
         Endpoint("cinder", "block-storage", "$url_cinder/v3/%(project_id)s")),
        ("cinder",)),
    Service(
        "glance", ("glance-api.conf",),
        ("$bin/glance-manage --config-file $etc/glance/glance-api.conf db_sync",),
        (Daemon("glance", "$bin/glance-api --config-file $etc/glance/glance-api.conf", "$url_glance/versions"),),
        (Endpoint("glance", "image", "$url_glance"),),
        ("glance",)),
    Service(
        "placement", ("placement.conf",),
        ("$bin/placement-manage --config-file $etc/placement/placement.conf db sync",),
        (api("placement", "placement.wsgi.api", "placement", OS_PLACEMENT_CONFIG_DIR="$etc/placement"),),
        (Endpoint("placement", "placement", "$url_placement"),),
        ("placement",)),
    Service(
        "swift", ("swift.conf", "account.conf", "container.conf", "object.conf", "proxy.conf"),
        (f"$bin/python -m loopback.swift_rings $etc/swift $state/devices {_SWIFT}",),
        (Daemon("swift", f"$bin/python -m loopback.swift_servers $etc/swift {_SWIFT} proxy:$port_swift",
                "$url_swift/healthcheck"),),
        (Endpoint("swift", "object-store", "$url_swift/v1/AUTH_%(project_id)s"),)),
    Service(
        "octavia", ("octavia.conf", "policy.yaml"),
        ("$bin/octavia-db-manage --config-file $etc/octavia/octavia.conf upgrade head",),
        (api("octavia", "loopback.octavia_api", "octavia", OCTAVIA_CONF="$etc/octavia/octavia.conf"),),
        (Endpoint("octavia", "load-balancer", "$url_octavia"),),
        ("octavia",)),
)
SERVICES = (KEYSTONE, *OTHERS)
