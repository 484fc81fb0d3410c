"""Handles software configs and software deployments.

Heat checks little of these bodies and answers 500 to some mistakes. This API checks the type of each field and answers 400
with its name.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from isotherm.api.http import faults, queries, responses
from isotherm.api.request.call import Call
from isotherm.resources.context.software import Config, Deployment

_CONFIGS: Final = "software_configs"
_DEPLOYMENTS: Final = "software_deployments"
NAME_LENGTH, PROJECT_LENGTH, REASON_LENGTH = 255, 64, 65_535


async def configs(call: Call) -> Response:
    limit = queries.non_negative("limit", call.query["limit"]) if "limit" in call.query else None
    everywhere = call.caller.is_admin
    if call.flag("global_tenant"):
        call.check_policy("software_configs:global_index")
        everywhere = True
    found = await call.orchestrator.software.configs(limit=limit, marker=call.query.get("marker"), everywhere=everywhere)
    if not call.caller.is_admin:
        found = [{key: value for key, value in one.items() if key != "project"} for one in found]
    return responses.json({"software_configs": found})


async def create_config(call: Call) -> Response:
    given = await call.body()
    asked = Config("", _text(given, "name"), _text(given, "group"), given.get("config"), _entries(given, "inputs"),
                   _entries(given, "outputs"), _map(given, "options") or {})
    return responses.json({"software_config": await call.orchestrator.software.create_config(asked)})


async def show_config(call: Call) -> Response:
    id_ = call.path["config_id"]
    found = await call.owned(_CONFIGS, id_, lambda: call.orchestrator.software.config(id_))
    return responses.json({"software_config": found})


async def delete_config(call: Call) -> Response:
    id_ = call.path["config_id"]
    await call.owned(_CONFIGS, id_, lambda: call.orchestrator.software.delete_config(id_))
    return responses.no_content()


async def deployments(call: Call) -> Response:
    return responses.json(
        {"software_deployments": await call.orchestrator.software.deployments(call.query.get("server_id"))})


async def metadata(call: Call) -> Response:
    return responses.json({"metadata": await call.orchestrator.software.server_metadata(call.path["server_id"])})


async def create_deployment(call: Call) -> Response:
    given = await call.body()
    project = given.get("stack_user_project_id")
    if project is not None and (not isinstance(project, str) or len(project) > PROJECT_LENGTH):
        raise faults.bad_request(
            'Data supplied was not valid: "stack_user_project_id" should be no more than 64 characters', "Invalid")
    config_id = _text(given, "config_id")
    if not config_id:
        raise faults.bad_request("config_id must be specified", "ValueError")
    # Heat stores the text "None" if no reason is given; clients see it.
    reason = _text(given, "status_reason", REASON_LENGTH)
    asked = Deployment("", _text(given, "server_id"), config_id, _text(given, "action"), _text(given, "status"),
                       "None" if reason is None else reason, _map(given, "input_values"))
    return responses.json({"software_deployment": await call.orchestrator.software.create_deployment(asked)})


async def show_deployment(call: Call) -> Response:
    id_ = call.path["deployment_id"]
    found = await call.owned(_DEPLOYMENTS, id_, lambda: call.orchestrator.software.deployment(id_))
    return responses.json({"software_deployment": found})


async def update_deployment(call: Call) -> Response:
    given = await call.body()
    asked = {
        **{name: _text(given, name) for name in ("config_id", "action", "status")},
        "status_reason": _text(given, "status_reason", REASON_LENGTH),
        **{name: _map(given, name) for name in ("input_values", "output_values")},
    }
    changes = {name: value for name, value in asked.items() if value}
    id_ = call.path["deployment_id"]
    found = await call.owned(_DEPLOYMENTS, id_, lambda: call.orchestrator.software.update_deployment(id_, changes))
    return responses.json({"software_deployment": found})


async def delete_deployment(call: Call) -> Response:
    id_ = call.path["deployment_id"]
    await call.owned(_DEPLOYMENTS, id_, lambda: call.orchestrator.software.delete_deployment(id_))
    return responses.no_content()


def _text(given: dict[str, Any], name: str, length: int = NAME_LENGTH) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise faults.bad_request(f"{name} must be a text.", "ValueError")
    if value is not None and len(value) > length:
        raise faults.bad_request(f"{name} has more than {length} characters.", "ValueError")
    return value


def _map(given: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = given.get(name)
    if value is not None and not isinstance(value, dict):
        raise faults.bad_request(f"{name} must be a map.", "ValueError")
    return value


def _entries(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return inputs or outputs: a list of maps, or an empty list."""
    value = given.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise faults.bad_request()
    return value
