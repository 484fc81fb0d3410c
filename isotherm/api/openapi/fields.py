"""JSON Schemas of queries, bodies and responses, by handler, for the OpenAPI document.

The handlers do the validation; these schemas are for the authors of clients. A field that accepts a number or a boolean as
text, as Heat does, is described as a number or a boolean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from isotherm.api.handlers import (
    actions,
    drift,
    events,
    export,
    lookup,
    outputs,
    preview,
    resources,
    signed_signals,
    snapshots,
    software,
    stack_list,
    stacks,
    stream,
    templates,
    types,
)
from isotherm.api.monitoring import services

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAP: Schema = {"type": "object"}
MAPS: Schema = {"type": "array", "items": MAP}
ANY: Schema = {}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _object(*required: str, **fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}


_DESCRIPTION: dict[str, Schema] = {
    "stack_name": {**TEXT, "pattern": "^[a-zA-Z][a-zA-Z0-9_.-]{0,254}$"},
    "template": {"type": ["object", "string"], "description": "The template, or its text as JSON or YAML."},
    "template_url": {**TEXT, "format": "uri"},
    "parameters": MAP,
    "environment": {"type": ["object", "string"]},
    "files": {"type": "object", "additionalProperties": TEXT},
    "environment_files": TEXTS,
    "disable_rollback": FLAG,
    "timeout_mins": COUNT,
    "tags": {**TEXT, "description": "Tags separated by commas, each of at most 80 characters."},
}
_CHANGE: dict[str, Schema] = {**_DESCRIPTION, "converge": FLAG}
_DEPLOYMENT: dict[str, Schema] = {
    "config_id": TEXT, "action": _or_null(TEXT), "status": _or_null(TEXT), "status_reason": _or_null(TEXT),
    "input_values": _or_null(MAP),
}

_POLICIES, _MODES = ("ignore", "report", "repair"), ("active", "maintenance", "paused")

SCHEMAS: dict[str, Schema] = {
    "Create": _object("stack_name", **_DESCRIPTION, adopt_stack_data=TEXT),
    "Update": _object("template", **_CHANGE),
    "Patch": _object(**_CHANGE, clear_parameters=TEXTS),
    "Validate": _object(**_DESCRIPTION),
    "Action": {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False,
               "properties": dict.fromkeys(actions.NAMES, ANY)},
    "Signal": {"type": "object", "description": "Details for the type of the resource, or unset_hook."},
    "Unhealthy": {**_object("mark_unhealthy", mark_unhealthy=FLAG, resource_status_reason=_or_null(TEXT)),
                  "additionalProperties": False},
    "Snapshot": _object(name=_or_null({**TEXT, "maxLength": 255})),
    "SoftwareConfig": _object(name=_or_null({**TEXT, "maxLength": software.NAME_LENGTH}), group=_or_null(TEXT), config=ANY,
                              inputs=MAPS, outputs=MAPS, options=_or_null(MAP)),
    "SoftwareDeployment": _object("config_id", **_DEPLOYMENT, server_id=_or_null(TEXT),
                                  stack_user_project_id=_or_null({**TEXT, "maxLength": software.PROJECT_LENGTH})),
    "SoftwareDeploymentChange": _object(**_DEPLOYMENT, output_values=_or_null(MAP)),
    "StackDrift": {**_object(policy={"type": ["string", "null"], "enum": [*_POLICIES, None]},
                             interval={"type": ["number", "null"], "exclusiveMinimum": 0},
                             mode={**TEXT, "enum": list(_MODES)}), "minProperties": 1, "additionalProperties": False},
    "ResourceDrift": {**_object("policy", policy={"type": ["string", "null"], "enum": [*_POLICIES, None]}),
                      "additionalProperties": False},
    "ProjectDrift": {**_object("mode", mode={**TEXT, "enum": list(_MODES)}), "additionalProperties": False},
    "Observe": _object(resources={**TEXTS, "maxItems": drift.MOST}),
    "Link": _object("href", "rel", href=TEXT, rel=TEXT),
    "Error": _object("code", "title", "explanation", "error", code={"type": "integer"}, title=TEXT, explanation=TEXT,
                     error=_object("type", "traceback", type=TEXT, message=TEXT, traceback={"type": ["string", "null"]})),
    "Unauthorized": _object("error", error=_object("code", "title", "message", code={"type": "integer"}, title=TEXT,
                                                   message=TEXT)),
}


class BodySpec(NamedTuple):
    schema: str
    required: bool = True


class ResponseSpec(NamedTuple):
    """The status and the schema of a response. Schema None: the response has no body."""

    status: int
    schema: Schema | None = None
    kind: str = "application/json"


Handler = Callable[..., Any]

_PAGED: dict[str, Schema] = {"limit": COUNT, "marker": TEXT, "sort_dir": {**TEXT, "enum": ["asc", "desc"]},
                             "sort_keys": TEXTS}
_LISTED = dict.fromkeys(sorted(stack_list.FILTERS), TEXTS)
_TAGS = dict.fromkeys(stack_list.TAGS, TEXT)
_FLAGS = dict.fromkeys(("show_deleted", "show_nested", "show_hidden", "global_tenant", "with_count"), FLAG)
_EVENTS = {**_PAGED, "nested_depth": COUNT, **dict.fromkeys(sorted(events.FILTERS), TEXTS)}

# Handler -> query parameters. A list is given by repeating the parameter.
QUERIES: Mapping[Handler, Mapping[str, Schema]] = {
    stack_list.index: {**_PAGED, **_LISTED, **_TAGS, **_FLAGS, "disable_rollback": FLAG, "timeout_mins": COUNT,
                    "stack_user_project_id": TEXT},
    stacks.show: {"resolve_outputs": FLAG},
    preview.update: {"show_nested": FLAG},
    preview.patch: {"show_nested": FLAG},
    templates.validate: {"show_nested": FLAG, "ignore_errors": TEXT},
    types.index: {"support_status": {**TEXT, "enum": list(types.STATUSES)}, "name": TEXT, "version": TEXT,
                  "with_description": FLAG},
    types.show: {"with_description": FLAG},
    types.template: {"template_type": {**TEXT, "enum": list(types.FORMS)}},
    types.functions: {"with_condition_func": FLAG},
    resources.index: {**dict.fromkeys(resources.FILTERS, TEXTS), "type": TEXT, "nested_depth": COUNT, "with_detail": FLAG},
    resources.show: {"with_attr": TEXTS},
    drift.of_stack: {"all": FLAG},
    events.index: _EVENTS,
    events.of_resource: _EVENTS,
    stream.of_stack: {"after": COUNT},
    stream.of_project: {"after": COUNT},
    software.configs: {"limit": COUNT, "marker": TEXT, "global_tenant": FLAG},
    software.deployments: {"server_id": TEXT},
    signed_signals.signal: {"expires": COUNT, "signature": TEXT},
}

BODIES: Mapping[Handler, BodySpec] = {
    stacks.create: BodySpec("Create"), preview.create: BodySpec("Create"), templates.validate: BodySpec("Validate"),
    stacks.update: BodySpec("Update"), preview.update: BodySpec("Update"), stacks.patch: BodySpec("Patch"),
    preview.patch: BodySpec("Patch"), actions.act: BodySpec("Action"), resources.mark_unhealthy: BodySpec("Unhealthy"),
    resources.signal: BodySpec("Signal", required=False), signed_signals.signal: BodySpec("Signal", required=False),
    drift.set_stack: BodySpec("StackDrift"), drift.set_resource: BodySpec("ResourceDrift"),
    drift.set_project: BodySpec("ProjectDrift"), drift.observe_stack: BodySpec("Observe", required=False),
    snapshots.create: BodySpec("Snapshot"), software.create_config: BodySpec("SoftwareConfig"),
    software.create_deployment: BodySpec("SoftwareDeployment"),
    software.update_deployment: BodySpec("SoftwareDeploymentChange"),
}

_NULL: Schema = {"type": "null"}
# The JSON form of a status page; clients that do not accept JSON get HTML or text.
_PAGE = _object("message", "code", "title", message=TEXT, code=TEXT, title=TEXT)
_STREAM = ResponseSpec(200, TEXT, stream.EventStream.media_type)

RESPONSES: Mapping[Handler, ResponseSpec] = {
    lookup.redirect: ResponseSpec(302, _PAGE),
    stacks.update: ResponseSpec(202, _PAGE),
    stacks.patch: ResponseSpec(202, _PAGE),
    stacks.delete: ResponseSpec(204),
    snapshots.delete: ResponseSpec(204),
    snapshots.restore: ResponseSpec(202, _PAGE),
    software.delete_config: ResponseSpec(204),
    software.delete_deployment: ResponseSpec(204),
    stream.of_stack: _STREAM,
    stream.of_project: _STREAM,
    stacks.create: ResponseSpec(
        201, _object("stack", stack=_object("id", "links", id=TEXT, links={"type": "array", "items": ref("Link")}))
    ),
    stack_list.index: ResponseSpec(
        200, _object("stacks", stacks=MAPS, links={"type": "array", "items": ref("Link")}, count=COUNT)
    ),
    stack_list.detail: ResponseSpec(200, _object("stacks", stacks=MAPS)),
    preview.create: ResponseSpec(200, _object("stack", stack=MAP)),
    stacks.show: ResponseSpec(200, _object("stack", stack=MAP)),
    preview.update: ResponseSpec(200, _object("resource_changes", resource_changes=MAP)),
    preview.patch: ResponseSpec(200, _object("resource_changes", resource_changes=MAP)),
    templates.template: ResponseSpec(200, MAP),
    templates.environment: ResponseSpec(200, MAP),
    templates.files: ResponseSpec(200, MAP),
    templates.validate: ResponseSpec(200, MAP),
    export.export: ResponseSpec(200, MAP),
    export.abandon: ResponseSpec(200, MAP),
    snapshots.create: ResponseSpec(200, MAP),
    snapshots.index: ResponseSpec(200, _object("snapshots", snapshots=MAPS)),
    snapshots.show: ResponseSpec(200, _object("snapshot", snapshot=MAP)),
    outputs.index: ResponseSpec(200, _object("outputs", outputs=MAPS)),
    outputs.show: ResponseSpec(200, _object("output", output=MAP)),
    actions.act: ResponseSpec(200, _NULL),
    resources.signal: ResponseSpec(200, _NULL),
    resources.mark_unhealthy: ResponseSpec(200, _NULL),
    signed_signals.signal: ResponseSpec(200, _NULL),
    resources.index: ResponseSpec(200, _object("resources", resources=MAPS)),
    resources.show: ResponseSpec(200, _object("resource", resource=MAP)),
    resources.metadata: ResponseSpec(200, _object("metadata", metadata=MAP)),
    events.index: ResponseSpec(200, _object("events", events=MAPS)),
    events.of_resource: ResponseSpec(200, _object("events", events=MAPS)),
    events.show: ResponseSpec(200, _object("event", event=MAP)),
    types.index: ResponseSpec(200, _object("resource_types", resource_types={"type": "array"})),
    types.show: ResponseSpec(200, MAP),
    types.template: ResponseSpec(200, MAP),
    types.template_versions: ResponseSpec(200, _object("template_versions", template_versions=MAPS)),
    types.functions: ResponseSpec(200, _object("template_functions", template_functions=MAPS)),
    software.configs: ResponseSpec(200, _object("software_configs", software_configs=MAPS)),
    software.deployments: ResponseSpec(200, _object("software_deployments", software_deployments=MAPS)),
    software.metadata: ResponseSpec(200, _object("metadata", metadata=MAPS)),
    **{
        handler: ResponseSpec(200, _object("software_config", software_config=MAP))
        for handler in (software.create_config, software.show_config)
    },
    **{
        handler: ResponseSpec(200, _object("software_deployment", software_deployment=MAP))
        for handler in (software.create_deployment, software.show_deployment, software.update_deployment)
    },
    **{
        handler: ResponseSpec(200, _object("drift", drift=MAP))
        for handler in (
            drift.of_stack,
            drift.of_resource,
            drift.of_project,
            drift.set_stack,
            drift.set_resource,
            drift.set_project,
        )
    },
    drift.observe_stack: ResponseSpec(202, _NULL),
    drift.observe_resource: ResponseSpec(202, _NULL),
    services.build_info: ResponseSpec(200, _object("api", "engine", api=MAP, engine=MAP)),
    services.index: ResponseSpec(200, _object("services", services=MAPS)),
}
