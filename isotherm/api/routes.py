"""The table of routes: method, path below `/v1/{project}`, handler, policy rule.

The first path that matches wins. Tests walk this table, so a new route is covered without further work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

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
from isotherm.api.request.call import Call

STACK = "/stacks/{stack_name}/{stack_id}"
RESOURCE = STACK + "/resources/{resource_name}"


class Route(NamedTuple):
    """One line of the table."""

    method: str
    path: str
    handler: Callable[[Call], Awaitable[Response]]
    rule: str


_LOOKUPS = [
    *(Route(method, "/stacks/{arn:arn}", lookup.redirect, "stacks:lookup")
      for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    *(Route(method, "/stacks/{stack_name}", lookup.redirect, "stacks:lookup")
      for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    *(Route("GET", f"/stacks/{{stack_name}}/{part}", lookup.redirect, "stacks:lookup")
      for part in ("resources", "events", "template", "actions", "environment", "files")),
    *(Route("POST", f"/stacks/{{stack_name}}/{part}", lookup.redirect, "stacks:lookup")
      for part in ("resources", "events", "template", "actions")),
]

_INSIDE_STACKS = [
    Route("POST", STACK + "/snapshots", snapshots.create, "stacks:snapshot"),
    Route("GET", STACK + "/snapshots", snapshots.index, "stacks:list_snapshots"),
    Route("GET", STACK + "/snapshots/{snapshot_id}", snapshots.show, "stacks:show_snapshot"),
    Route("DELETE", STACK + "/snapshots/{snapshot_id}", snapshots.delete, "stacks:delete_snapshot"),
    Route("POST", STACK + "/snapshots/{snapshot_id}/restore", snapshots.restore, "stacks:restore_snapshot"),
    Route("GET", STACK + "/outputs", outputs.index, "stacks:list_outputs"),
    Route("GET", STACK + "/outputs/{output_key}", outputs.show, "stacks:show_output"),
    # Each action has a rule of its own (`actions:suspend`); the handler checks it once the body is read.
    Route("POST", STACK + "/actions", actions.act, "stacks:lookup"),
    Route("GET", STACK + "/resources", resources.index, "resource:index"),
    Route("GET", RESOURCE, resources.show, "resource:show"),
    Route("PATCH", RESOURCE, resources.mark_unhealthy, "resource:mark_unhealthy"),
    Route("GET", RESOURCE + "/metadata", resources.metadata, "resource:metadata"),
    Route("POST", RESOURCE + "/signal", resources.signal, "resource:signal"),
    Route("GET", STACK + "/events", events.index, "events:index"),
    Route("GET", STACK + "/events/stream", stream.of_stack, "events:index"),
    Route("GET", RESOURCE + "/events", events.of_resource, "events:index"),
    Route("GET", RESOURCE + "/events/{event_id}", events.show, "events:show"),
]

# Not in Heat's API.
_DRIFT = [
    Route("GET", STACK + "/drift", drift.of_stack, "drift:show"),
    Route("PUT", STACK + "/drift", drift.set_stack, "drift:set"),
    Route("GET", RESOURCE + "/drift", drift.of_resource, "drift:show"),
    Route("PUT", RESOURCE + "/drift", drift.set_resource, "drift:set"),
    Route("POST", STACK + "/observe", drift.observe_stack, "drift:observe"),
    Route("POST", RESOURCE + "/observe", drift.observe_resource, "drift:observe"),
    Route("GET", "/drift", drift.of_project, "drift:show_project"),
    Route("PUT", "/drift", drift.set_project, "drift:set_project"),
]

_PROTECTION = [
    Route("GET", STACK + "/protection", protection.of_stack, "protection:show"),
    Route("PUT", STACK + "/protection", protection.protect_stack, "protection:set"),
    Route("DELETE", STACK + "/protection", protection.unprotect_stack, "protection:lift"),
    Route("GET", RESOURCE + "/protection", protection.of_resource, "protection:show"),
    Route("PUT", RESOURCE + "/protection", protection.protect_resource, "protection:set"),
    Route("DELETE", RESOURCE + "/protection", protection.unprotect_resource, "protection:lift"),
    Route("POST", STACK + "/forget", protection.forget_stack, "stacks:forget"),
    Route("POST", RESOURCE + "/forget", protection.forget_resource, "resource:forget"),
    Route("POST", RESOURCE + "/move", moves.move, "resource:move"),
]

# Not in Heat's API either: docs/page-api.md.
_OVERVIEW = [
    Route("GET", STACK + "/summary", summaries.show, "stacks:summary"),
    Route("GET", STACK + "/graph", graphs.show, "stacks:graph"),
    Route("GET", STACK + "/members", graphs.members, "stacks:members"),
    Route("GET", RESOURCE + "/why", graphs.why, "resource:why"),
    Route("GET", STACK + "/operations", timelines.operations, "stacks:operations"),
    Route("GET", STACK + "/operations/{operation_id}/timeline", timelines.timeline, "stacks:timeline"),
    Route("GET", STACK + "/history", history.index, "stacks:history"),
    Route("GET", STACK + "/history/diff", history.diff, "stacks:history"),
    Route("GET", STACK + "/live", live.of_stack, "stacks:live"),
    Route("GET", STACK + "/follow", live.follow, "stacks:live"),
    Route("GET", STACK + "/tree", resources.tree, "resource:index"),
    Route("GET", STACK + "/hooks", resources.hooks, "resource:index"),
    Route("POST", STACK + "/plan", plans.update, "stacks:plan_update"),
    Route("POST", STACK + "/snapshots/{snapshot_id}/plan", plans.restore, "stacks:plan_restore"),
    Route("POST", STACK + "/import", imports.take, "stacks:import"),
    Route("POST", STACK + "/import/plan", imports.plan, "stacks:plan_import"),
    Route("POST", "/import", imports.create, "stacks:import"),
    Route("POST", "/import/plan", imports.plan_create, "stacks:plan_import"),
    Route("POST", "/import/template", imports.template, "stacks:import_template"),
    Route("POST", STACK + "/repair", plans.repair, "drift:repair"),
    Route("POST", "/plan", plans.create, "stacks:plan"),
    Route("POST", "/problems", plans.problems, "stacks:problems"),
    Route("GET", "/summaries", summaries.index, "stacks:summaries"),
    Route("GET", "/load", load.show, "service:index"),
]

_SOFTWARE = [
    Route("GET", "/software_configs", software.configs, "software_configs:index"),
    Route("POST", "/software_configs", software.create_config, "software_configs:create"),
    Route("GET", "/software_configs/{config_id}", software.show_config, "software_configs:show"),
    Route("DELETE", "/software_configs/{config_id}", software.delete_config, "software_configs:delete"),
    Route("GET", "/software_deployments", software.deployments, "software_deployments:index"),
    Route("POST", "/software_deployments", software.create_deployment, "software_deployments:create"),
    Route("GET", "/software_deployments/metadata/{server_id}", software.metadata, "software_deployments:metadata"),
    Route("GET", "/software_deployments/{deployment_id}", software.show_deployment, "software_deployments:show"),
    Route("PUT", "/software_deployments/{deployment_id}", software.update_deployment, "software_deployments:update"),
    Route("DELETE", "/software_deployments/{deployment_id}", software.delete_deployment, "software_deployments:delete"),
]

_TYPES = [
    Route("POST", "/validate", templates.validate, "stacks:validate_template"),
    Route("GET", "/resource_types", types.index, "stacks:list_resource_types"),
    Route("GET", "/resource_types/{type_name}", types.show, "stacks:resource_schema"),
    Route("GET", "/resource_types/{type_name}/template", types.template, "stacks:generate_template"),
    Route("GET", "/template_versions", types.template_versions, "stacks:list_template_versions"),
    Route("GET", "/template_versions/{version}/functions", types.functions, "stacks:list_template_functions"),
]

TABLE: list[Route] = [
    *_TYPES,
    Route("GET", "/stacks", stack_list.index, "stacks:index"),
    Route("POST", "/stacks", stacks.create, "stacks:create"),
    Route("POST", "/stacks/preview", preview.create, "stacks:preview"),
    Route("GET", "/stacks/detail", stack_list.detail, "stacks:detail"),
    *_LOOKUPS,
    Route("GET", STACK, stacks.show, "stacks:show"),
    Route("PUT", STACK, stacks.update, "stacks:update"),
    # A PATCH that changes something also needs `stacks:update_patch`; the handler checks it once the body is read.
    Route("PATCH", STACK, stacks.patch, "stacks:update_no_change"),
    Route("DELETE", STACK, stacks.delete, "stacks:delete"),
    Route("GET", STACK + "/template", templates.template, "stacks:template"),
    Route("GET", STACK + "/environment", templates.environment, "stacks:environment"),
    Route("GET", STACK + "/files", templates.files, "stacks:files"),
    Route("PUT", STACK + "/preview", preview.update, "stacks:preview_update"),
    Route("PATCH", STACK + "/preview", preview.patch, "stacks:preview_update_patch"),
    Route("DELETE", STACK + "/abandon", stacks.abandon, "stacks:abandon"),
    Route("GET", STACK + "/export", stacks.export, "stacks:export"),
    *_INSIDE_STACKS,
    *_DRIFT,
    *_PROTECTION,
    *_OVERVIEW,
    *_SOFTWARE,
    Route("GET", "/events/stream", stream.of_project, "events:index"),
    Route("GET", "/build_info", services.build_info, "build_info:build_info"),
    Route("GET", "/services", services.index, "service:index"),
]

# Routes without a token: the URL carries a signature, which the handler checks.
SIGNED = [
    *(Route(method, "/signal/{stack_id}/{token}", signed_signals.signal, "signed") for method in ("POST", "PUT")),
    Route("GET", "/metadata/{stack_id}/{token}", signed_signals.metadata, "signed"),
]

# Paths that answer 404 instead of 405 to a method they do not have, as Heat does.
SILENT = frozenset({"/services"})
