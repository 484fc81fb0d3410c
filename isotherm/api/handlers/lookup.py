"""Redirects a name, an id or an ARN to the canonical address of the stack."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call


async def redirect(call: Call) -> Response:
    """Redirect to the canonical address, with the same rest of the path and the same query."""
    if "arn" in call.path:
        project, name, id_, rest = _parts(call.path["arn"])
        if project != call.project and not call.caller.is_admin:
            raise faults.Fault(403, f"Searching Tenant {project} from Tenant {call.project} forbidden.", "InvalidTenant")
        found = await call.find(id_, deleted=True)
        if (found["project"], found["stack_name"]) != (project, name):
            raise errors.NotFound(f"The Stack ({name}) could not be found.")
    else:
        found = await call.find(call.path["stack_name"], deleted=True)
        rest = _after_stack(call)
    target = call.links.stack(call.project, found["stack_name"], found["id"]) + rest
    query = call.request.url.query
    return responses.redirect(call.request, f"{target}?{query}" if query else target)


def _after_stack(call: Call) -> str:
    """Return the part of the path after the stack's name."""
    parts = call.request.scope["path"].split("/stacks/", 1)[1].split("/")
    return "".join(f"/{quote(part)}" for part in parts[1:])


def _parts(arn: str) -> tuple[str, str, str, str]:
    """Return project, name, id and rest of `arn:openstack:heat::<project>:stacks/<name>/<id>[/...]`."""
    pieces = unquote(arn).split(":", 5)
    path = pieces[5].split("/") if len(pieces) == 6 else []
    if len(path) < 3 or path[0] != "stacks":
        raise faults.bad_request(f'Invalid ARN: "{arn}"', "ValueError")
    return pieces[4], path[1], path[2], "".join(f"/{quote(part)}" for part in path[3:])
