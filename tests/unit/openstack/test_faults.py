"""The errors that answers of OpenStack's services mean. The bodies are those of the services themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from isotherm import errors
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import faults

QUOTA = {"overLimit": {"code": 413, "message": "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for "
                       "quota 'volumes'.", "retryAfter": "0"}}
RATE = {"overLimit": {"code": 413, "message": "This request was rate-limited.", "retryAfter": "7"}}


def error(status: int, body: object, headers: Mapping[str, str] | None = None) -> errors.CloudError:
    return faults.of("volume", Reply(status, headers or {}, json.dumps(body).encode()))


def test_a_quota_is_not_waited_for() -> None:
    """Cinder tells a used up quota as it tells a rate limit, but for the pause."""
    refused = error(413, QUOTA, {"retry-after": "0"})
    assert isinstance(refused, faults.Rejected)
    assert "exceeded for quota 'volumes'" in str(refused)


@pytest.mark.parametrize(("status", "pause"), [(413, "7"), (429, "7"), (429, "0")])
def test_a_rate_limit_is_waited_for(status: int, pause: str) -> None:
    limited = error(status, RATE, {"retry-after": pause})
    assert isinstance(limited, errors.NotBegun)


def test_a_quota_told_by_a_conflict_is_no_object_in_use() -> None:
    exceeded = {"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['network']."}}
    assert isinstance(error(409, exceeded), faults.Rejected)
    assert isinstance(error(409, {"NeutronError": {"message": "There are one or more ports still in use"}}), faults.InUse)
