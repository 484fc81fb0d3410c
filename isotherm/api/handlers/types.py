"""Handles lists of what templates can use: resource types, template versions, functions."""

from __future__ import annotations

from starlette.responses import Response

from isotherm import errors
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call
from isotherm.template import versions
from isotherm.template.functions.descriptions import DESCRIPTIONS
from isotherm.template.patterns import match

FORMS = ("cfn", "hot")
STATUSES = ("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN")


async def index(call: Call) -> Response:
    status = call.query.get("support_status", "")
    if status and status not in STATUSES:
        raise faults.bad_request(
            f"Data supplied was not valid: support_status must be one of {', '.join(STATUSES)}", "Invalid")
    types = call.types
    names = [name for name in types.list(status=status) if _wanted(call, name)]
    if call.flag("with_description"):
        return responses.json({"resource_types": [
            {"resource_type": name, "description": types.show(name)["description"]} for name in names]})
    return responses.json({"resource_types": names})


async def show(call: Call) -> Response:
    name = call.path["type_name"]
    call.policy.check_type(name, call.caller)
    found = call.types.show(name)
    if not call.flag("with_description"):
        del found["description"]
    return responses.json(found)


async def template(call: Call) -> Response:
    name, form = call.path["type_name"], call.query.get("template_type", "cfn").lower()
    if form not in FORMS:
        raise faults.bad_request(f"Template type is not supported: {call.query['template_type']}")
    call.policy.check_type(name, call.caller)
    return responses.json(call.types.template(name, form))


async def template_versions(_call: Call) -> Response:
    return responses.json({"template_versions": versions.listed()})


async def functions(call: Call) -> Response:
    dialect = versions.named(call.path["version"])
    if dialect is None:
        raise errors.NotFound(f"Template with version {call.path['version']} not found", kind="NotFound")
    names = {*dialect.functions, *(dialect.condition_functions if call.flag("with_condition_func") else ())}
    return responses.json({"template_functions": [
        {"functions": name, "description": DESCRIPTIONS.get(name, "")} for name in sorted(names)]})


def _wanted(call: Call, name: str) -> bool:
    version = call.query.get("version", "")
    if version not in ("", call.types.types[name].support.version):
        return False
    return _matches(call.query.get("name", ""), name) and call.types.is_available(name) and (
        call.policy.allows_type(name, call.caller))


def _matches(expression: str, name: str) -> bool:
    """Return whether the name begins with a match of the expression. An invalid expression matches nothing."""
    if not expression:
        return True
    try:
        match.Pattern(expression)  # valid on its own, not only inside the group below
        return match.Pattern(f"(?:{expression}).*").fullmatch(name)
    except (match.BadPattern, match.TooComplex):
        return False
