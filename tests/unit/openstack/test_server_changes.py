"""Changes of a server in several steps, which an engine may take up at any moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm.resources.openstack import faults
from isotherm.resources.openstack.nova import server_changes

SMALL, LARGE = "1", "2"


class Server:
    """A server whose resize waits for its confirmation, and is being confirmed for a while after it."""

    name = "server"

    def __init__(self, refusal: str = "Instance has not been resized. (HTTP 400) from the service compute") -> None:
        self.properties: dict[str, Any] = {"flavor": LARGE, "diskConfig": None}
        self.status, self.flavor = "ACTIVE", SMALL
        self.asked: list[str] = []
        self._refusal = refusal

    async def shown(self) -> dict[str, Any]:
        return {"status": self.status, "flavor": {"id": self.flavor}, "OS-EXT-STS:task_state": None}

    async def act(self, action: str, arguments: object = None, headers: Any = None) -> Any:
        if action in self.asked:
            raise faults.Rejected(self._refusal)
        self.asked.append(action)
        if action == "resize":
            self.status, self.flavor = "VERIFY_RESIZE", LARGE

    async def user_data(self) -> str:
        return ""


def step(server: Server, progress: dict[str, Any]) -> str:
    return asyncio.run(server_changes.resize(server, progress))


def test_a_resize_is_confirmed_once_although_nova_shows_no_task() -> None:
    server, progress = Server(), dict[str, Any]()
    assert step(server, progress)
    for _ in range(3):
        assert "confirmed" in step(server, progress)
    assert server.asked == ["resize", "confirmResize"]
    server.status = "ACTIVE"
    assert step(server, progress) == ""


def test_an_engine_that_takes_over_waits_for_a_confirmation_under_way() -> None:
    server, progress = Server(), dict[str, Any]()
    step(server, progress)
    step(server, dict(progress))
    assert "confirmed" in step(server, progress)


def test_another_refusal_is_an_error() -> None:
    server, progress = Server("not allowed"), dict[str, Any]()
    step(server, progress)
    server.asked.append("confirmResize")
    with pytest.raises(faults.Rejected, match="not allowed"):
        step(server, progress)


class Rebuilt(Server):
    """A server whose rebuild is refused a number of times."""

    def __init__(self, words: str, refusals: int) -> None:
        super().__init__()
        self.properties |= {"image": "i", "metadata": {}, "admin_pass": None, "image_update_policy": "REBUILD",
                            "personality": None}
        self._words, self._refusals = words, refusals

    async def act(self, action: str, arguments: object = None, headers: Any = None) -> Any:
        self.asked.append(action)
        if len(self.asked) <= self._refusals:
            raise faults.Rejected(self._words)


def rebuild(server: Server, times: int) -> str:
    progress: dict[str, Any] = {}
    return [asyncio.run(server_changes.rebuild(server, progress)) for _ in range(times)][-1]


def test_a_rebuild_waits_for_a_volume_that_is_being_detached() -> None:
    server = Rebuilt("volume 'v' status must be 'in-use'. Currently in 'detaching' status (HTTP 400)", 2)
    assert rebuild(server, 4) == ""
    assert server.asked == ["rebuild"] * 3


@pytest.mark.parametrize(("words", "refusals"), [("status must be 'in-use'. Currently in 'error' status", 1000), ("no", 1)])
def test_a_rebuild_that_stays_refused_fails(words: str, refusals: int) -> None:
    with pytest.raises(faults.Rejected, match=words):
        rebuild(Rebuilt(words, refusals), 100)
