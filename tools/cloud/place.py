"""The folder of a cloud: its ports, its addresses, and the values that templates and commands are filled with."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from string import Template

from tools.identity import seed
from tools.services import processes
from tools.services.processes import LOOPBACK

PARTS = Path(__file__).resolve().parent
TEMPLATES, PLUGINS = PARTS / "templates", PARTS / "plugins"
PORTS = ("keystone", "glance", "placement", "nova", "neutron", "cinder", "swift", "account", "container", "object",
         "octavia")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, the environment of its programs, and its servers."""

    folder: Path
    python: Path
    ports: dict[str, int]
    #: URLs of MariaDB, without the name of a database, and of RabbitMQ.
    database: str
    transport: str

    @property
    def etc(self) -> Path:
        return self.folder / "etc"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def identity(self) -> str:
        return f"{self.url('keystone')}/v3"

    def url(self, service: str) -> str:
        return f"http://{LOOPBACK}:{self.ports[service]}"

    def fill(self, text: str, service: str) -> str:
        """Replace the placeholders of a template or a command of a service."""
        return Template(text).substitute(self._values(service))

    def environment(self) -> dict[str, str]:
        """Return the environment of all programs: no settings of other clouds, no proxy, our drivers."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        return {**kept, "PATH": f"{self.python.parent}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
                "PYTHONPATH": str(PLUGINS), "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1",
                "LC_ALL": "C.UTF-8", "no_proxy": f"{LOOPBACK},localhost", "NO_PROXY": f"{LOOPBACK},localhost"}

    def _values(self, service: str) -> dict[str, str]:
        credentials = "\n".join((
            "auth_type = password", f"auth_url = {self.identity}", f"username = {service}", f"password = {seed.PASSWORD}",
            "user_domain_name = Default", "project_name = service", "project_domain_name = Default",
            f"region_name = {seed.REGION}"))
        authtoken = "\n".join((
            f"www_authenticate_uri = {self.url('keystone')}", credentials, "service_token_roles = service",
            "service_token_roles_required = true"))
        return {
            "address": LOOPBACK, "region": seed.REGION, "password": seed.PASSWORD, "user": str(os.getuid()),
            "group": str(os.getgid()), "identity": self.identity, "etc": str(self.etc), "log": str(self.log),
            "state": str(self.folder / "state" / service), "bin": str(self.python.parent),
            "prefix": str(self.python.parent.parent), "database": self.database, "transport": self.transport,
            "credentials": credentials, "authtoken": authtoken,
            **{f"port_{name}": str(port) for name, port in self.ports.items()},
            **{f"url_{name}": self.url(name) for name in self.ports}}


def ports_of(folder: Path) -> dict[str, int]:
    """Return the ports of a cloud. They are drawn once, since Keystone's catalogue and Swift's rings contain them."""
    file = folder / "ports.json"
    known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    missing = [name for name in PORTS if name not in known]
    if missing:
        known.update(zip(missing, processes.free_ports(len(missing)), strict=True))
        file.write_text(json.dumps(known, indent=2))
    return known
