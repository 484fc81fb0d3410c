"""Projects on a small real OpenStack, one for each test. ISOTHERM_TEST_CLOUD names the folder of the running cloud."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from tests import leftovers

VARIABLE = "ISOTHERM_TEST_CLOUD"
#: The first words of the reason with which tests are skipped; tests/conftest.py counts and names them.
NO_CLOUD = "NO CLOUD, SO NOT TESTED"
ROLES = ("member", "reader", "heat_stack_owner", "creator")
ENTRY = "test"


@dataclass(frozen=True, slots=True)
class CloudProject:
    """A project on the cloud, with one user."""

    name: str
    id: str
    user_id: str
    password: str
    clouds_yaml: Path
    sdk: Connection
    admin: Connection
    #: The entry of `clouds_yaml`, for OS_CLOUD and --os-cloud.
    cloud: str = ENTRY

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables with which a process uses this project."""
        return {"OS_CLIENT_CONFIG_FILE": str(self.clouds_yaml), "OS_CLOUD": self.cloud}


def folder() -> Path | None:
    """Return the folder of the running cloud, where the environment names one."""
    named = os.environ.get(VARIABLE)
    return Path(named).resolve() if named else None


def connect(clouds_yaml: Path, entry: str) -> Connection:
    """Connect with an entry of the file, whatever the environment says of other clouds."""
    region = OpenStackConfig(config_files=[str(clouds_yaml)], load_envvars=False).get_one(entry)
    return Connection(config=region)


@contextlib.contextmanager
def project(cloud: Path, scratch: Path) -> Iterator[CloudProject]:
    """Make a project and a user; delete them on exit, with everything in them. Fail if anything was left in them."""
    with connect(cloud / "clouds.yaml", "admin") as admin:
        identity: Any = admin.identity  # v3: the SDK's type is that of v2 or v3
        name = f"test-{secrets.token_hex(4)}"
        password = secrets.token_urlsafe(12)
        made = identity.create_project(name=name, domain_id="default")
        user = identity.create_user(name=name, password=password, domain_id="default", default_project_id=made.id)
        roles = {role.name: role.id for role in identity.roles()}
        for role in ROLES:
            identity.assign_project_role_to_user(made.id, user.id, roles[role])
        clouds_yaml = _write(cloud, scratch, name, password)
        left: list[str] = []
        try:
            with connect(clouds_yaml, ENTRY) as sdk:
                try:
                    yield CloudProject(name, made.id, user.id, password, clouds_yaml, sdk, admin)
                finally:
                    left = leftovers.removed(sdk, made.id, user.id)
        finally:
            leftovers.forget_default_groups(admin, made.id)
            identity.delete_user(user.id)
            identity.delete_project(made.id)
        assert left == [], f"left in the project: {', '.join(left)}"


def promote(made: CloudProject) -> None:
    """Give the user of a project the rights of an administrator."""
    identity: Any = made.admin.identity  # v3: the SDK's type is that of v2 or v3
    [role] = identity.roles(name="admin")
    identity.assign_project_role_to_user(made.id, made.user_id, role.id)
    # A token that is known already has the former roles.
    made.sdk.session.invalidate()


def _write(cloud: Path, scratch: Path, name: str, password: str) -> Path:
    """Write a clouds.yaml whose entry is the administrator's with another user and project."""
    entry = yaml.safe_load((cloud / "clouds.yaml").read_text())["clouds"]["admin"]
    entry["auth"].update(username=name, password=password, project_name=name)
    made = scratch / "clouds.yaml"
    made.write_text(yaml.safe_dump({"clouds": {ENTRY: entry}}))
    made.chmod(0o600)
    return made
