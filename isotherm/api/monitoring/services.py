"""Handles build_info and the list of engines, in Heat's form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

import isotherm
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call
from isotherm.engine.process.heartbeat import PERIOD_S
from isotherm.engine.process.service_list import ServiceStatus

# The names that Heat's engines report.
_BINARY, _TOPIC = "heat-engine", "engine"


async def build_info(call: Call) -> Response:
    revision = {"revision": isotherm.__version__}
    return responses.json({"api": revision, "engine": revision})


async def index(call: Call) -> Response:
    found = await call.service.engines()
    if not any(one.alive for one in found):
        raise faults.Fault(503, "All heat engines are down.", "HTTPServiceUnavailable")
    return responses.json({"services": [_view(one) for one in found]})


def _view(one: ServiceStatus) -> dict[str, Any]:
    engine = one.service
    return {
        "id": engine.id, "binary": _BINARY, "host": engine.host, "hostname": engine.host, "engine_id": engine.id,
        "topic": _TOPIC, "report_interval": int(PERIOD_S), "created_at": _time(engine.started_at),
        "updated_at": _time(engine.seen_at), "deleted_at": None, "status": "up" if one.alive else "down",
    }


def _time(at: float) -> str:
    """Format a time as this response of Heat has it: with microseconds, without a zone."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
