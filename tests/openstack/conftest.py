"""A small real OpenStack, and a project of its own on it for each test.

This folder is no package: `openstack` would then be this folder to each test that imports openstacksdk.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli.main import main
from tests import clouds, leftovers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder that need a cloud, and ignore the SDK's announcements of its own next release.

    The marks are set before `-m` reads them.
    """
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore::openstack.warnings._RemovedInSDKWarning"))
            if "cloud" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.cloud)


@pytest.fixture(scope="session")
def cloud() -> Iterator[Path]:
    """Yield the folder of the running cloud; skip the test if there is none."""
    found = clouds.folder()
    if found is None:
        pytest.skip(f"{clouds.NO_CLOUD}: {clouds.VARIABLE} names none, see docs/testing.md")
    assert (found / "clouds.yaml").exists(), f"{clouds.VARIABLE}={found}: no cloud is there, start it with `make cloud`"
    with pytest.MonkeyPatch.context() as patch:
        # The cloud is on the loopback interface: no proxy leads there.
        for name in ("no_proxy", "NO_PROXY"):
            patch.setenv(name, ",".join(filter(None, ("127.0.0.1", "localhost", os.environ.get(name)))))
        yield found


@pytest.fixture
def cloud_project(cloud: Path, tmp_path: Path) -> Iterator[clouds.CloudProject]:
    """Yield an empty project with a user of its own. Anything that the test leaves in it fails the test."""
    with clouds.project(cloud, tmp_path) as made:
        yield made


@pytest.fixture
def run(
    cloud_project: clouds.CloudProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., str]:
    """Return a function that runs a command of the CLI in the test's project, with the text of a template if it is
    given, and that returns what the command prints."""
    for name, value in cloud_project.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, template: str = "", code: int = 0) -> str:
        named: list[str] = []
        if template:
            Path("template.yaml").write_text(template)
            named = ["-t", "template.yaml"]
        ended = main([*arguments, *named])
        output = capsys.readouterr()
        assert ended == code, output.out + output.err
        return output.out

    return call


@pytest.fixture
def around(cloud_project: clouds.CloudProject) -> Iterator[dict[str, str]]:
    """Yield the ids of objects that the changes need and no template has."""
    sdk: Any = cloud_project.sdk
    admin: Any = cloud_project.admin
    name = f"drift-{secrets.token_hex(4)}"
    policy = admin.network.create_qos_policy(name=name, shared=True)
    image = sdk.image.create_image(name, disk_format="raw", container_format="bare", data=bytes(65536),
                                   validate_checksum=False, use_import=False)
    type_ = admin.block_storage.create_type(name=name, extra_specs={"volume_backend_name": "loopback"})
    flavor: Any = sdk.compute.find_flavor("m1.tiny")
    try:
        yield {"policy": policy.id, "image": image.id, "type": type_.id, "flavor": flavor.id}
    finally:
        sdk.image.delete_image(image)
        left = leftovers.removed(sdk, cloud_project.id, cloud_project.user_id)
        admin.block_storage.delete_type(type_)
        admin.network.delete_qos_policy(policy)
        assert left == []
