"""JSON Schemas of queries, bodies and responses, by handler, for the OpenAPI document.

The handlers do the validation; these schemas are for the authors of clients. A field that accepts a number or a boolean as
text, as Heat does, is described as a number or a boolean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from isotherm.api.extensions import moves, protection
from isotherm.api.handlers import (
    actions,
    drift,
    events,
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
from isotherm.api.overview import graphs, history, imports, live, load, plans, summaries, timelines
from isotherm.engine.overview import grouping, tallies
from isotherm.engine.overview.summaries import GROUPS
from isotherm.resources.validation.protection import WORDS
from isotherm.states import NodeState

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
_CHOICE: dict[str, Schema] = {"target": TEXTS, "exclude": TEXTS}
_CHANGE: dict[str, Schema] = {
    **_DESCRIPTION, **_CHOICE, "converge": FLAG,
    "moved": {"type": "object", "additionalProperties": TEXT,
              "description": "Resources that get another name and keep their objects: old name to new name."},
}
_OBJECTS: Schema = {"type": "object", "additionalProperties": {**TEXT, "minLength": 1}, "minProperties": 1,
                    "maxProperties": imports.MOST}
_DEPLOYMENT: dict[str, Schema] = {
    "config_id": TEXT, "action": _or_null(TEXT), "status": _or_null(TEXT), "status_reason": _or_null(TEXT),
    "input_values": _or_null(MAP),
}

_POLICIES, _MODES = ("ignore", "report", "repair"), ("active", "maintenance", "paused")

SCHEMAS: dict[str, Schema] = {
    "Create": _object("stack_name", **_DESCRIPTION, **_CHOICE, adopt_stack_data=TEXT, plan_token=TEXT),
    "Update": _object("template", **_CHANGE, plan_token=TEXT),
    "Patch": _object(**_CHANGE, clear_parameters=TEXTS, strict=FLAG, plan_token=TEXT),
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
    "Protection": {**_object("protect", protect={"type": "array", "minItems": 1, "items": {**TEXT, "enum": list(WORDS)}}),
                   "additionalProperties": False},
    "StackProtection": {**_object("protect", protect={"const": ["delete"]}), "additionalProperties": False},
    "PlanUpdate": _object(**_CHANGE, clear_parameters=TEXTS, existing=FLAG, strict=FLAG,
                          generation={**COUNT, "minimum": 1}),
    "Import": _object("stack_name", "template", "objects", **_DESCRIPTION, objects=_OBJECTS),
    "ImportUpdate": _object("objects", **_DESCRIPTION, objects=_OBJECTS, existing=FLAG),
    "ImportTemplate": _object("objects", "types", objects=_OBJECTS, types=_OBJECTS),
    "Move": {**_object("stack", stack={**TEXT, "description": "The name or id of the stack that takes the resource over."},
                       resource={**TEXT, "description": "The name of the resource there; the same, if it is not given."},
                       with_values={**FLAG, "description": "Write present values in place of references to its stack."}),
             "additionalProperties": False},
    "Problems": _object(**_DESCRIPTION, strict=FLAG),
    "Repair": _object(resources={**TEXTS, "minItems": 1, "maxItems": plans.MOST}),
    "Observe": _object(resources={**TEXTS, "maxItems": drift.MOST}),
    "Link": _object("href", "rel", href=TEXT, rel=TEXT),
    "Problem": _object(
        "message", "kind", "label", "path", "hint", "mark", message=TEXT, kind=TEXT, label=TEXT, path=TEXT, hint=TEXT,
        mark=_or_null(_object("line", "column", "source", line=COUNT, column=COUNT, source=TEXT))),
    "Error": _object("code", "title", "explanation", "error", code={"type": "integer"}, title=TEXT, explanation=TEXT,
                     problems={"type": "array", "items": ref("Problem")},
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

_GRAPH: dict[str, Schema] = {
    "group": {**TEXT, "enum": ["auto", *grouping.LEVELS]}, "open": {**TEXTS, "maxItems": 20},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
}


def _limit(most: int) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most}


# Handler -> query parameters. A list is given by repeating the parameter.
QUERIES: Mapping[Handler, Mapping[str, Schema]] = {
    stack_list.index: {**_PAGED, **_LISTED, **_TAGS, **_FLAGS, "disable_rollback": FLAG, "timeout_mins": COUNT,
                    "stack_user_project_id": TEXT, "with_drift": FLAG},
    stacks.show: {"resolve_outputs": FLAG, "with_progress": FLAG},
    stacks.delete: {"force": FLAG},
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
    summaries.index: {**_LISTED, **_TAGS, **_FLAGS, "disable_rollback": FLAG, "timeout_mins": COUNT,
                      "stack_user_project_id": TEXT, "show": {**TEXT, "enum": list(GROUPS)}, "search": TEXT,
                      "order": {**TEXT, "enum": list(summaries.ORDERS)}, "limit": _limit(summaries.MOST), "marker": TEXT},
    graphs.show: _GRAPH,
    graphs.members: {"box": TEXT, "state": {"type": "array", "items": {**TEXT, "enum": list(NodeState.__members__)}},
                     "type": TEXT, "search": TEXT, "tree": FLAG,
                     "depth": {"type": "integer", "minimum": 0, "maximum": tallies.MOST_LEVELS},
                     "order": {**TEXT, "enum": ["name", "attention"]},
                     "limit": _limit(graphs.MOST_MEMBERS), "marker": TEXT},
    timelines.operations: {"limit": _limit(timelines.MOST_OPERATIONS), "marker": {"type": "integer", "minimum": 0}},
    timelines.timeline: {"limit": _limit(500)},
    history.diff: {name: {"type": "integer", "minimum": 1, "maximum": history.NEWEST} for name in ("from", "to")},
    live.of_stack: {**_GRAPH, "after": COUNT, "boxes": FLAG},
    live.follow: {"lines": {"type": "integer", "minimum": 0, "maximum": live.MOST_LINES}},
    resources.tree: {"nested_depth": COUNT},
    drift.observe_stack: {"wait": FLAG},
    drift.observe_resource: {"wait": FLAG},
    stacks.export: {"show_hidden": FLAG},
    stacks.abandon: {"show_hidden": FLAG, "force": FLAG},
    protection.forget_stack: {"force": FLAG},
    protection.forget_resource: {"force": FLAG},
    resources.signal: {"signal_id": TEXT},
    software.configs: {"limit": COUNT, "marker": TEXT, "global_tenant": FLAG},
    software.deployments: {"server_id": TEXT},
    signed_signals.signal: {"expires": COUNT, "signature": TEXT},
    signed_signals.metadata: {"expires": COUNT, "signature": TEXT},
}

BODIES: Mapping[Handler, BodySpec] = {
    stacks.create: BodySpec("Create"), preview.create: BodySpec("Create"), templates.validate: BodySpec("Validate"),
    stacks.update: BodySpec("Update"), preview.update: BodySpec("Update"), stacks.patch: BodySpec("Patch"),
    preview.patch: BodySpec("Patch"), actions.act: BodySpec("Action"), resources.mark_unhealthy: BodySpec("Unhealthy"),
    resources.signal: BodySpec("Signal", required=False), signed_signals.signal: BodySpec("Signal", required=False),
    drift.set_stack: BodySpec("StackDrift"), drift.set_resource: BodySpec("ResourceDrift"),
    drift.set_project: BodySpec("ProjectDrift"), drift.observe_stack: BodySpec("Observe", required=False),
    plans.create: BodySpec("Create"), plans.update: BodySpec("PlanUpdate"), plans.problems: BodySpec("Problems"),
    plans.repair: BodySpec("Repair", required=False),
    protection.protect_stack: BodySpec("StackProtection"), protection.protect_resource: BodySpec("Protection"),
    imports.create: BodySpec("Import"), imports.plan_create: BodySpec("Import"), imports.take: BodySpec("ImportUpdate"),
    imports.plan: BodySpec("ImportUpdate"), imports.template: BodySpec("ImportTemplate"),
    moves.move: BodySpec("Move"),
    snapshots.create: BodySpec("Snapshot"), software.create_config: BodySpec("SoftwareConfig"),
    software.create_deployment: BodySpec("SoftwareDeployment"),
    software.update_deployment: BodySpec("SoftwareDeploymentChange"),
}

_NULL: Schema = {"type": "null"}
# The JSON form of a status page; clients that do not accept JSON get HTML or text.
_PAGE = _object("message", "code", "title", message=TEXT, code=TEXT, title=TEXT)
_CREATED = ResponseSpec(
    201, _object("stack", stack=_object("id", "links", id=TEXT, links={"type": "array", "items": ref("Link")})))
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
    stacks.create: _CREATED,
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
    stacks.export: ResponseSpec(200, MAP),
    stacks.abandon: ResponseSpec(200, MAP),
    snapshots.create: ResponseSpec(200, MAP),
    snapshots.index: ResponseSpec(200, _object("snapshots", snapshots=MAPS)),
    snapshots.show: ResponseSpec(200, _object("snapshot", snapshot=MAP)),
    outputs.index: ResponseSpec(200, _object("outputs", outputs=MAPS)),
    outputs.show: ResponseSpec(200, _object("output", output=MAP)),
    actions.act: ResponseSpec(200, _NULL),
    resources.signal: ResponseSpec(200, _NULL),
    resources.mark_unhealthy: ResponseSpec(200, _NULL),
    signed_signals.signal: ResponseSpec(200, _NULL),
    signed_signals.metadata: ResponseSpec(200, MAP),
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
    **{
        handler: ResponseSpec(200, _object("protection", protection=MAP))
        for handler in (
            protection.of_stack,
            protection.of_resource,
            protection.protect_stack,
            protection.protect_resource,
        )
    },
    **dict.fromkeys((protection.unprotect_stack, protection.unprotect_resource), ResponseSpec(204)),
    **dict.fromkeys((protection.forget_stack, protection.forget_resource), ResponseSpec(202, _NULL)),
    summaries.index: ResponseSpec(200, _object("summaries", "counts", summaries=MAPS, counts=MAP)),
    summaries.show: ResponseSpec(200, _object("summary", summary=MAP)),
    graphs.show: ResponseSpec(200, _object("graph", graph=MAP)),
    graphs.members: ResponseSpec(200, _object("members", members=MAPS)),
    graphs.why: ResponseSpec(200, _object("why", why=MAP)),
    timelines.operations: ResponseSpec(200, _object("operations", operations=MAPS)),
    timelines.timeline: ResponseSpec(200, _object("timeline", timeline=MAP)),
    history.index: ResponseSpec(200, _object("history", history=MAPS)),
    history.diff: ResponseSpec(200, _object("diff", diff=MAP)),
    live.of_stack: _STREAM,
    live.follow: _STREAM,
    resources.tree: ResponseSpec(200, _object("resources", resources=MAPS)),
    resources.hooks: ResponseSpec(200, _object("hooks", hooks=MAPS)),
    plans.create: ResponseSpec(200, _object("plan", plan=MAP)),
    plans.update: ResponseSpec(200, _object("plan", plan=MAP)),
    plans.restore: ResponseSpec(200, _object("plan", plan=MAP)),
    plans.problems: ResponseSpec(200, _object("problems", problems=MAPS)),
    plans.repair: ResponseSpec(202, _NULL),
    imports.create: _CREATED,
    imports.take: ResponseSpec(202, _PAGE),
    imports.plan: ResponseSpec(200, _object("import", **{"import": MAP})),
    imports.plan_create: ResponseSpec(200, _object("import", **{"import": MAP})),
    imports.template: ResponseSpec(200, _object("template", template=MAP)),
    moves.move: ResponseSpec(200, _object("move", move=MAP)),
    load.show: ResponseSpec(200, _object("load", load=MAP)),
    drift.observe_stack: ResponseSpec(202, _NULL),
    drift.observe_resource: ResponseSpec(202, _NULL),
    services.build_info: ResponseSpec(200, _object("api", "engine", api=MAP, engine=MAP)),
    services.index: ResponseSpec(200, _object("services", services=MAPS)),
}
