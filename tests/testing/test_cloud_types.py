"""Types of OpenStack pass the conformance kit, on a small cloud in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isotherm.testing import conformance
from tests.long_form import ALL
from tests.testing.cloud_examples import CLOUD, EXAMPLES, LEFT_OUT, NEED_A_CLOUD, SHORT

pytestmark = pytest.mark.long

test_cloud_types = conformance(*(EXAMPLES if ALL else SHORT))


@pytest.fixture(autouse=True, scope="module")
def _cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, CLOUD.running(tmp_path_factory.mktemp("cloud")) as clouds_yaml:
        patch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds_yaml))
        patch.delenv("OS_CLOUD", raising=False)
        yield


@pytest.fixture(autouse=True)
def _empty_cloud() -> None:
    CLOUD.objects.clear()


def test_every_type_of_a_cloud_has_an_example_or_a_reason() -> None:
    assert NEED_A_CLOUD - {one.type.TYPE for one in EXAMPLES} == LEFT_OUT.keys()
