"""A volume that is detached while its server is rebuilt: Nova refuses for a moment, and still has the attachment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm.resources.openstack import faults
from isotherm.resources.openstack.cinder import attachments

BETWEEN = "volume 'v' status must be 'in-use'. Currently in 'available' status (HTTP 400) from the service compute"
ROOT = "Cannot detach a root device volume (HTTP 403) from the service compute"


class Compute:
    """A Nova that refuses a detach."""

    def __init__(self, words: str, *, is_attached: bool) -> None:
        self._words, self._is_attached = words, is_attached

    async def delete(self, path: str) -> None:
        raise faults.Rejected(self._words)

    async def find(self, path: str) -> Any:
        return {"volumeAttachment": {}} if self._is_attached else None


@pytest.mark.parametrize(("words", "is_attached", "means"), [
    (BETWEEN, True, faults.InUse), (ROOT, True, faults.Rejected), (BETWEEN, False, faults.NoSuchObject)])
def test_a_detach_that_is_refused(words: str, is_attached: bool, means: type[Exception]) -> None:
    compute: Any = Compute(words, is_attached=is_attached)
    with pytest.raises(means):
        asyncio.run(attachments.detach(compute, "s", "v"))
