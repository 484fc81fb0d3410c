"""Nothing that the clients can do is left out of these tests."""

from __future__ import annotations

import pytest

from tests.clients import test_openstack, test_openstack_beside, test_openstack_inside, test_sdk
from tests.clients.command import commands
from tests.clients.exercise import all_of
from tests.clients.sdk import calls


@pytest.mark.ledger("S2.2")
def test_every_command_of_heatclient() -> None:
    done = all_of(test_openstack, test_openstack_inside, test_openstack_beside)
    assert commands() - done == set(), "no test exercises these"
    assert done - commands() == set(), "heatclient has no such command"


def test_every_call_of_the_sdk() -> None:
    done = all_of(test_sdk)
    assert calls() - done == set(), "no test exercises these"
    assert done - calls() == set(), "openstacksdk has no such call"
