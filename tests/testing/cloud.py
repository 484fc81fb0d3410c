"""A small OpenStack in memory for the conformance kit: Keystone, and services whose objects are plain documents.

A collection takes POST, GET, PUT and DELETE as Neutron, Nova, Cinder and Octavia do. An object has the keys of its request,
those of `NEW` for its collection, and what all services add. `UNIQUE` says where a second object like one that exists is
refused.
"""

from __future__ import annotations

import atexit
import datetime
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

ENTRY = "fake"
_SERVICES = ("network", "compute", "volumev3", "load-balancer")
# How many parts of a path say the version, where it is not one.
_VERSION_PARTS = {"load-balancer": 2}
_PROJECT = {"id": "p1", "name": "demo"}
#: Keys that objects have when they are created, by collection.
NEW: dict[str, dict[str, Any]] = {
    "networks": {"status": "ACTIVE", "subnets": [], "tags": [], "admin_state_up": True, "description": ""},
    "subnets": {"tags": [], "description": "", "enable_dhcp": True, "dns_nameservers": [], "host_routes": []},
    "routers": {"status": "ACTIVE", "tags": [], "admin_state_up": True, "description": "", "external_gateway_info": None},
    "os-server-groups": {"members": [], "rules": {}},
    "volumes": {"status": "available", "attachments": [], "metadata": {}, "description": None, "bootable": "false"},
    "types": {"is_public": True, "extra_specs": {}, "description": None},
    "flavors": {"description": None},
    "os-keypairs": {"type": "ssh"},
    "ports": {"status": "ACTIVE", "tags": [], "fixed_ips": [], "admin_state_up": True, "device_id": ""},
    "trunks": {"status": "ACTIVE", "tags": [], "sub_ports": [], "admin_state_up": True},
    "floatingips": {"status": "DOWN", "tags": [], "port_id": None, "fixed_ip_address": None, "dns_domain": ""},
    "security-groups": {"security_group_rules": [], "stateful": True, "description": ""},
    "security-group-rules": {"description": ""},
    **{collection: {"provisioning_status": "ACTIVE", "tags": [], "admin_state_up": True, "description": ""}
       for collection in ("loadbalancers", "listeners", "pools", "healthmonitors", "members")},
}
#: The keys in which no two objects of a collection are equal.
UNIQUE: dict[str, tuple[str, ...]] = {
    "flavors": ("name",), "os-keypairs": ("name",), "types": ("name",),
    "security-group-rules": ("security_group_id", "protocol", "port_range_min"),
    "listeners": ("loadbalancer_id", "protocol_port"), "healthmonitors": ("pool_id",),
    "members": ("address", "protocol_port"),
}
#: Keys of lists that are not called as their paths are.
LISTS = {"types": "volume_types", "os-server-groups": "server_groups"}


class Cloud:
    """The cloud. `objects` are by collection and id."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        # Not closed when it stops: tests of a module may run in two parts, with others between them.
        atexit.register(self._server.server_close)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self, folder: Path) -> Iterator[Path]:
        """Serve inside of the context; yield the clouds.yaml that leads to the cloud."""
        auth = {"auth_url": self.url, "username": "ann", "password": "hidden-word", "project_name": "demo"}
        file = folder / "clouds.yaml"
        file.write_text(yaml.safe_dump({"clouds": {ENTRY: {"auth": auth, "region_name": "one"}}}))
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield file
        finally:
            self._server.shutdown()
            thread.join()

    def _token(self) -> dict[str, Any]:
        endpoint = {"interface": "public", "region_id": "one"}
        catalogue = [{"type": one, "endpoints": [{**endpoint, "url": f"{self.url}/{one}"}]} for one in _SERVICES]
        return {"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": catalogue, "project": _PROJECT,
                          "user": {"id": "u1"}}}

    def _answer(self, method: str, url: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(url)
        if parts.path.endswith("/auth/tokens"):
            return 201, self._token()
        service, *below = parts.path.strip("/").split("/")
        collection, *rest = below[_VERSION_PARTS.get(service, 1):]
        if rest[1:] and rest[1] in NEW:
            # The objects are below another one.
            collection, *rest = rest[1:]
        known = self.objects.setdefault(collection, {})
        match method, rest:
            case "POST", [] if self._is_refused(collection, body):
                return 409, {"conflictingRequest": {"code": 409, "message": f"such an object of {collection} exists"}}
            case "POST", []:
                return 201, self._create(collection, body)
            case "GET", [] | ["detail"]:
                return 200, {LISTS.get(collection, collection.replace("-", "_")): _chosen(known.values(), parts.query)}
            case _, [id_, *_] if id_ not in known:
                return 404, {"itemNotFound": {"code": 404, "message": f"{collection} {id_} could not be found."}}
            case "GET", [id_]:
                return 200, {known[id_]["_key"]: _shown(known[id_])}
            case "PUT", [id_, ("tags" | "metadata") as name]:
                known[id_][name] = body[name]
                return 200, body
            case "PUT", [id_]:
                [(key, changes)] = body.items()
                known[id_].update(changes)
                return 200, {key: _shown(known[id_])}
            case "DELETE", [id_]:
                del known[id_]
                return 204, None
        return 405, {"badMethod": {"code": 405, "message": f"{method} {url}"}}

    def _is_refused(self, collection: str, body: dict[str, Any]) -> bool:
        [(_, given), *_] = body.items()
        keys = UNIQUE.get(collection, ())
        return bool(keys) and any(all(one.get(key) == given.get(key) for key in keys)
                                  for one in self.objects[collection].values())

    def _create(self, collection: str, body: dict[str, Any]) -> dict[str, Any]:
        [(key, given), *_] = body.items()
        # Without a time zone, as Nova writes it.
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat()
        made = {**NEW[collection], "id": f"{next(self._numbers):08}-0000-0000-0000-000000000000", **given, "_key": key,
                "tenant_id": _PROJECT["id"], "project_id": _PROJECT["id"], "created_at": now}
        self.objects[collection][made["name" if collection == "os-keypairs" else "id"]] = made
        return {key: _shown(made)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = cloud._answer(self.command, self.path, json.loads(body) if body else None)
                content = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Subject-Token", "token")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - so the library wants it

            def log_message(self, *_: object) -> None:
                """Log nothing: the output of the tests stays readable."""

        return Handler


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "_key"}


def _chosen(objects: Any, query: str) -> list[dict[str, Any]]:
    """Return the objects that have one of the values of each parameter."""
    wanted: dict[str, set[str]] = {}
    for name, value in parse_qsl(query):
        # Cinder takes None for all values.
        wanted.setdefault(name, set()).update(() if value == "None" else (value,))
    return [_shown(one) for one in list(objects)
            if all(name not in one or not values or values & _texts(one[name]) for name, values in wanted.items())]


def _texts(value: Any) -> set[str]:
    return {str(one) for one in value} if isinstance(value, list) else {str(value)}
