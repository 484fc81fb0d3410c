"""Sites for tempest: a service with a Keystone of its own, or one that makes its resources in a real cloud.

Each site says how tempest.conf differs, and runs Isotherm with the path that is asked for.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools import cloud, instance, keystone
from tools.identity import seed

HIDDEN = "hidden"
# The services of a cloud, as tempest.conf names them.
_SERVICES = ("nova", "neutron", "glance", "cinder", "swift")
_ON_CLOUD = """\
minimal_image_ref = cirros
image_ref = cirros
minimal_instance_type = m1.nano
instance_type = m1.nano
fixed_network_name = private
fixed_subnet_name = private-subnet
floating_network_name = public
volume_size = 1
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A running site: the address of its Keystone, and the parts of tempest.conf that differ."""

    v3: str
    has_cloud: bool

    @property
    def services(self) -> str:
        """Return the lines of the section of services that tests may use."""
        return "".join(f"{name} = {str(self.has_cloud).lower()}\n" for name in _SERVICES)

    @property
    def cloud(self) -> str:
        """Return the lines that name the cloud's contents."""
        return _ON_CLOUD if self.has_cloud else ""

    @property
    def timeout_s(self) -> int:
        """Return how long a test waits. Servers and load balancers of a busy machine take minutes."""
        return 900 if self.has_cloud else 120


def _options(identity: dict[str, str], *, legacy: bool, **more: str) -> instance.Options:
    return instance.with_keystone(
        identity, hidden_stack_tags=HIDDEN, enable_stack_abandon="true", enable_stack_adopt="true",
        mask_hidden_outputs="false", convergence_engine=str(not legacy).lower(), **more)


@contextlib.contextmanager
def without_cloud(folder: Path, *, legacy: bool) -> Iterator[Site]:
    """Run Isotherm and Keystone, each configured with the other's address."""
    with keystone.started(folder / "keystone") as identity, \
            instance.isotherm(folder / "isotherm", _options(identity.options(), legacy=legacy)) as service:
        identity.point(service.url)
        yield Site(identity.v3, has_cloud=False)


@contextlib.contextmanager
def on_cloud(folder: Path, *, legacy: bool) -> Iterator[Site]:
    """Run Isotherm beside a real cloud: the one that the environment names, or one that runs for this.

    The cloud's catalogue has the service while it runs.
    """
    with contextlib.ExitStack() as stack:
        named = os.environ.get("ISOTHERM_TEST_CLOUD")
        place = Path(named) if named else stack.enter_context(cloud.running())
        v3 = str(yaml.safe_load((place / "clouds.yaml").read_text())["clouds"]["admin"]["auth"]["auth_url"])
        api = seed.Api(v3, seed.log_in(v3, seed.PEOPLE["admin"]))
        options = _options(keystone.options(v3), legacy=legacy, **seed.stack_domain(api))
        service = stack.enter_context(instance.isotherm(folder / "isotherm", options))
        seed.publish(api, "isotherm", "orchestration", f"{service.url}/v1/%(project_id)s")
        stack.callback(_withdraw, v3)
        yield Site(v3, has_cloud=True)


def _withdraw(v3: str) -> None:
    """Remove the service from the catalogue."""
    api = seed.Api(v3, seed.log_in(v3, seed.PEOPLE["admin"]))
    for one in api.call("GET", "/services?name=isotherm")["services"]:
        api.call("DELETE", f"/services/{one['id']}")
