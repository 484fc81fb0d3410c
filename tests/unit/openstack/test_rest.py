"""The meaning of services' answers: failures, and errors that pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import faults, rest
from isotherm.sim.world.twin import Twin, TwinRequest, refusal


class Refusing:
    """A service that refuses every request with one status."""

    def __init__(self, status: int, **headers: str) -> None:
        self._reply = refusal(status, "no host is free", **headers)

    async def answer(self, asked: TwinRequest) -> Reply:
        return self._reply


def refused(method: str, status: int, **headers: str) -> errors.CloudError:
    """Return the error that a refused request raises."""
    service: Any = rest.Service(Twin({"compute": Refusing(status, **headers)}), "compute")
    with pytest.raises(errors.CloudError) as caught:
        asyncio.run(service.send(method, "/servers/1"))
    return caught.value


@pytest.mark.parametrize(("method", "status", "kind"), [
    ("GET", 404, faults.NoSuchObject), ("DELETE", 410, faults.NoSuchObject), ("POST", 409, faults.InUse),
    ("POST", 400, faults.Rejected), ("POST", 403, faults.Rejected), ("PUT", 413, faults.Rejected),
    ("POST", 500, faults.ServiceError), ("DELETE", 500, faults.ServiceError),
    # A service that fails to read is asked again: what it is asked for may be there all the same.
    ("GET", 500, errors.Temporary), ("HEAD", 500, errors.Temporary), ("GET", 503, errors.Temporary),
    ("POST", 503, errors.Temporary), ("POST", 429, errors.NotBegun),
])
def test_the_status_says_what_kind_of_error_it_is(method: str, status: int, kind: type[errors.CloudError]) -> None:
    assert type(refused(method, status)) is kind


def test_an_error_has_the_words_of_the_service_and_the_id_of_the_request() -> None:
    text = str(refused("POST", 400, x_openstack_request_id="req-7"))
    assert text == "no host is free (HTTP 400) (Request-ID: req-7) from the service compute"


def test_a_service_says_when_to_ask_again() -> None:
    for status in (413, 429, 503):
        error = refused("POST", status, retry_after="7")
        assert isinstance(error, errors.Temporary)
        assert error.retry_after_s == 7
