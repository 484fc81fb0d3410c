"""The service itself: what version runs, and which workers there are.

A worker is up if it holds its lock at this moment: that is asked of the operating system, not of a clock. So the time at
which it was last seen is now.
"""

from __future__ import annotations

import socket
import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

import isotherm
from isotherm.api import answers, faults
from isotherm.api.call import Call
from isotherm.engine.presence import Known

# As Heat's engines say it of themselves. Nobody reports here; clients only show it.
_BINARY, _TOPIC, _INTERVAL_S = "heat-engine", "engine", 60
_NAMESPACE = uuid.UUID("0d4b8b57-7c1c-4f1a-9c62-0c6f6a1b7b60")


async def build_info(call: Call) -> Response:
    revision = {"revision": isotherm.__version__}
    return answers.json({"api": revision, "engine": revision})


async def index(call: Call) -> Response:
    found = call.service.workers()
    if not any(worker.alive for worker in found):
        raise faults.Fault(503, "All heat engines are down.", "HTTPServiceUnavailable")
    return answers.json({"services": [_view(worker) for worker in found]})


def _view(worker: Known) -> dict[str, Any]:
    host = socket.gethostname()
    id_ = str(uuid.uuid5(_NAMESPACE, worker.name))
    seen = datetime.now(UTC).timestamp() if worker.alive else worker.since
    return {
        "id": id_, "binary": _BINARY, "host": host, "hostname": host, "engine_id": id_, "topic": _TOPIC,
        "report_interval": _INTERVAL_S, "created_at": _time(worker.since), "updated_at": _time(seen), "deleted_at": None,
        "status": "up" if worker.alive else "down",
    }


def _time(at: float) -> str:
    """As only this answer of Heat's has it: with parts of a second, and without a zone."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
